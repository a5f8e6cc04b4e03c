package passes_test

import (
	"fmt"
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

// However many places a program asks for, and however deep loops lie in each other, what is written out has an end.
func TestTurnsThatAreWrittenOutAreBounded(t *testing.T) {
	lowered := func(loops ...string) string {
		text := `import ptoc.language as pl

@pl.jit.incore
def step(a: pl.Tensor[[16, 160000], pl.BF16], b: pl.Tensor[[160000, 16], pl.BF16], c: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
    acc = pl.full([16, 16], pl.FP32, 0.0)
`
		for i, loop := range loops {
			indent := strings.Repeat("    ", i+1)
			text += fmt.Sprintf("%sfor k%d in %s:\n%s    acc = pl.matmul_acc(acc, pl.load(a, [0, 16 * k%d], [16, 16]), pl.load(b, [16 * k%d, 0], [16, 16]))\n",
				indent, i, loop, indent, i, i)
		}
		text += "    return pl.store(acc, [0, 0], c)\n"
		list := &diag.List{}
		m := passes.Load(source.NewFile("bounded.pl", text), check.Options{}, list)
		if !list.HasErrors() {
			list = passes.Run(m, passes.Options{Target: "cuda", Until: "PipelineLoads"})
		}
		if list.HasErrors() {
			t.Fatal(list)
		}
		return ir.Print(m)
	}
	many := lowered("pl.pipeline(10000, stage=1000000000)")
	if many != lowered("pl.pipeline(10000, stage=16)") {
		t.Error("more than 16 places")
	}
	// The main loop has 16 turns; of 10000 these leave 15 that are ahead and one more.
	if n := strings.Count(many, "matmul_acc"); n != 32 {
		t.Errorf("%d products", n)
	}
	loop := "pl.pipeline(100, stage=4)"
	if n := strings.Count(lowered(loop, loop), "matmul_acc"); n != 72 {
		t.Errorf("%d products in two loops", n)
	}
	if n := strings.Count(lowered(loop, loop, loop, loop, loop), "matmul_acc"); n != 75 {
		t.Errorf("%d products in five loops", n)
	}
}
