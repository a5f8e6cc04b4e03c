package ptx

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
	"ptoc/passes"
	"ptoc/tests/ptxas"
	"ptoc/tests/ptxsim"
)

// lowered reads a program and runs all passes.
func lowered(t testing.TB, name string) *ir.Module {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	l := &diag.List{}
	file := source.NewFile(name, string(text))
	m := check.File(syntax.Parse(file, syntax.ModeFor(name), l), check.Options{}, l)
	if l.HasErrors() {
		t.Fatal(l)
	}
	if d := passes.Run(m, passes.Options{Target: "cuda"}); d.HasErrors() {
		t.Fatal(d)
	}
	return m
}

// Every kernel of every example is accepted by LLVM, by the interpreter, and by NVIDIA's assembler.
func TestExamplesCompile(t *testing.T) {
	files, _ := filepath.Glob("../../examples/*.pl")
	more, _ := filepath.Glob("../../examples/course/*.pl")
	for _, name := range append(files, more...) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			out, err := Generate(lowered(t, name), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, arch := range []string{"sm_80", "sm_90"} {
				text, err := Compile(out.LLVM, arch)
				if errors.Is(err, ErrNoLLVM) {
					t.Skip(err)
				}
				if err != nil {
					t.Fatalf("%v\n%s", err, out.LLVM)
				}
				if _, err := ptxsim.Parse(text); err != nil {
					t.Errorf("%v\n%s", err, text)
				}
				use, err := ptxas.Assemble(text, arch)
				if err != nil && !errors.Is(err, ptxas.ErrMissing) {
					t.Errorf("%v\n%s", err, text)
				}
				for _, u := range use {
					t.Logf("%s: %+v", arch, u)
				}
			}
		})
	}
}

func BenchmarkAllreduceToPTX(b *testing.B) {
	m := lowered(b, "../../examples/allreduce.pl")
	if _, err := Compile("", "sm_80"); errors.Is(err, ErrNoLLVM) {
		b.Skip(err)
	}
	b.Run("generate", func(b *testing.B) {
		for b.Loop() {
			if _, err := Generate(m, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	out, err := Generate(m, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("llvm", func(b *testing.B) {
		for b.Loop() {
			if _, err := Compile(out.LLVM, "sm_80"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
