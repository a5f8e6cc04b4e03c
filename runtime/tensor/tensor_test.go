package tensor

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ptoc/ir"
)

func mustFrom(t testing.TB, d ir.DType, shape []int64, v ...float64) *Tensor {
	t.Helper()
	x, err := From(d, shape, v)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want one with %q", err, want)
	}
}

func TestValuesAreStoredAsTheDTypeHoldsThem(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		d        ir.DType
		in, want float64
	}{
		{ir.FP32, 0.1, float64(float32(0.1))},
		{ir.FP32, 1e300, inf},
		{ir.FP16, 1 + 1.0/2048, 1}, // a tie goes to even
		{ir.FP16, 1 + 3.0/2048, 1 + 1.0/512},
		{ir.FP16, 1 + 1.0/2048 + 1e-15, 1 + 1.0/1024}, // just above the tie: float32 on the way would lose it
		{ir.FP16, 65504, 65504},
		{ir.FP16, 65519.99, 65504},
		{ir.FP16, 65520, inf},
		{ir.FP16, math.Ldexp(1, -24), math.Ldexp(1, -24)},
		{ir.FP16, math.Ldexp(1, -25), 0},
		{ir.FP16, -inf, -inf},
		{ir.BF16, 1 + 1.0/256, 1},
		{ir.BF16, 1 + 3.0/256, 1 + 1.0/64},
		{ir.BF16, 1 + 1.0/256 + 1e-15, 1 + 1.0/128},
		{ir.BF16, 1e300, inf},
		{ir.BF16, -3.5, -3.5},
		{ir.INT32, 2.9, 2},
		{ir.INT32, -2.9, -2},
		{ir.INT32, 3e9, math.MaxInt32},
		{ir.INT8, -200, -128},
		{ir.INT8, math.NaN(), 0},
		{ir.INT64, 1 << 60, 1 << 60},
		{ir.INDEX, 7, 7},
		{ir.BOOL, 0.5, 1},
		{ir.BOOL, 0, 0},
	} {
		x := mustFrom(t, c.d, []int64{1}, c.in)
		if got := x.Float(0); got != c.want {
			t.Errorf("%s of %v: got %v, want %v", c.d, c.in, got, c.want)
		}
	}
	for _, d := range []ir.DType{ir.FP32, ir.FP16, ir.BF16} {
		if x := mustFrom(t, d, nil, math.NaN()).Float(0); x == x {
			t.Errorf("%s of NaN: got %v", d, x)
		}
	}
}

func TestEveryHalfSurvivesTheWayThroughFloat64(t *testing.T) {
	for b := range 1 << 16 {
		for name, got := range map[string]uint16{
			"FP16": FP16Bits(float64(FP16Value(uint16(b)))),
			"BF16": BF16Bits(float64(BF16Value(uint16(b)))),
		} {
			nan := b&0x7fff > 0x7c00
			if name == "BF16" {
				nan = b&0x7fff > 0x7f80
			}
			if got != uint16(b) && !nan {
				t.Fatalf("%s %#04x came back as %#04x", name, b, got)
			}
		}
	}
}

func TestIntsAreExactAndWrap(t *testing.T) {
	x, _ := New(ir.INT64, 2)
	x.SetInts([]int64{math.MaxInt64, math.MinInt64 + 1})
	if got := x.Ints(); !slices.Equal(got, []int64{math.MaxInt64, math.MinInt64 + 1}) {
		t.Errorf("got %v", got)
	}
	y, err := x.Convert(ir.INT8)
	if err != nil || !slices.Equal(y.Ints(), []int64{-1, 1}) {
		t.Errorf("as INT8: got %v, %v", y.Ints(), err)
	}
	f, _ := New(ir.FP32, 1)
	f.SetInt(0, 1<<24+1)
	if f.Float(0) != 1<<24 || f.Int(0) != 1<<24 {
		t.Errorf("2^24+1 as FP32: got %v", f.Float(0))
	}
}

func TestRowsAndSlicesShareMemory(t *testing.T) {
	x := mustFrom(t, ir.INT32, []int64{3, 2}, 0, 1, 2, 3, 4, 5)
	row, err := x.Row(1)
	if err != nil || !slices.Equal(row.Shape, []int64{2}) || !slices.Equal(row.Ints(), []int64{2, 3}) {
		t.Fatalf("row 1: %v %v %v", row.Shape, row.Ints(), err)
	}
	row.SetInt(0, 20)
	if x.Int(2) != 20 {
		t.Error("a row does not share memory")
	}
	s, err := x.Slice(1, 3)
	if err != nil || !slices.Equal(s.Shape, []int64{2, 2}) || !slices.Equal(s.Ints(), []int64{20, 3, 4, 5}) {
		t.Errorf("slice: %v %v %v", s.Shape, s.Ints(), err)
	}
	_, err = x.Row(3)
	wantError(t, err, "slice [3:4] is outside of the leading dim of shape [3, 2]")
	_, err = mustFrom(t, ir.INT32, nil, 1).Row(0)
	wantError(t, err, "no leading dim")
}

func TestOffsetAndIndexAreInverse(t *testing.T) {
	x, _ := New(ir.BOOL, 2, 3, 4)
	at, err := x.Offset(1, 2, 3)
	if err != nil || at != 23 || !slices.Equal(x.Index(23), []int64{1, 2, 3}) {
		t.Errorf("got %d, %v, %v", at, err, x.Index(23))
	}
	_, err = x.Offset(0, 3, 0)
	wantError(t, err, "index [0, 3, 0] is outside of shape [2, 3, 4]")
	_, err = x.Offset(0)
	wantError(t, err, "expected 3 indices for shape [2, 3, 4], found 1")
}

func TestImpossibleSizesAreErrors(t *testing.T) {
	_, err := New(ir.FP32, 1<<31, 1<<31)
	wantError(t, err, "too large")
	_, err = New(ir.FP32, 1<<40)
	wantError(t, err, "would take 4398046511104 bytes")
	_, err = New(ir.FP32, 2, -1)
	wantError(t, err, "shape [2, -1] has a negative dim")
	_, err = Wrap(ir.FP32, []int64{2}, make([]byte, 7))
	wantError(t, err, "expected 8 bytes for shape [2] of FP32, found 7")
	if x, err := New(ir.FP32, 1<<62, 0, 1<<62); err != nil || x.Len() != 0 {
		t.Errorf("an empty tensor: %v", err)
	}
}

// Computed by a program in another language from the description in generate.go.
var (
	wantRandn = []float64{-0.7844190001487732, 0.6433042287826538, 0.30239632725715637, 0.21880701184272766}
	wantInts  = []int64{-1, -3, -2, -3, -1, 3, 1, 0}
)

func TestRandomValuesNeverChange(t *testing.T) {
	x, _ := New(ir.FP32, 4)
	if err := x.FillRandn("x", 7); err != nil {
		t.Fatal(err)
	}
	if got, want := x.Floats(), wantRandn; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	i, _ := New(ir.INT32, 8)
	i.FillInts("x", 7, -3, 3)
	if got, want := i.Ints(), wantInts; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	y, _ := New(ir.FP32, 4)
	y.FillRandn("y", 7)
	if Equal(x, y) {
		t.Error("two inputs got the same values")
	}
}

func TestRandnIsNormal(t *testing.T) {
	const n = 200_000
	x, _ := New(ir.FP32, n)
	x.FillRandn("x", 1)
	var m1, m2, m4, beyond float64
	for _, v := range x.Floats() {
		m1, m2, m4 = m1+v/n, m2+v*v/n, m4+v*v*v*v/n
		if math.Abs(v) > 1.959964 {
			beyond += 1.0 / n
		}
	}
	if math.Abs(m1) > 0.01 || math.Abs(m2-1) > 0.01 || math.Abs(m4-2.85) > 0.05 || math.Abs(beyond-0.05) > 0.003 {
		t.Errorf("mean %.4f, variance %.4f, 4th moment %.3f, beyond 1.96: %.4f", m1, m2, m4, beyond)
	}
}

func TestFormat(t *testing.T) {
	iota := func(d ir.DType, shape ...int64) *Tensor {
		x, _ := New(d, shape...)
		x.FillIota()
		return x
	}
	for _, c := range []struct {
		x    *Tensor
		want string
	}{
		{mustFrom(t, ir.FP32, nil, 1.5), "1.5"},
		{iota(ir.FP32, 0, 5), "[]"},
		{mustFrom(t, ir.BOOL, []int64{2}, 0, 1), "[false  true]"},
		{mustFrom(t, ir.FP32, []int64{3}, 1, -2.25, 1.0/3), "[       1    -2.25 0.333333]"},
		{mustFrom(t, ir.BF16, []int64{2}, 1.0/3, math.Inf(-1)), "[0.334  -Inf]"},
		{iota(ir.INT32, 2, 3), "[[0 1 2]\n [3 4 5]]"},
		{iota(ir.INT8, 2, 1, 2), "[[[0 1]]\n\n [[2 3]]]"},
		{iota(ir.INT32, 2000), "[   0    1    2 ... 1997 1998 1999]"},
		{iota(ir.INT32, 2, 1000), "[[   0    1    2 ...  997  998  999]\n [1000 1001 1002 ... 1997 1998 1999]]"},
	} {
		if got := c.x.Format(); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.x, got, c.want)
		}
	}
	for line := range strings.Lines(iota(ir.INT32, 300).Format()) {
		if len(line) > printWide+2 {
			t.Errorf("a line of %d columns", len(line))
		}
	}
	if got := iota(ir.INT32, 1000, 2).Format(); strings.Count(got, "\n") != 6 || !strings.Contains(got, "\n ...\n") {
		t.Errorf("got\n%s", got)
	}
}
