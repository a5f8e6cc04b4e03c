package tensor

import (
	"fmt"
	"math"
	"slices"

	"ptoc/ir"
)

// Tolerance accepts got where |got - want| <= Abs + Rel*|want|.
type Tolerance struct{ Abs, Rel float64 }

// DefaultTolerance suits results that were accumulated in FP32 and stored once
// or a few times in d. Integers and BOOL are exact.
func DefaultTolerance(d ir.DType) Tolerance {
	switch d {
	case ir.FP32:
		return Tolerance{1e-5, 1e-5}
	case ir.FP16:
		return Tolerance{2e-3, 2e-3}
	case ir.BF16:
		return Tolerance{1.6e-2, 1.6e-2}
	}
	return Tolerance{}
}

// Diff is the outcome of a comparison. NaN equals NaN, and an infinity equals
// itself; any other pair with one of them is a mismatch with an infinite error.
type Diff struct {
	Elems      int64
	Mismatches int64
	MaxAbs     float64 // over all elements, accepted ones too
	MaxRel     float64 // over the elements where want is not 0
	Worst      int64   // in C order: the element that used up most of its tolerance; -1 if all are equal
	WorstIndex []int64
	Got, Want  float64 // at Worst
	Tolerance  Tolerance
}

// OK says that every element is within the tolerance.
func (d Diff) OK() bool { return d.Mismatches == 0 }

func (d Diff) String() string {
	if d.OK() {
		return fmt.Sprintf("%d elements agree; largest error %.3g (relative %.3g)", d.Elems, d.MaxAbs, d.MaxRel)
	}
	within := "exact"
	if d.Tolerance != (Tolerance{}) {
		within = fmt.Sprintf("within %.3g + %.3g*|expected|", d.Tolerance.Abs, d.Tolerance.Rel)
	}
	return fmt.Sprintf("%d of %d elements differ (%s); worst at %s: expected %v, found %v; largest error %.3g (relative %.3g)",
		d.Mismatches, d.Elems, within, ShapeString(d.WorstIndex), d.Want, d.Got, d.MaxAbs, d.MaxRel)
}

// Compare compares two tensors of one dtype and shape.
func Compare(got, want *Tensor, tol Tolerance) (Diff, error) {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return Diff{}, fmt.Errorf("expected %s, found %s", want, got)
	}
	if !got.DType.IsFloat() {
		return compareInts(got, want, tol), nil
	}
	return CompareFloats(got, want.Floats(), tol)
}

// CompareFloats compares with values that were computed in float64 and never
// rounded to got's dtype.
func CompareFloats(got *Tensor, want []float64, tol Tolerance) (Diff, error) {
	if got.Len() != int64(len(want)) {
		return Diff{}, fmt.Errorf("expected %d elements, found %d", len(want), got.Len())
	}
	c := newComparison(tol)
	for i, g := range got.Floats() {
		c.add(int64(i), g, want[i])
	}
	return c.finish(got), nil
}

// compareInts does not go through float64, which would lose what INT64 has above 2^53.
func compareInts(got, want *Tensor, tol Tolerance) Diff {
	c := newComparison(tol)
	w := want.Ints()
	for i, g := range got.Ints() {
		if g == w[i] {
			c.Elems++
			continue
		}
		abs := float64(max(g, w[i])) - float64(min(g, w[i]))
		c.addError(int64(i), max(abs, 1), float64(g), float64(w[i]))
	}
	return c.finish(got)
}

// comparison is a Diff in the making.
type comparison struct {
	Diff
	worst float64 // the error at Worst as a multiple of what is tolerated
}

func newComparison(tol Tolerance) *comparison {
	return &comparison{Diff: Diff{Worst: -1, Tolerance: tol}}
}

func (c *comparison) add(i int64, got, want float64) {
	switch {
	case got == want, got != got && want != want:
		c.Elems++
	case math.IsInf(got, 0) || math.IsInf(want, 0) || got != got || want != want:
		c.addError(i, math.Inf(1), got, want)
	default:
		c.addError(i, math.Abs(got-want), got, want)
	}
}

func (c *comparison) addError(i int64, abs, got, want float64) {
	c.Elems++
	allowed := c.Tolerance.Abs
	if c.Tolerance.Rel > 0 && !math.IsInf(abs, 0) {
		allowed += c.Tolerance.Rel * math.Abs(want)
	}
	if abs > allowed {
		c.Mismatches++
	}
	c.MaxAbs = max(c.MaxAbs, abs)
	if want != 0 && !math.IsInf(abs, 0) {
		c.MaxRel = max(c.MaxRel, abs/math.Abs(want))
	}
	share := abs
	if allowed > 0 {
		share = abs / allowed
	}
	if c.Worst < 0 || share > c.worst {
		c.Worst, c.worst, c.Got, c.Want = i, share, got, want
	}
}

func (c *comparison) finish(t *Tensor) Diff {
	if c.Worst >= 0 {
		c.WorstIndex = t.Index(c.Worst)
	}
	return c.Diff
}

// Equal says that two tensors have the same dtype, shape and bits.
func Equal(a, b *Tensor) bool {
	return a.DType == b.DType && slices.Equal(a.Shape, b.Shape) && slices.Equal(a.Data, b.Data)
}
