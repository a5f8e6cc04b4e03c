package abi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func compile(t *testing.T, text string) {
	t.Helper()
	cxx := os.Getenv("PTOC_CXX")
	for _, name := range []string{"g++", "clang++"} {
		if cxx == "" {
			cxx, _ = exec.LookPath(name)
		}
	}
	if cxx == "" {
		t.Skip("no C++ compiler: apt install g++")
	}
	src := filepath.Join(t.TempDir(), "abi.cpp")
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(cxx, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-O2", "-fsyntax-only", src)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, text)
	}
}

func TestLayoutsAgreeBetweenGoAndCxx(t *testing.T) {
	var b strings.Builder
	b.WriteString(Prelude())
	assert := func(expr string, want uintptr) {
		fmt.Fprintf(&b, "static_assert(%s == %d, %q);\n", expr, want, expr)
	}
	for _, s := range structs {
		assert("sizeof("+s.name+")", s.typ.Size())
		for i := range s.typ.NumField() {
			f := s.typ.Field(i)
			assert(fmt.Sprintf("__builtin_offsetof(%s, %s)", s.name, cName(f, i)), f.Offset)
		}
	}
	compile(t, b.String())
}

func TestEnumsAgreeBetweenGoAndCxx(t *testing.T) {
	var b strings.Builder
	b.WriteString(Prelude())
	for name, v := range map[string]int32{
		"PTOC_TAG_WINDOW": int32(TagWindow), "PTOC_CMP_GE": int32(Ge), "PTOC_NOTIFY_SET": int32(Set),
		"PTOC_ATOMIC_ADD": int32(AtomicAddInto), "PTOC_REDUCE_PROD": int32(Prod),
		"PTOC_WAIT_ABORTED": int32(WaitAborted), "PTOC_RANK_EXITED": int32(RankExited),
		"PTOC_ABORTED": int32(Aborted), "PTOC_STUCK": int32(Stuck),
	} {
		fmt.Fprintf(&b, "static_assert(%s == %d, %q);\n", name, v, name)
	}
	compile(t, b.String())
}

func TestWhatRanksShareIsOnSeparateCacheLines(t *testing.T) {
	typ := reflect.TypeFor[RankCtl]()
	for _, first := range []string{"Sleeping", "Waiting", "Progress", "Fault"} {
		f, _ := typ.FieldByName(first)
		if f.Offset%CacheLine != 0 {
			t.Errorf("%s at offset %d does not begin a cache line", first, f.Offset)
		}
	}
	if typ.Size()%CacheLine != 0 {
		t.Errorf("RankCtl has %d bytes", typ.Size())
	}
}

func TestCodesAreDocumentedOnceAndInOrder(t *testing.T) {
	for i, c := range Codes {
		if i > 0 && Codes[i-1].Code >= c.Code {
			t.Errorf("%s does not follow %s", c.Name, Codes[i-1].Name)
		}
		if c.Doc == "" || len(c.Operands) > len(Fault{}.V) {
			t.Errorf("%s: bad row %+v", c.Name, c)
		}
	}
	if Aborted != 20 {
		t.Errorf("Aborted = %d", Aborted)
	}
}
