package tensor

import (
	"math"
	"slices"
	"testing"

	"ptoc/ir"
)

func TestCompareFindsTheWorstElement(t *testing.T) {
	want := mustFrom(t, ir.FP32, []int64{2, 3}, 1, 100, 0, 4, 5, 6)
	got := mustFrom(t, ir.FP32, []int64{2, 3}, 1, 101, 0, 4.5, 5, 6)
	d, err := Compare(got, want, Tolerance{Abs: 0.1, Rel: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	// 101 is within 0.1 + 1; 4.5 is not within 0.1 + 0.04, and so is the worst.
	if d.OK() || d.Elems != 6 || d.Mismatches != 1 || d.MaxAbs != 1 || d.MaxRel != 0.125 ||
		d.Worst != 3 || !slices.Equal(d.WorstIndex, []int64{1, 0}) || d.Got != 4.5 || d.Want != 4 {
		t.Errorf("got %+v", d)
	}
	if s, want := d.String(), "1 of 6 elements differ (within 0.1 + 0.01*|expected|); worst at [1, 0]: expected 4, found 4.5; largest error 1 (relative 0.125)"; s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestCompareOfSpecialValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		got, want  float64
		mismatches int64
	}{
		{nan, nan, 0}, {inf, inf, 0}, {-inf, -inf, 0}, {0, math.Copysign(0, -1), 0},
		{nan, 1, 1}, {1, nan, 1}, {inf, 1, 1}, {1, inf, 1}, {inf, -inf, 1}, {nan, inf, 1},
	} {
		x, y := mustFrom(t, ir.FP32, []int64{1}, c.got), mustFrom(t, ir.FP32, []int64{1}, c.want)
		d, err := Compare(x, y, Tolerance{Abs: 1e30, Rel: 1e30})
		if err != nil || d.Mismatches != c.mismatches || (c.mismatches > 0) != math.IsInf(d.MaxAbs, 1) {
			t.Errorf("%v with %v: %+v, %v", c.got, c.want, d, err)
		}
	}
}

func TestCompareOfIntsIsExact(t *testing.T) {
	x, _ := New(ir.INT64, 2)
	y, _ := New(ir.INT64, 2)
	x.SetInts([]int64{1<<60 + 1, 5})
	y.SetInts([]int64{1 << 60, 5})
	d, err := Compare(x, y, DefaultTolerance(ir.INT64))
	if err != nil || d.Mismatches != 1 || d.Worst != 0 || d.MaxAbs != 1 {
		t.Errorf("got %+v, %v", d, err)
	}
	if d, _ := Compare(x, x, Tolerance{}); !d.OK() || d.Worst != -1 || d.String() != "2 elements agree; largest error 0 (relative 0)" {
		t.Errorf("got %+v: %s", d, d)
	}
}

func TestCompareRefusesAnotherShapeOrDType(t *testing.T) {
	x, y := mustFrom(t, ir.FP32, []int64{1, 2}, 1, 2), mustFrom(t, ir.FP32, []int64{2}, 1, 2)
	_, err := Compare(x, y, Tolerance{})
	wantError(t, err, "expected FP32 [2], found FP32 [1, 2]")
	_, err = CompareFloats(x, []float64{1}, Tolerance{})
	wantError(t, err, "expected 1 elements, found 2")
}

func TestCompareFloatsSeesTheRounding(t *testing.T) {
	x := mustFrom(t, ir.BF16, []int64{1}, 1+1.0/256)
	d, err := CompareFloats(x, []float64{1 + 1.0/256}, DefaultTolerance(ir.BF16))
	if err != nil || !d.OK() || d.MaxAbs != 1.0/256 {
		t.Errorf("got %+v, %v", d, err)
	}
}
