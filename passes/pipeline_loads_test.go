package passes_test

import (
	"math/rand"
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/passes"
	"ptoc/tests/products"
)

// What PipelineLoads has made it leaves alone, and for CPUs it does nothing.
func TestLoadsRunAheadOnceAndOnGPUsOnly(t *testing.T) {
	moved := 0
	for seed := range int64(60) {
		text := products.Loop(rand.New(rand.NewSource(seed)))
		list := &diag.List{}
		m := passes.Load(source.NewFile("products.pl", text), check.Options{}, list)
		if list.HasErrors() {
			t.Fatalf("seed %d: %v\n%s", seed, list, text)
		}
		step := func(target string, o passes.Options) string {
			o.Target = target
			if list := passes.Run(m, o); list.HasErrors() {
				t.Fatalf("seed %d: %v\n%s", seed, list, text)
			}
			return ir.Print(m)
		}
		before := step("cuda", passes.Options{Until: "PadSignalWindows"})
		again := passes.Options{Passes: []string{"PipelineLoads"}}
		if step("cpu", again) != before {
			t.Fatalf("seed %d: it acts for CPUs\n%s", seed, text)
		}
		once := step("cuda", again)
		if twice := step("cuda", again); twice != once {
			t.Fatalf("seed %d: a second run changes something\n%s\n%s", seed, once, twice)
		}
		if once != before {
			moved++
		}
	}
	if moved < 15 {
		t.Errorf("loads of only %d loops moved", moved)
	}
}

// A long turn is written out only where the program asks for it.
func TestLongTurnsAreWrittenOutOnRequest(t *testing.T) {
	for loop, moves := range map[string]bool{"pl.range(n)": false, "pl.pipeline(n, stage=2)": true} {
		text := `import ptoc.language as pl

@pl.jit.incore
def step(a: pl.Tensor[[9, 16, 16], pl.FP32], c: pl.Out[pl.Tensor[[16, 16], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    acc = pl.full([16, 16], pl.FP32, 0.0)
    for i in ` + loop + `:
        t = pl.load(a[i], [0, 0], [16, 16])
        for j in pl.unroll(300):
            acc = pl.matmul_acc(acc, t, t)
    c = pl.store(acc, [0, 0], c)
    return c
`
		list := &diag.List{}
		m := passes.Load(source.NewFile("long.pl", text), check.Options{}, list)
		if list.HasErrors() {
			t.Fatal(list)
		}
		if list := passes.Run(m, passes.Options{Target: "cuda"}); list.HasErrors() {
			t.Fatal(list)
		}
		if n := strings.Count(ir.Print(m), "matmul_acc"); (n > 300) != moves {
			t.Errorf("%s: %d products", loop, n)
		}
	}
}
