package lower

import (
	"testing"

	"ptoc/ir"
)

func dims(ns ...int64) []ir.Dim {
	var out []ir.Dim
	for _, n := range ns {
		out = append(out, ir.ConstDim(n))
	}
	return out
}

// Axes over which all operands run on are one; a view with gaps, or an operand that broadcasts, keeps them apart.
func TestNestMergesWhatRunsOn(t *testing.T) {
	whole := RowMajor(dims(4, 6))
	view := Layout{dims(4, 6), RowMajor(dims(4, 8)).Strides}
	row := RowMajor(dims(1, 6))
	for _, c := range []struct {
		name     string
		operands []Layout
		columns  bool
		extents  []ir.Dim
	}{
		{"memory without gaps", []Layout{whole, whole}, false, dims(24)},
		{"a view with gaps", []Layout{whole, view}, false, dims(4, 6)},
		{"a row for all rows", []Layout{row, whole}, false, dims(4, 6)},
		{"columns are asked for", []Layout{whole}, true, dims(4, 6)},
	} {
		if got := Nest(dims(4, 6), c.operands, c.columns); !ir.DimsEqual(got.Extents, c.extents) {
			t.Errorf("%s: %v, want %v", c.name, got.Extents, c.extents)
		}
	}
	a := Nest(dims(4, 6), []Layout{row, whole}, false)
	if !a.Strides[0][0].Is(0) || !a.Strides[1][0].Is(1) || !a.Strides[0][1].Is(6) {
		t.Errorf("strides %v", a.Strides)
	}
}

func TestReachAndContiguity(t *testing.T) {
	view := Layout{dims(4, 6), RowMajor(dims(4, 8)).Strides}
	if view.Contiguous() || !view.Reach().Is(30) || !RowMajor(dims(4, 6)).Contiguous() {
		t.Error("a view of 6 of 8 columns reaches over 30 elements, with gaps")
	}
	if s := view.Swapped(0, 1); !s.Dims[0].Is(6) || !s.Strides[0].Is(1) {
		t.Errorf("%v", s)
	}
}
