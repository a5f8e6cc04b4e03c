package conform_test

import (
	"testing"

	"ptoc/codegen/cpp"
	"ptoc/codegen/ptx"
	"ptoc/ir"
	"ptoc/runtime/conform"
	"ptoc/runtime/sim"
)

// Whatever the language allows in a kernel, every executor takes, on every type.
func TestNoExecutorHasAHole(t *testing.T) {
	for _, form := range conform.Forms() {
		for name, handles := range map[string]func(*ir.Kind) bool{"the simulator": sim.Handles, "C++": cpp.Handles, "PTX": ptx.Handles} {
			if !handles(form.Kind) {
				t.Errorf("%s: %s has no handler", form, name)
			}
		}
		if !form.Typed() {
			continue
		}
		legal := 0
		for _, dt := range conform.DTypes {
			c := form.Try(dt)
			if c.Legal {
				legal++
			}
			for name, err := range map[string]error{"the simulator": c.Sim, "C++": c.CPP, "PTX": c.PTX} {
				if err != nil {
					t.Errorf("%s on %s: %s: %v", form, dt, name, err)
				}
			}
		}
		if legal == 0 {
			_, err := form.Sample(ir.FP32)
			t.Errorf("%s: no sample is legal: %v", form, err)
		}
	}
}
