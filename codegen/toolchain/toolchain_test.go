package toolchain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ebitengine/purego"

	"ptoc/internal/cachedir"
)

const addSource = `extern "C" int add(int a, int b) { return a + b; }`

func open(t testing.TB) *Toolchain {
	t.Helper()
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	t.Setenv("PTOC_CACHE", t.TempDir())
	tc, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tc.Close() })
	return tc
}

func mustCompile(t testing.TB, tc *Toolchain, src string, o Options) Result {
	t.Helper()
	res, err := tc.Compile(context.Background(), Unit{Name: "add.cpp", Source: src}, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestSecondCompilationComesFromTheCache(t *testing.T) {
	tc := open(t)
	first := mustCompile(t, tc, addSource, Options{})
	second := mustCompile(t, tc, addSource, Options{})
	if first.Cached || !second.Cached || first.Path != second.Path {
		t.Errorf("first %+v, second %+v", first, second)
	}
	if other := mustCompile(t, tc, addSource, Options{Flags: []string{"-O1"}}); other.Path == first.Path {
		t.Error("flags are not part of the key")
	}
	if !Intact(first.Path) {
		t.Error("a fresh entry is not intact")
	}
}

func TestDamagedEntriesAreMadeAnew(t *testing.T) {
	tc := open(t)
	res := mustCompile(t, tc, addSource, Options{})
	good, err := os.ReadFile(res.Path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"truncated":       func(b []byte) []byte { return b[:len(b)/2] },
		"short of a byte": func(b []byte) []byte { return b[:len(b)-1] },
		"empty":           func(b []byte) []byte { return nil },
		"one bit":         func(b []byte) []byte { b[len(b)/3] ^= 4; return b },
		"checksum":        func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"grown":           func(b []byte) []byte { return append(b, 0) },
	} {
		bad := damage(append([]byte{}, good...))
		if err := os.WriteFile(res.Path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if Intact(res.Path) {
			t.Errorf("%s: taken for intact", name)
		}
		if again := mustCompile(t, tc, addSource, Options{}); again.Cached {
			t.Errorf("%s: a damaged entry was used", name)
		}
		if !Intact(res.Path) {
			t.Errorf("%s: not repaired", name)
		}
	}
	os.Remove(res.Path)
	if err := os.MkdirAll(filepath.Join(res.Path, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if mustCompile(t, tc, addSource, Options{}); !Intact(res.Path) {
		t.Error("a folder in the place of an entry stays")
	}
}

func TestAnEntryUnderTheWrongNameIsNotUsed(t *testing.T) {
	tc := open(t)
	a := mustCompile(t, tc, addSource, Options{})
	b := mustCompile(t, tc, addSource+"\n", Options{})
	data, _ := os.ReadFile(a.Path)
	if err := os.WriteFile(b.Path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if again := mustCompile(t, tc, addSource+"\n", Options{}); again.Cached {
		t.Error("another unit's object was used")
	}
}

func TestUnwritableCacheFallsBackToATemporaryOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PTOC_CACHE", filepath.Join(file, "below"))
	tc, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tc.Dir()); err != nil {
		t.Error(err)
	}
	tc.Close()
	if _, err := os.Stat(tc.Dir()); !os.IsNotExist(err) {
		t.Errorf("%s was left behind", tc.Dir())
	}
}

func TestNothingTemporaryIsLeft(t *testing.T) {
	tc := open(t)
	mustCompile(t, tc, addSource, Options{})
	_, err := tc.Compile(context.Background(), Unit{Name: "bad.cpp", Source: "int x = ;"}, Options{})
	var cerr *Error
	if !errors.As(err, &cerr) || !strings.Contains(cerr.Output, "bad.cpp:1") {
		t.Errorf("error without a place: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := tc.Compile(ctx, Unit{Name: "x.cpp", Source: addSource + "//"}, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(tc.Dir(), "tmp-*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What compilations that were killed left behind, and entries that nobody used for long, leave the cache with the
// next compilation.
func TestACompilationPrunesTheCache(t *testing.T) {
	tc := open(t)
	used := mustCompile(t, tc, addSource, Options{}).Path
	for _, name := range []string{filepath.Join(tc.Dir(), "tmp-old.so"), filepath.Join(tc.Dir(), "unused.so"), used} {
		if name != used {
			os.WriteFile(name, nil, 0o644)
		}
		when := time.Now().Add(-cachedir.Unused - time.Hour)
		os.Chtimes(name, when, when)
	}
	tc, err := Open() // another process
	if err != nil {
		t.Fatal(err)
	}
	if res := mustCompile(t, tc, addSource, Options{}); !res.Cached {
		t.Error("compiled again")
	}
	mustCompile(t, tc, addSource+"//", Options{})
	left, _ := filepath.Glob(filepath.Join(tc.Dir(), "*.so"))
	if len(left) != 2 || !slices.Contains(left, used) {
		t.Errorf("left: %v", left)
	}
}

func TestManyCallersOfOneUnitCompileItOnce(t *testing.T) {
	tc := open(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	times := map[time.Duration]bool{}
	for range 8 {
		wg.Go(func() {
			res, err := tc.Compile(context.Background(), Unit{Name: "one.cpp", Source: addSource}, Options{})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			if !res.Cached {
				times[res.Time] = true
			}
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(times) != 1 {
		t.Errorf("compiled %d times", len(times))
	}
}

func TestPartsBecomeOneObject(t *testing.T) {
	tc := open(t)
	tc.slots = make(chan struct{}, 1) // they must not wait for each other
	u := Unit{Name: "two.cpp", Parts: []string{addSource, `extern "C" int twice(int a) { return a + a; }`}}
	res, err := tc.Compile(context.Background(), u, Options{})
	if err != nil {
		t.Fatal(err)
	}
	lib, err := purego.Dlopen(res.Path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"add", "twice"} {
		if _, err := purego.Dlsym(lib, name); err != nil {
			t.Error(err)
		}
	}
	if again, err := tc.Compile(context.Background(), u, Options{}); err != nil || !again.Cached {
		t.Errorf("not kept: %v", err)
	}
	u.Parts[1] = "int x = ;"
	var cerr *Error
	if _, err := tc.Compile(context.Background(), u, Options{}); !errors.As(err, &cerr) || !strings.Contains(cerr.Output, "two.cpp:1") {
		t.Errorf("a part that does not compile: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(tc.Dir(), "tmp-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestNoCompilerIsAClearError(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("PTOC_CXX", "")
	if _, err := Find(); !errors.Is(err, ErrNoCompiler) || !strings.Contains(err.Error(), "apt install g++") {
		t.Errorf("%v", err)
	}
	t.Setenv("PTOC_CXX", "no-such-compiler")
	if _, err := Find(); !errors.Is(err, ErrNoCompiler) || !strings.Contains(err.Error(), "PTOC_CXX") {
		t.Errorf("%v", err)
	}
}

func TestKernelsMayUseMathsAndHalfPrecision(t *testing.T) {
	tc := open(t)
	src := `extern "C" float f(float x) { return __builtin_expf(x) + __builtin_fabsf(x); }
extern "C" void g(char* a, const char* b, long n) { __builtin_memcpy(a, b, n); }
extern "C" float h(unsigned short u) { _Float16 v; __builtin_memcpy(&v, &u, 2); return (float)v; }`
	mustCompile(t, tc, src, Options{})
}

func BenchmarkCompileSmallKernel(b *testing.B) {
	tc := open(b)
	for i := 0; b.Loop(); i++ {
		src := `extern "C" int add(void*, const long long* a) { float* x = (float*)a[0]; float* y = (float*)a[1];
			for (long long i = 0; i < a[2]; ++i) y[i] += x[i]; return 0; }` + strings.Repeat("\n", i)
		mustCompile(b, tc, src, Options{})
	}
}

func BenchmarkCachedKernel(b *testing.B) {
	tc := open(b)
	for b.Loop() {
		mustCompile(b, tc, addSource, Options{})
	}
}
