package passes_test

import (
	"testing"

	"ptoc/ir"
	"ptoc/ir/irtest"
	"ptoc/lang/diag"
	"ptoc/passes"
)

// What is printed reads back equal: for random modules as they are, and after inlining and
// simplifying them.
func roundTrip(t *testing.T, m *ir.Module) {
	t.Helper()
	if err := passes.RoundTrip(m, passes.Reparse); err != nil {
		t.Fatalf("%v\n%s", err, ir.Print(m))
	}
	list := passes.Run(m, passes.Options{Passes: []string{"InlineFunctions", "Simplify"}, VerifyEach: true,
		Reparse: passes.Reparse, ReproducerDir: t.TempDir()})
	for _, d := range list.Sorted() {
		if d.Code == diag.Internal {
			t.Fatal(d)
		}
	}
}

func TestRandomModulesSurviveTheRoundTrip(t *testing.T) {
	n := uint64(300)
	if testing.Short() {
		n = 30
	}
	for seed := uint64(0); seed < n; seed++ {
		roundTrip(t, irtest.Random(1000+seed, int(seed%100)))
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("some bytes to start from"))
	f.Add([]byte{13, 2, 13, 0, 1, 7, 7, 12, 15, 3, 9, 200, 14, 1})
	f.Fuzz(func(t *testing.T, data []byte) { roundTrip(t, irtest.FromBytes(data)) })
}
