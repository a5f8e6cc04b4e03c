package sim

import (
	"slices"
	"testing"

	"ptoc/ir"
	"ptoc/runtime/interp"
)

func TestEveryOpOfADeviceHasAHandler(t *testing.T) {
	c := &interp.Compiler{Table: deviceTable}
	for _, k := range ir.Kinds() {
		if !c.Handles(k) && !slices.Contains(elsewhere, k) {
			t.Errorf("no handler for %s", k.Name)
		}
		if k.Map == ir.Elementwise && k.Scalar != "" {
			checkScalarName(t, k)
		}
	}
}

// checkScalarName: the tables of element arithmetic know every name that the op table uses.
func checkScalarName(t *testing.T, k *ir.Kind) {
	switch k {
	case ir.Cmp, ir.Select, ir.Cast:
		return
	}
	if len(k.Params) == 2 && k != ir.Expand {
		if interp.FloatBinary[k.Scalar] == nil && interp.IntBinary[k.Scalar] == nil {
			t.Errorf("no arithmetic for %s", k.Scalar)
		}
		if interp.FloatBinary[k.Scalar] != nil && floatBinary(k.Scalar) == nil {
			t.Errorf("no loop for %s", k.Scalar)
		}
		return
	}
	if interp.FloatUnary[k.Scalar] == nil && interp.IntUnary[k.Scalar] == nil {
		t.Errorf("no arithmetic for %s", k.Scalar)
	}
}
