package ptx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptoc/tests/ptxas"
)

// What each version of LLVM makes of kernels of all kinds is assembled, without spills.
func TestEveryVersionOfLLVM(t *testing.T) {
	type module struct{ name, ir string }
	var modules []module
	texts := programs(t)
	for _, name := range []string{"examples/allreduce.pl", "examples/gemm_allreduce.pl", "examples/course/16_composition.pl", "library/reduce_scatter.pl"} {
		out, err := Generate(lowerText(t, name, texts[name]), Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		modules = append(modules, module{name, out.LLVM})
	}
	all := Installed()
	for _, v := range versions {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			if !slices.ContainsFunc(all, func(l *LLVM) bool { return l.Version == v }) {
				t.Skip("not on this machine")
			}
			for _, l := range all {
				if l.Version != v {
					continue
				}
				for _, m := range modules {
					use, err := assemble(t, l, m.name, m.ir, "sm_90")
					if err != nil {
						t.Skip(err)
					}
					for _, u := range use {
						if u.SpillLoads+u.SpillStores > 0 {
							t.Errorf("%s: %s: %s spills: %+v", l, m.name, u.Kernel, u)
						}
					}
				}
				t.Logf("%s: right", l)
			}
		})
	}
}

// What is no use says why, and what would be.
func TestLLVMThatIsNoUse(t *testing.T) {
	llc := func(about string) string {
		path := filepath.Join(t.TempDir(), "llc")
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+about+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct{ path, want string }{
		{llc("LLVM version 13.0.1\nnvptx64"), "it is LLVM 13"},
		{llc("Ubuntu LLVM version 20.1.2\nnvptx64"), "it is LLVM 20"},
		{llc("LLVM version 18.1.3\nx86-64"), "LLVM 18: it has no backend for nvptx64"},
		{llc("hello"), "it does not say which version of LLVM it is of"},
		{"/nonexistent/llc", "no such file"},
		{"/nonexistent/libLLVM-15.so", "cannot open shared object file"},
		{"libc.so.6", "it has no LLVMInitializeNVPTXTargetInfo"},
	} {
		t.Setenv("PTOC_LLVM", tt.path)
		_, err := Compile("", "sm_80")
		if !errors.Is(err, ErrNoLLVM) || !strings.Contains(fmt.Sprint(err), "PTOC_LLVM: "+tt.path+" is no use: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, and no %q", tt.path, err, tt.want)
		}
	}
}

// An llc is enough; its opt is found beside it, whatever the folder is called.
func TestLLCWithAndWithoutOpt(t *testing.T) {
	i := slices.IndexFunc(Installed(), func(l *LLVM) bool { return !l.inProcess() })
	if i < 0 {
		t.Skip("no llc on this machine")
	}
	out, err := Generate(lowered(t, "../../examples/allreduce.pl"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(Installed()[i].Path)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "llc")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var lengths []int
	for _, name := range []string{"llc", "opt"} {
		if err := os.Symlink(filepath.Join(filepath.Dir(real), name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		l, err := open(filepath.Join(dir, "llc"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := assemble(t, l, "allreduce.pl", out.LLVM, "sm_80"); err != nil && !errors.Is(err, ptxas.ErrMissing) {
			t.Error(err)
		}
		text, err := l.Compile(out.LLVM, "sm_80")
		if err != nil {
			t.Fatal(err)
		}
		lengths = append(lengths, strings.Count(text, "\n"))
	}
	if lengths[0] == lengths[1] {
		t.Errorf("%d lines with opt and without", lengths[0])
	}
}
