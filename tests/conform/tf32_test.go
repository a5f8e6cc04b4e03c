package conform_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ptoc/codegen/ptx"
	"ptoc/ir"
	"ptoc/passes"
	"ptoc/runtime/conform"
	"ptoc/runtime/controller"
	"ptoc/runtime/sim"
	"ptoc/tests/ptxrun"
)

// FP32 products as TF32, where that is asked for: operands are rounded to 10 bits of the fraction, and
// so many of them may be off by 2 to the power of -6.
func TestProductsAsTF32(t *testing.T) {
	m, trials, err := conform.Module()
	check(t, err)
	trials = slices.DeleteFunc(trials, func(tr *conform.Trial) bool {
		return !strings.HasPrefix(tr.Name, "matmul_blocks") || !strings.HasSuffix(tr.Name, "_FP32")
	})
	m.Funcs = slices.DeleteFunc(m.Funcs, func(f *ir.Func) bool {
		return !slices.ContainsFunc(trials, func(tr *conform.Trial) bool { return f.Name == "k_"+tr.Name })
	})
	if d := passes.Run(m, passes.Options{Target: "cuda"}); d.HasErrors() {
		t.Fatal(d)
	}
	exact, err := ptxrun.New(m, 1, ptxrun.Config{})
	if errors.Is(err, ptxrun.ErrMissing) {
		t.Skip(err)
	}
	check(t, err)
	b, err := ptxrun.New(m, 1, ptxrun.Config{Races: true, Options: ptx.Options{TF32: true}})
	check(t, err)
	if strings.Contains(exact.Text, "tf32") || !strings.Contains(b.Text, "m16n8k8.row.col.f32.tf32") {
		t.Error("TF32 is used where it was not asked for, or not where it was")
	}
	s, err := controller.NewSim(sim.Config{Ranks: 1})
	check(t, err)
	for _, tr := range trials {
		loose := tr.Within(1 << 17)
		got, err := loose.Run(m, b)
		check(t, err)
		want, err := loose.Run(m, s)
		check(t, err)
		check(t, loose.Compare(got, want))
	}
	if len(trials) != 4 {
		t.Errorf("%d products", len(trials))
	}
}
