package passes_test

import (
	"math/rand"
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
