// Package conform_test holds the executors against each other, op by op: package ptoc/runtime/conform makes
// the kernels and compares.
package conform_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"ptoc/codegen/cpp"
	"ptoc/codegen/toolchain"
	"ptoc/ir"
	"ptoc/passes"
	"ptoc/runtime/conform"
	"ptoc/runtime/controller"
	"ptoc/runtime/native"
	"ptoc/runtime/sim"
	"ptoc/tests/ptxrun"
)

func TestMain(m *testing.M) {
	native.MaybeWorker()
	os.Exit(m.Run())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// agree runs every trial on b and on the simulator.
func agree(t *testing.T, m *ir.Module, trials []*conform.Trial, b controller.Backend) {
	simulated, err := controller.NewSim(sim.Config{Ranks: 1})
	check(t, err)
	for _, tr := range trials {
		t.Run(tr.Name, func(t *testing.T) {
			got, err := tr.Run(m, b)
			check(t, err)
			want, err := tr.Run(m, simulated)
			check(t, err)
			check(t, tr.Compare(got, want))
		})
	}
}

func TestSimAndCPlusPlusAgreeOnEveryOp(t *testing.T) {
	m, trials, err := conform.Module()
	check(t, err)
	tc, err := toolchain.Open()
	check(t, err)
	t.Cleanup(func() { tc.Close() })
	if _, err := tc.Compiler(); err != nil {
		t.Skip(err)
	}
	engine, err := native.Build(context.Background(), tc, "")
	check(t, err)
	gen, err := cpp.Generate(m)
	check(t, err)
	res, err := tc.Compile(context.Background(), toolchain.Unit{Name: "kernels.cpp", Source: gen.Text}, toolchain.Options{})
	check(t, err)
	obj := controller.Object{Path: res.Path, Syms: map[string][]string{}}
	for _, k := range gen.Kernels {
		obj.Syms[k.Name] = k.Syms
	}
	b, err := controller.NewNative(native.Config{Ranks: 1, Mode: native.Threads, EnginePath: engine, Timeout: 30 * time.Second}, obj)
	check(t, err)
	t.Cleanup(func() { b.Close() })
	agree(t, m, trials, b)
}

func TestSimAndPTXAgreeOnEveryOp(t *testing.T) { agreeWithGPU(t, ptxrun.Config{Races: true}) }

// The LLVM IR that PTX is made of, as machine code.
func TestSimAndLLVMAgreeOnEveryOp(t *testing.T) { agreeWithGPU(t, ptxrun.Config{Host: true}) }

func agreeWithGPU(t *testing.T, cfg ptxrun.Config) {
	m, trials, err := conform.Module()
	check(t, err)
	if d := passes.Run(m, passes.Options{Target: "cuda"}); d.HasErrors() {
		t.Fatal(d)
	}
	b, err := ptxrun.New(m, 1, cfg)
	if errors.Is(err, ptxrun.ErrMissing) || errors.Is(err, toolchain.ErrNoCompiler) {
		t.Skip(err)
	}
	check(t, err)
	agree(t, m, trials, b)
}
