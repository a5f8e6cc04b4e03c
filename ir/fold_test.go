package ir

import (
	"math"
	"testing"
)

func TestConstantsFoldToWhatExecutorsCompute(t *testing.T) {
	f32 := func(x float64) *Value { return FloatValue(x, FP32) }
	f16 := func(x float64) *Value { return FloatValue(RoundFloat(x, FP16), FP16) }
	i32 := func(n int64) *Value { return TypedInt(n, INT32) }
	nr := DimValue(SymDim("NR"))
	tests := []struct {
		kind *Kind
		a, b *Value
		want *Value // nil: does not fold
	}{
		{Add, Index(2), Index(3), Index(5)},
		{Add, nr, Index(3), DimValue(SymDim("NR").Add(ConstDim(3)))},
		{FloorDivide, Index(-7), Index(2), Index(-4)},
		{Modulo, Index(-7), Index(2), Index(1)},
		{Modulo, Index(-7), Index(0), nil},
		{FloorDivide, nr, Index(0), nil},
		{Add, i32(math.MaxInt32), i32(1), nil},
		{Mul, i32(1 << 20), i32(1 << 20), nil},
		{FloorDivide, i32(1), i32(0), nil},
		{Sub, i32(3), Index(5), Index(-2)},
		{ShiftLeft, i32(1), i32(31), nil},
		{ShiftLeft, i32(1), i32(30), i32(1 << 30)},
		{ShiftLeft, i32(1), i32(32), nil},
		{ShiftRight, i32(-5), i32(1), i32(-3)},
		{Add, f32(0.1), f32(0.2), f32(float64(float32(0.1) + float32(0.2)))},
		{Div, f32(1), f32(0), f32(math.Inf(1))},
		{Div, f32(0), f32(0), f32(math.NaN())},
		{Maximum, f32(math.NaN()), f32(1), f32(math.NaN())},
		{Minimum, f32(0), f32(math.Copysign(0, -1)), nil},
		{Mul, Index(3), f32(0.5), f32(1.5)},
		{Mul, nr, f32(0.5), nil},
		{Add, Index(1<<24 + 1), f32(0), nil},
		{Mul, f16(65504), f16(2), f16(math.Inf(1))},
		{Add, f16(1), f32(0.0001), f16(1)},
		{LogicalAnd, BoolValue(true), BoolValue(false), BoolValue(false)},
	}
	for _, tt := range tests {
		op := NewOp(tt.kind, none).Set("lhs", tt.a).Set("rhs", tt.b)
		got := Fold(op, false)
		if (got == nil) != (tt.want == nil) || got != nil && !SameConst(got, tt.want) {
			t.Errorf("%s of %s and %s: got %s, want %s", tt.kind.Name, show(tt.a), show(tt.b), show(got), show(tt.want))
		}
	}
	for _, k := range []*Kind{Exp, Log, Sin, Cos, Tanh, Rsqrt} {
		if v := Fold(NewOp(k, none).Set("x", f32(0.5)), false); v != nil {
			t.Errorf("%s folds, but executors may differ in the last bit", k.Name)
		}
	}
}

func show(v *Value) string {
	if v == nil {
		return "nothing"
	}
	return valueText(v, &namer{})
}

func TestGoldenFunctionsFoldOnlyWhatNeedsNoRounding(t *testing.T) {
	half, tenth := FloatValue(0.5, FP32), FloatValue(0.1, FP32)
	if v := Fold(NewOp(Add, none).Set("lhs", half).Set("rhs", half), true); v == nil || v.Const.F != 1 {
		t.Errorf("0.5 + 0.5 gives %s", show(v))
	}
	if v := Fold(NewOp(Mul, none).Set("lhs", tenth).Set("rhs", tenth), true); v != nil {
		t.Errorf("0.1 * 0.1 gives %s", show(v))
	}
}

func TestCastsOfConstants(t *testing.T) {
	tests := []struct {
		x    *Value
		to   DType
		mode string
		want *Value
	}{
		{FloatValue(2.5, FP32), INT32, "none", TypedInt(2, INT32)},
		{FloatValue(2.5, FP32), INT32, "rint", TypedInt(2, INT32)},
		{FloatValue(2.5, FP32), INT32, "round", TypedInt(3, INT32)},
		{FloatValue(-2.5, FP32), INDEX, "floor", Index(-3)},
		{FloatValue(3e9, FP32), INT32, "none", nil},
		{FloatValue(math.NaN(), FP32), INT32, "none", nil},
		{FloatValue(1+1.0/1024/2, FP32), FP16, "none", FloatValue(1, FP16)},
		{FloatValue(1+1.0/128/2, FP32), BF16, "none", FloatValue(1, BF16)},
		{TypedInt(300, INT32), INT8, "none", nil},
		{BoolValue(true), INT32, "none", TypedInt(1, INT32)},
	}
	for _, tt := range tests {
		op := NewOp(Cast, none).Set("x", tt.x).SetAttr("target_type", tt.to).SetAttr("mode", RoundMode.Of(tt.mode))
		got := Fold(op, false)
		if (got == nil) != (tt.want == nil) || got != nil && !SameConst(got, tt.want) {
			t.Errorf("cast of %s to %s (%s): got %s, want %s", show(tt.x), tt.to, tt.mode, show(got), show(tt.want))
		}
	}
}
