package ptx

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/internal/textdiff"
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
	"ptoc/passes"
	"ptoc/tests/ptxas"
	"ptoc/tests/ptxsim"
	collectives "ptoc/verify/library"
)

// lowered reads a program and runs all passes.
func lowered(t testing.TB, name string) *ir.Module {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return lowerText(t, name, string(text))
}

func lowerText(t testing.TB, name, text string) *ir.Module {
	t.Helper()
	l := &diag.List{}
	file := source.NewFile(name, text)
	m := check.File(syntax.Parse(file, syntax.ModeFor(name), l), check.Options{}, l)
	if l.HasErrors() {
		t.Fatal(l)
	}
	if d := passes.Run(m, passes.Options{Target: "cuda"}); d.HasErrors() {
		t.Fatal(d)
	}
	return m
}

// programs are all examples, the product on tensor cores that gpu-check measures, and a program around each
// collective of the library.
func programs(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"../../examples/*.pl", "../../examples/course/*.pl"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out[strings.TrimPrefix(f, "../../")] = string(text)
		}
	}
	gemm, err := os.ReadFile("../../runtime/gpucheck/programs/gemm.pl")
	if err != nil {
		t.Fatal(err)
	}
	out["gpucheck/gemm.pl"] = strings.NewReplacer("DTYPE", "BF16", "\nK = 64", "\nK = 1024").Replace(string(gemm))
	for _, p := range collectives.Programs(3000, 1) {
		out["library/"+p.Name+".pl"] = p.Text
	}
	return out
}

// Every kernel of every program is accepted by LLVM, by the interpreter, and by NVIDIA's assembler, which
// says what testdata/ptxas.txt says: how many registers each takes, what it spills, and shared memory.
func TestEveryProgramAssembles(t *testing.T) {
	llvm := ofTable(t)
	var rows []string
	var assembler error
	texts := programs(t)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		out, err := Generate(lowerText(t, name, texts[name]), Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, arch := range []string{"sm_80", "sm_90"} {
			use, err := assemble(t, llvm, name, out.LLVM, arch)
			if err != nil {
				assembler = err
			}
			for _, u := range use {
				shared := u.Shared
				for _, k := range out.Kernels {
					if abi.KernelSymbol(k.Name) == u.Kernel {
						shared += k.Shared
					}
				}
				rows = append(rows, fmt.Sprintf("%-44s %-24s %s %9d %6d %7d", name, u.Kernel, arch, u.Registers, u.SpillStores+u.SpillLoads, shared))
			}
		}
	}
	if assembler != nil {
		t.Skip(assembler)
	}
	compareTable(t, llvm, rows)
}

// assemble makes machine code of LLVM IR. The only error is that there is no assembler: others are the test's.
func assemble(t *testing.T, llvm *LLVM, name, ir, arch string) ([]ptxas.Usage, error) {
	t.Helper()
	text, err := llvm.Compile(ir, arch)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, ir)
	}
	if _, err := ptxsim.Parse(text); err != nil {
		t.Errorf("%s: %v\n%s", name, err, text)
	}
	use, err := ptxas.Assemble(text, arch)
	if errors.Is(err, ptxas.ErrMissing) {
		return nil, err
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, text)
	}
	return use, nil
}

// ofTable is the LLVM that the table was made with if it is here, else any.
func ofTable(t *testing.T) *LLVM {
	want, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range Installed() {
		if strings.HasPrefix(string(want), fmt.Sprintf("LLVM %d, ", l.Version)) {
			return l
		}
	}
	l, err := Find()
	if err != nil {
		t.Skip(err)
	}
	return l
}

const table = "testdata/ptxas.txt"

var update = flag.Bool("update", false, "rewrite testdata/ptxas.txt")

// compareTable holds the rows against the table. Other versions of LLVM and ptxas allocate registers
// differently: the table is for those that it names.
func compareTable(t *testing.T, llvm *LLVM, rows []string) {
	made := fmt.Sprintf("LLVM %d, ptxas %s\n", llvm.Version, ptxas.Version())
	head := made + fmt.Sprintf("%-44s %-24s %s %9s %6s %7s\n", "program", "kernel", "arch ", "registers", "spills", "shared")
	got := head + strings.Join(rows, "\n") + "\n"
	if *update {
		if err := os.WriteFile(table, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(want), made) {
		t.Skipf("%s was made with others than %s", table, made)
	}
	if string(want) != got {
		t.Errorf("%s (- wanted, + got); -update rewrites it\n%s", table, textdiff.Lines(string(want), got, false))
	}
}

func BenchmarkAllreduceToPTX(b *testing.B) {
	m := lowered(b, "../../examples/allreduce.pl")
	if _, err := Compile("", "sm_80"); errors.Is(err, ErrNoLLVM) {
		b.Skip(err)
	}
	b.Run("all", func(b *testing.B) { // from the program's text
		for b.Loop() {
			out, err := Generate(lowered(b, "../../examples/allreduce.pl"), Options{})
			if err == nil {
				_, err = Compile(out.LLVM, "sm_80")
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
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
