package cuda

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// stub compiles a library that looks like the driver's.
func stub(t *testing.T) string { return library(t, "libcuda.cpp") }

func library(t *testing.T, source string) string {
	t.Helper()
	cxx, err := exec.LookPath("g++")
	if err != nil {
		t.Skip(err)
	}
	so := filepath.Join(t.TempDir(), "libcuda.so.1")
	if out, err := exec.Command(cxx, "-O1", "-shared", "-fPIC", "-o", so, filepath.Join("testdata", source)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return so
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// devices opens all GPUs.
func devices(t *testing.T, d Driver) (all []Device) {
	n, err := d.Count()
	check(t, err)
	for i := range n {
		o, err := d.Open(i)
		check(t, err)
		all = append(all, o)
	}
	return all
}

func TestArgumentsArriveAsTheDriverDeclaresThem(t *testing.T) {
	t.Setenv("PTOC_CACHE", t.TempDir())
	so := stub(t)
	l, err := openLibrary([]string{so})
	check(t, err)
	ds := devices(t, l)
	d := ds[0]
	if i := d.Info(); len(ds) != 2 || i.Name != "stub 0" || i.Arch() != "sm_90" || i.Multiprocessors != 132 || !i.CanPool || i.SharedPerBlock != 232448 || i.Memory != 80<<30 {
		t.Errorf("%d GPUs, the first is %+v", len(ds), i)
	}
	check(t, connect(ds))
	check(t, (&Config{Driver: l, Ranks: 2}).EnoughGPUs())
	var few *TooFewGPUs
	if err := (&Config{Driver: l, Ranks: 3}).EnoughGPUs(); !errors.As(err, &few) || few.GPUs != 2 {
		t.Errorf("%v", err)
	}
	if l.AddsToHost(0) || !l.AddsToHost(1) {
		t.Error("of the stub's GPUs only the second adds to the host's memory")
	}
	one := devices(t, Only(l, 1))
	if len(one) != 1 || one[0].Info().Name != "stub 1" {
		t.Errorf("%v instead of the second GPU", one)
	}
	check(t, one[0].Close())
	s, err := d.NewStream()
	check(t, err)
	host, err := d.MallocHost(64)
	check(t, err)
	if !bytes.Equal(host.Data, make([]byte, 64)) {
		t.Error("host memory is not zeroed")
	}
	p, err := d.MallocAsync(s, 64)
	check(t, err)
	q, err := d.Malloc(64)
	check(t, err)
	copy(host.Data, "through the GPU and back")
	check(t, d.Zero(s, p, 64))
	check(t, d.Upload(s, p, host.Data[:24]))
	check(t, d.Copy(s, q, p, 64))
	clear(host.Data)
	check(t, d.Download(s, host.Data, q))
	if got := string(bytes.TrimRight(host.Data, "\x00")); got != "through the GPU and back" {
		t.Errorf("%q came back", got)
	}
	events(t, d, s)
	code(t, d, s, q, host)
	shared(t, d, q)
	var failed *Error
	if _, err := d.Malloc(1 << 41); !errors.As(err, &failed) || failed.Code != 2 || !strings.Contains(err.Error(), "2199023255552 bytes on stub 0") {
		t.Errorf("%v", err)
	}
	check(t, d.FreeAsync(s, p))
	check(t, d.Free(q))
	check(t, d.FreeHost(host))
	for _, d := range ds {
		check(t, d.Close())
	}
	h, err := purego.Dlopen(so, purego.RTLD_NOW)
	check(t, err)
	left, err := purego.Dlsym(h, "stub_left")
	check(t, err)
	if n := syscall(left); n != 0 {
		t.Errorf("%d streams, modules and contexts are left", n)
	}
}

func events(t *testing.T, d Device, s Stream) {
	e, err := d.NewEvent()
	check(t, err)
	check(t, d.Record(e, s))
	check(t, d.WaitEvent(s, e))
	for i, want := range []bool{false, true} {
		if done, err := d.Done(e); done != want || err != nil {
			t.Errorf("query %d: %v, %v", i, done, err)
		}
	}
	if took, err := d.Elapsed(e, e); took != 1500*time.Microsecond || err != nil {
		t.Errorf("%v, %v", took, err)
	}
}

// code loads modules, the second time from the cache, and launches.
func code(t *testing.T, d Device, s Stream, q Ptr, host HostMemory) {
	m, err := d.Load(".entry step")
	check(t, err)
	cached, _ := filepath.Glob(filepath.Join(os.Getenv("PTOC_CACHE"), "cuda", "*.cubin"))
	if len(cached) != 1 {
		t.Errorf("in the cache: %v", cached)
	}
	_, err = d.Load(".entry step")
	check(t, err)
	var failed *Error
	if _, err := d.Load("wrong"); !errors.As(err, &failed) || failed.Log != "ptxas: line 1: wrong" {
		t.Errorf("%v", err)
	}
	if _, err := d.Load("nothing"); err == nil || err.Error() != "the driver's compiler made nothing of them" {
		t.Errorf("%v", err)
	}
	f, err := d.Function(m, "step")
	check(t, err)
	if _, err := d.Function(m, "nothing"); !errors.As(err, &failed) || failed.Code != errorNotFound {
		t.Errorf("%v", err)
	}
	if n, err := d.Occupancy(f, 128, 100<<10); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := d.Occupancy(f, 128, 300<<10); err == nil || !strings.Contains(err.Error(), "at most 232448") {
		t.Errorf("%v", err)
	}
	check(t, d.Zero(s, q, 64))
	check(t, d.Launch(s, Launch{Function: f, GridX: 1, GridY: 3, Threads: 128, Shared: 100 << 10, Param: q, Cooperative: true}))
	check(t, d.Launch(s, Launch{Function: f, GridX: 1, GridY: 5, Threads: 128, Param: q}))
	check(t, d.Download(s, host.Data, q))
	if host.Data[0] != 8 {
		t.Errorf("launched for %d ranks, not 8", host.Data[0])
	}
}

func shared(t *testing.T, d Device, q Ptr) {
	h, err := d.ExportMemory(q)
	check(t, err)
	p, err := d.ImportMemory(h)
	check(t, err)
	if p != q {
		t.Errorf("opened %#x, exported %#x", p, q)
	}
	check(t, d.CloseMemory(p))
	page, err := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	check(t, err)
	defer unix.Munmap(page)
	at, err := d.Register(page[:5000])
	check(t, err)
	if at != Ptr(address(page)) {
		t.Errorf("registered at %#x, it is at %#x", at, address(page))
	}
	check(t, d.Unregister(page[:5000]))
}

// The driver gets no length of an image: what is kept is loaded only if it is whole.
func TestADamagedImageInTheCacheIsMadeAgain(t *testing.T) {
	t.Setenv("PTOC_CACHE", t.TempDir())
	l, err := openLibrary([]string{stub(t)})
	check(t, err)
	d, err := l.Open(0)
	check(t, err)
	defer d.Close()
	const ptx = ".entry damaged"
	_, err = d.Load(ptx)
	check(t, err)
	names, _ := filepath.Glob(filepath.Join(os.Getenv("PTOC_CACHE"), "cuda", "*.cubin"))
	if len(names) != 1 {
		t.Fatalf("in the cache: %q", names)
	}
	whole, err := os.ReadFile(names[0])
	check(t, err)
	for n := range whole {
		check(t, os.Truncate(names[0], int64(n)))
		m, err := d.Load(ptx)
		check(t, err)
		if _, err := d.Function(m, "damaged"); err != nil {
			t.Errorf("cut off after %d bytes: %v", n, err)
		}
		if again, _ := os.ReadFile(names[0]); !bytes.Equal(again, whole) {
			t.Fatalf("cut off after %d bytes, it is not made again", n)
		}
	}
}

// What the user set for another program would keep ranks on several streams from meeting. The library looks.
func TestTheDriversEnvironmentIsOurs(t *testing.T) {
	for name := range environment {
		cEnvironment(t, name, true)
		defer cEnvironment(t, name, false)
	}
	_, err := openLibrary([]string{stub(t)})
	check(t, err)
}

func TestAKernelWaitsLongerThanTheHost(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: 0, time.Second: 12 * time.Second, 1e6 * time.Hour: 0} {
		if got := patience(timeout); got != want.Nanoseconds() {
			t.Errorf("%v: %d ns", timeout, got)
		}
	}
}

func TestALibraryThatIsNoDriverSaysSo(t *testing.T) {
	text := filepath.Join(t.TempDir(), "libcuda.so.1")
	check(t, os.WriteFile(text, []byte(strings.Repeat("no library\n", 1000)), 0o644))
	for _, tt := range []struct{ name, want string }{
		{text, "NVIDIA's driver cannot be opened: " + text + ": invalid ELF header"},
		{"libc.so.6", "NVIDIA's driver cannot be opened: it is not NVIDIA's driver: it has no cuInit"},
	} {
		if _, err := openLibrary([]string{tt.name}); !errors.Is(err, ErrNoGPU) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v", err)
		}
		t.Setenv("PTOC_LIBCUDA", tt.name)
		want := "PTOC_LIBCUDA: " + tt.name + " is no use: "
		if _, err := openLibrary(libraryNames()); !errors.Is(err, ErrNoGPU) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
		os.Unsetenv("PTOC_LIBCUDA")
	}
}

func TestAMachineWithoutAGPUSaysSo(t *testing.T) {
	if _, err := openLibrary([]string{filepath.Join(t.TempDir(), "libcuda.so.1")}); !errors.Is(err, ErrNoGPU) || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("%v", err)
	}
	so := stub(t)
	cEnvironment(t, "STUB_NO_GPU", true)
	defer cEnvironment(t, "STUB_NO_GPU", false)
	if _, err := openLibrary([]string{so}); !errors.Is(err, ErrNoGPU) || !strings.Contains(err.Error(), "finds no GPU") {
		t.Errorf("%v", err)
	}
}

// cEnvironment sets a variable of the C library, or takes it away: os.Setenv does not reach C code.
func cEnvironment(t *testing.T, name string, set bool) {
	h, err := purego.Dlopen("", purego.RTLD_NOW)
	check(t, err)
	n := cString(name)
	f, err := purego.Dlsym(h, map[bool]string{true: "setenv", false: "unsetenv"}[set])
	check(t, err)
	syscall(f, uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(n)), 1)
}

// Over some connections additions to the other GPU's memory are loads and stores: signals would be lost.
func TestGPUsWithoutAtomicsAreNotConnected(t *testing.T) {
	l, err := openLibrary([]string{stub(t)})
	check(t, err)
	check(t, l.Reaches(0, 1))
	cEnvironment(t, "STUB_NO_ATOMICS", true)
	defer cEnvironment(t, "STUB_NO_ATOMICS", false)
	ds := devices(t, l)
	defer closeAll(ds)
	for _, err := range []error{l.Reaches(0, 1), ds[0].EnablePeer(ds[1]), (&Config{Driver: l, Ranks: 2}).EnoughGPUs()} {
		if err == nil || !strings.Contains(err.Error(), "GPU 0 has no atomic operations on the memory of GPU 1") {
			t.Errorf("%v", err)
		}
	}
}
