package cpp

import (
	"math"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/lang/source"
)

// elementwiseFunc is y = f(a, b) on whole [N] tensors.
func elementwiseFunc(dt, out ir.DType, body func(b *ir.Builder, x, y *ir.Value) *ir.Value) *ir.Func {
	n := ir.SymDim("N")
	f := ir.NewFunc("k", ir.InCore, source.Span{})
	a := f.AddParam("a", tensor(dt, n), ir.In)
	c := f.AddParam("b", tensor(dt, n), ir.In)
	y := f.AddParam("y", tensor(out, n), ir.Out)
	b := ir.NewBuilder(f, f.Body)
	load := func(m *ir.Value, name string) *ir.Value {
		return b.Add(ir.Load).Set("tensor", m).Set("offsets", index(0)...).Set("shape", dims(n)...).Name(name).Must().Result()
	}
	r := body(b, load(a, "s"), load(c, "t"))
	b.Add(ir.Store).Set("tile", r).Set("offsets", index(0)...).Set("tensor", y).Must()
	b.Return()
	return f
}

func TestElementwiseFP32(t *testing.T) {
	unary := func(k *ir.Kind) func(*ir.Builder, *ir.Value, *ir.Value) *ir.Value {
		return func(b *ir.Builder, x, _ *ir.Value) *ir.Value { v, _ := b.Unary(k, x); return v }
	}
	binary := func(k *ir.Kind) func(*ir.Builder, *ir.Value, *ir.Value) *ir.Value {
		return func(b *ir.Builder, x, y *ir.Value) *ir.Value { v, _ := b.Binary(k, x, y); return v }
	}
	nan, inf := math.NaN(), math.Inf(1)
	xs := []float64{0, 1, -1, 0.5, 2.25, -3.75, 1e-40, 1e-20, 88, -87, 3e38, inf, -inf, nan, 100, 0.3, 1e5, 7, -0.625, 0.624, 0.1}
	ys := []float64{2, 3, -5, nan, 0.5, 4, 1, -1, 2, inf, 1, 3, -2, 1, 0, 7, 9, -7, 1, 1, 2}
	for _, tt := range []struct {
		name string
		body func(*ir.Builder, *ir.Value, *ir.Value) *ir.Value
		want func(a, b float64) float64
	}{
		{"add", binary(ir.Add), func(a, b float64) float64 { return a + b }},
		{"sub", binary(ir.Sub), func(a, b float64) float64 { return a - b }},
		{"mul", binary(ir.Mul), func(a, b float64) float64 { return a * b }},
		{"div", binary(ir.Div), func(a, b float64) float64 { return a / b }},
		{"min", binary(ir.Minimum), func(a, b float64) float64 { return min(a, b) }},
		{"max", binary(ir.Maximum), func(a, b float64) float64 { return max(a, b) }},
		{"neg", unary(ir.Neg), func(a, _ float64) float64 { return -a }},
		{"abs", unary(ir.Abs), func(a, _ float64) float64 { return math.Abs(a) }},
		{"recip", unary(ir.Recip), func(a, _ float64) float64 { return 1 / a }},
		{"sqrt", unary(ir.Sqrt), func(a, _ float64) float64 { return math.Sqrt(a) }},
		{"rsqrt", unary(ir.Rsqrt), func(a, _ float64) float64 { return 1 / math.Sqrt(a) }},
		{"exp", unary(ir.Exp), func(a, _ float64) float64 { return math.Exp(a) }},
		{"log", unary(ir.Log), func(a, _ float64) float64 { return math.Log(a) }},
		{"tanh", unary(ir.Tanh), func(a, _ float64) float64 { return math.Tanh(a) }},
		{"relu", unary(ir.Relu), func(a, _ float64) float64 {
			if a <= 0 {
				return 0
			}
			return a
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := build(t, module(elementwiseFunc(ir.FP32, ir.FP32, tt.body)), "k")
			for _, n := range []int{0, 1, 7, len(xs)} {
				a, b, y := guard(f32s(xs[:n]), 9), guard(f32s(ys[:n]), 9), guard(make([]float32, n), 9)
				if f := k.call(t, nil, 0, a.addr(), b.addr(), y.addr(), int64(n)); f.Code != abi.OK {
					t.Fatalf("%+v", f)
				}
				y.check(t)
				for i := range n {
					want := float64(float32(tt.want(float64(a.Elems[i]), float64(b.Elems[i]))))
					if got := float64(y.Elems[i]); !ulps(float32(got), float32(want), 4) {
						t.Errorf("%v, %v: got %v, want %v", a.Elems[i], b.Elems[i], got, want)
					}
				}
			}
		})
	}
}

func f32s(xs []float64) []float32 {
	out := make([]float32, len(xs))
	for i, x := range xs {
		out[i] = float32(x)
	}
	return out
}

// ulps reports whether a and b are at most n representable numbers apart.
func ulps(a, b float32, n int32) bool {
	if a != a || b != b {
		return a != a && b != b
	}
	key := func(x float32) int32 {
		k := int32(math.Float32bits(x))
		if k < 0 {
			k = math.MinInt32 - k
		}
		return k
	}
	d := int64(key(a)) - int64(key(b))
	return d <= int64(n) && d >= -int64(n)
}
