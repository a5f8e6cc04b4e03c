package irtest

import (
	"testing"

	"ptoc/ir"
)

func TestRandomModulesAreValid(t *testing.T) {
	for seed := uint64(0); seed < 300; seed++ {
		m := Random(seed, int(seed%60))
		for _, err := range ir.Verify(m) {
			t.Errorf("seed %d: %v", seed, err)
		}
		if t.Failed() {
			t.Fatalf("%s", ir.Print(m))
		}
		c := ir.CloneModule(m)
		if err := ir.Equal(m, c); err != nil {
			t.Fatalf("seed %d: a clone differs: %v", seed, err)
		}
		if a, b := ir.Print(m), ir.Print(c); a != b {
			t.Fatalf("seed %d: a clone prints differently", seed)
		}
		for _, f := range c.Funcs {
			if err := ir.Retype(f); err != nil {
				t.Fatalf("seed %d: Retype of a fresh module: %v", seed, err)
			}
		}
		if err := ir.Equal(m, c); err != nil {
			t.Fatalf("seed %d: Retype changed a fresh module: %v", seed, err)
		}
	}
}
