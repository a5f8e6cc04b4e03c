package semantics

import (
	"bytes"
	"math/rand"
	"testing"

	"ptoc/ir"
	"ptoc/runtime/controller"
	"ptoc/runtime/sim"
	"ptoc/tests/products"
)

// Random loops around products compute the same, bit by bit, or fail at the same place with the same numbers, with
// loads that run ahead and without.
func TestLoadsAheadKeepWhatLoopsCompute(t *testing.T) {
	n := 200
	if testing.Short() {
		n = 60
	}
	ran, failed, moved := 0, 0, 0
	for seed := range int64(n) {
		r := rand.New(rand.NewSource(seed))
		text, turns := products.Loop(r), products.Turns(r)
		var out [2][]byte
		var errs [2]error
		var irs [2]string
		for i := range out {
			m, err := products.Lower(text, i == 1)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			irs[i] = ir.Print(m)
			s, err := controller.NewSim(sim.Config{Ranks: 1})
			if err != nil {
				t.Fatal(err)
			}
			out[i], errs[i] = products.Run(s, m, turns)
		}
		if irs[0] != irs[1] {
			moved++
		}
		switch {
		case (errs[0] == nil) != (errs[1] == nil) || errs[0] != nil && errs[0].Error() != errs[1].Error():
			t.Fatalf("seed %d, n = %d: %v, without: %v\n%s", seed, turns, errs[1], errs[0], text)
		case errs[0] != nil:
			failed++
		case !bytes.Equal(out[0], out[1]):
			t.Fatalf("seed %d, n = %d: another result\n%s\n%s", seed, turns, text, irs[1])
		default:
			ran++
		}
	}
	t.Logf("of %d loops %d ran to their end, %d failed; loads of %d moved", n, ran, failed, moved)
	if ran < n/2 || failed < n/20 || moved < n/4 {
		t.Error("too few of some kind")
	}
}
