package cpp

import (
	"math"
	"math/rand"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/lang/source"
)

// unaryTile is y = op(x) with x and y whole tensors of the given shapes.
func unaryTile(in, out *ir.Tensor, op func(b *ir.Builder, x *ir.Value) *ir.Value) *ir.Func {
	f := ir.NewFunc("k", ir.InCore, source.Span{})
	x := f.AddParam("x", in, ir.In)
	y := f.AddParam("y", out, ir.Out)
	b := ir.NewBuilder(f, f.Body)
	t := b.Add(ir.Load).Set("tensor", x).Set("offsets", index(make([]int64, len(in.Dims))...)...).Set("shape", dims(in.Dims...)...).Must().Result()
	r := op(b, t)
	b.Add(ir.Store).Set("tile", r).Set("offsets", index(make([]int64, len(out.Dims))...)...).Set("tensor", y).Must()
	b.Return()
	return f
}

func TestReductionsOfEveryAxisAndSize(t *testing.T) {
	a, m, c := ir.SymDim("A"), ir.SymDim("M"), ir.SymDim("C")
	for axis := range 3 {
		for _, k := range []*ir.Kind{ir.Sum, ir.Prod, ir.Amax, ir.Amin} {
			out := []ir.Dim{a, m, c}
			out[axis] = ir.ConstDim(1)
			f := unaryTile(tensor(ir.FP32, a, m, c), tensor(ir.FP32, out...), func(b *ir.Builder, x *ir.Value) *ir.Value {
				return b.Add(k).Set("x", x).SetAttr("axis", int64(axis)).SetAttr("keepdims", true).Must().Result()
			})
			kern := build(t, module(f), "k")
			for _, n := range [][3]int{{1, 1, 1}, {3, 5, 7}, {2, 67, 3}, {4, 2, 301}, {2, 0, 3}, {0, 4, 4}, {3, 3, 0}} {
				reduceCase(t, kern, k, axis, n)
			}
		}
	}
}

func reduceCase(t *testing.T, kern kernel, k *ir.Kind, axis int, n [3]int) {
	t.Helper()
	r := rand.New(rand.NewSource(1))
	xs := make([]float32, n[0]*n[1]*n[2])
	for i := range xs {
		xs[i] = float32(r.Intn(5) - 2)
		if k == ir.Prod {
			xs[i] = float32(r.Intn(2)*2 - 1)
		}
	}
	o := n
	o[axis] = 1
	want := make([]float32, o[0]*o[1]*o[2])
	first := map[*ir.Kind]float64{ir.Sum: 0, ir.Prod: 1, ir.Amax: math.Inf(-1), ir.Amin: math.Inf(1)}[k]
	for i := range want {
		want[i] = float32(first)
	}
	for i := range xs {
		p := [3]int{i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]}
		p[axis] = 0
		w := &want[(p[0]*o[1]+p[1])*o[2]+p[2]]
		switch k {
		case ir.Sum:
			*w += xs[i]
		case ir.Prod:
			*w *= xs[i]
		case ir.Amax:
			*w = max(*w, xs[i])
		case ir.Amin:
			*w = min(*w, xs[i])
		}
	}
	x, y := guard(xs, 9), guard(make([]float32, len(want)), 9)
	// Symbols in order of their names: A, C, M.
	if f := kern.call(t, nil, 0, x.addr(), y.addr(), int64(n[0]), int64(n[2]), int64(n[1])); f.Code != abi.OK {
		t.Fatalf("%s axis %d of %v: %+v", k.Name, axis, n, f)
	}
	y.check(t)
	for i := range want {
		if y.Elems[i] != want[i] {
			t.Errorf("%s axis %d of %v: element %d is %v, want %v", k.Name, axis, n, i, y.Elems[i], want[i])
			return
		}
	}
}

func matmulFunc(dt, out ir.DType, at, bt, acc bool) *ir.Func {
	m, k, n := ir.SymDim("M"), ir.SymDim("K"), ir.SymDim("N")
	pick := func(t bool, r, c ir.Dim) []ir.Dim {
		if t {
			return []ir.Dim{c, r}
		}
		return []ir.Dim{r, c}
	}
	f := ir.NewFunc("k", ir.InCore, source.Span{})
	x := f.AddParam("x", tensor(dt, pick(at, m, k)...), ir.In)
	w := f.AddParam("w", tensor(dt, pick(bt, k, n)...), ir.In)
	y := f.AddParam("y", tensor(out, m, n), ir.InOut)
	b := ir.NewBuilder(f, f.Body)
	load := func(v *ir.Value) *ir.Value {
		return b.Add(ir.Load).Set("tensor", v).Set("offsets", index(0, 0)...).Set("shape", dims(ir.ShapeOf(v.Type)...)...).Must().Result()
	}
	var r *ir.Value
	if acc {
		r = b.Add(ir.MatMulAcc).Set("acc", load(y)).Set("lhs", load(x)).Set("rhs", load(w)).SetAttr("a_trans", at).SetAttr("b_trans", bt).Must().Result()
	} else {
		r = b.Add(ir.MatMul).Set("lhs", load(x)).Set("rhs", load(w)).SetAttr("a_trans", at).SetAttr("b_trans", bt).SetAttr("out_dtype", out).Must().Result()
	}
	b.Add(ir.Store).Set("tile", r).Set("offsets", index(0, 0)...).Set("tensor", y).Must()
	b.Return()
	return f
}

func TestMatMulOfOddSizes(t *testing.T) {
	for _, form := range [][3]bool{{}, {true}, {false, true}, {true, true}, {false, false, true}} {
		at, bt, acc := form[0], form[1], form[2]
		kern := build(t, module(matmulFunc(ir.FP32, ir.FP32, at, bt, acc)), "k")
		for _, n := range [][3]int{{1, 1, 1}, {3, 5, 7}, {12, 256, 32}, {13, 257, 33}, {97, 64, 129}, {100, 300, 50}, {4, 0, 4}, {0, 3, 3}} {
			M, K, N := n[0], n[1], n[2]
			r := rand.New(rand.NewSource(2))
			xs, ws, ys := make([]float32, M*K), make([]float32, K*N), make([]float32, M*N)
			for i := range xs {
				xs[i] = float32(r.Intn(7) - 3)
			}
			for i := range ws {
				ws[i] = float32(r.Intn(7) - 3)
			}
			want := make([]float32, M*N)
			for i := range ys {
				ys[i] = float32(i % 5)
				if acc {
					want[i] = ys[i]
				}
			}
			for i := range M {
				for j := range N {
					for k := range K {
						a, b := i*K+k, k*N+j
						if at {
							a = k*M + i
						}
						if bt {
							b = j*K + k
						}
						want[i*N+j] += xs[a] * ws[b]
					}
				}
			}
			x, w, y := guard(xs, 9), guard(ws, 9), guard(ys, 9)
			if f := kern.call(t, nil, 0, x.addr(), w.addr(), y.addr(), int64(K), int64(M), int64(N)); f.Code != abi.OK {
				t.Fatalf("%+v", f)
			}
			y.check(t)
			for i := range want {
				if y.Elems[i] != want[i] {
					t.Errorf("%v %v: element %d is %v, want %v", form, n, i, y.Elems[i], want[i])
					break
				}
			}
		}
	}
}

func TestInt8MatMulIsExact(t *testing.T) {
	kern := build(t, module(matmulFunc(ir.INT8, ir.INT32, false, true, false)), "k")
	M, K, N := 5, 1000, 35
	xs, ws := make([]int8, M*K), make([]int8, N*K)
	for i := range xs {
		xs[i] = int8(i % 256)
	}
	for i := range ws {
		ws[i] = int8(127 - i%255)
	}
	x, w, y := guard(xs, 9), guard(ws, 9), guard(make([]int32, M*N), 9)
	if f := kern.call(t, nil, 0, x.addr(), w.addr(), y.addr(), int64(K), int64(M), int64(N)); f.Code != abi.OK {
		t.Fatalf("%+v", f)
	}
	for i := range M {
		for j := range N {
			var want int32
			for k := range K {
				want += int32(xs[i*K+k]) * int32(ws[j*K+k])
			}
			if got := y.Elems[i*N+j]; got != want {
				t.Fatalf("[%d, %d]: got %d, want %d", i, j, got, want)
			}
		}
	}
}

func TestTransposeConcatSliceArange(t *testing.T) {
	r, c := ir.SymDim("R"), ir.SymDim("C")
	two := ir.ConstDim(2)
	f := unaryTile(tensor(ir.INT32, r, c), tensor(ir.INT32, c.Mul(two), r), func(b *ir.Builder, x *ir.Value) *ir.Value {
		t := b.Add(ir.Transpose).Set("x", x).Must().Result()
		n := b.Add(ir.Arange).Set("start", ir.Index(3)).Set("shape", dims(c, r)...).SetAttr("dtype", ir.INT32).Must().Result()
		return b.Add(ir.Concat).Set("a", t).Set("b", n).SetAttr("axis", int64(0)).Must().Result()
	})
	kern := build(t, module(f), "k")
	for _, n := range [][2]int{{1, 1}, {3, 5}, {17, 33}, {0, 4}, {4, 0}} {
		R, C := n[0], n[1]
		xs := make([]int32, R*C)
		for i := range xs {
			xs[i] = int32(i * i)
		}
		x, y := guard(xs, 9), guard(make([]int32, 2*R*C), 9)
		if f := kern.call(t, nil, 0, x.addr(), y.addr(), int64(C), int64(R)); f.Code != abi.OK {
			t.Fatalf("%+v", f)
		}
		y.check(t)
		for i := range C {
			for j := range R {
				if y.Elems[i*R+j] != xs[j*C+i] || y.Elems[R*C+i*R+j] != int32(3+j) {
					t.Fatalf("%v: [%d, %d]", n, i, j)
				}
			}
		}
	}
}

func TestHalfPrecisionConversionsRoundToEven(t *testing.T) {
	n := ir.SymDim("N")
	for _, dt := range []ir.DType{ir.FP16, ir.BF16} {
		down := build(t, module(unaryTile(tensor(ir.FP32, n), tensor(dt, n), func(b *ir.Builder, x *ir.Value) *ir.Value {
			v, _ := b.Cast(x, dt)
			return v
		})), "k")
		up := build(t, module(unaryTile(tensor(dt, n), tensor(ir.FP32, n), func(b *ir.Builder, x *ir.Value) *ir.Value {
			v, _ := b.Cast(x, ir.FP32)
			return v
		})), "k")
		var xs []float32
		r := rand.New(rand.NewSource(3))
		for range 20000 {
			xs = append(xs, math.Float32frombits(r.Uint32()))
		}
		for e := -30; e < 20; e++ { // ties, and values around the smallest and the largest
			for _, m := range []float64{1, 1 + 1.0/2048, 1 + 3.0/2048, 1 + 1.0/256, 1 + 3.0/256, 1.9998, 1.5} {
				xs = append(xs, float32(math.Ldexp(m, e)), -float32(math.Ldexp(m, e)))
			}
		}
		xs = append(xs, 0, float32(math.Inf(1)), float32(math.NaN()), 65504, 65519, 65520, 3.4e38)
		x, h, y := guard(xs, 9), guard(make([]uint16, len(xs)), 9), guard(make([]float32, len(xs)), 9)
		down.call(t, nil, 0, x.addr(), h.addr(), int64(len(xs)))
		up.call(t, nil, 0, h.addr(), y.addr(), int64(len(xs)))
		for i := range xs {
			if want := float32(ir.RoundFloat(float64(xs[i]), dt)); !ulps(y.Elems[i], want, 0) {
				t.Fatalf("%s of %v (%x): got %v, want %v", dt, xs[i], math.Float32bits(xs[i]), y.Elems[i], want)
			}
		}
	}
}

func TestMathsAccuracy(t *testing.T) {
	n := ir.SymDim("N")
	for _, tt := range []struct {
		k      *ir.Kind
		lo, hi float64
		want   func(float64) float64
	}{
		{ir.Exp, -104, 89, math.Exp}, {ir.Log, 1e-40, 1e38, math.Log}, {ir.Log, 0.5, 2, math.Log}, {ir.Tanh, -10, 10, math.Tanh},
		{ir.Sin, -100, 100, math.Sin}, {ir.Cos, -100, 100, math.Cos}, {ir.Sin, -1e6, 1e6, math.Sin}, {ir.Cos, -1e6, 1e6, math.Cos},
		{ir.Sin, 1e-30, math.MaxFloat32, math.Sin}, {ir.Cos, 1e-30, math.MaxFloat32, math.Cos},
	} {
		kern := build(t, module(unaryTile(tensor(ir.FP32, n), tensor(ir.FP32, n), func(b *ir.Builder, x *ir.Value) *ir.Value {
			v, _ := b.Unary(tt.k, x)
			return v
		})), "k")
		xs := make([]float32, 100000)
		r := rand.New(rand.NewSource(4))
		for i := range xs {
			xs[i] = float32(tt.lo + (tt.hi-tt.lo)*r.Float64())
			if tt.lo > 0 && tt.hi > 3 {
				xs[i] = float32(math.Exp(math.Log(tt.lo) + (math.Log(tt.hi)-math.Log(tt.lo))*r.Float64()))
			}
		}
		x, y := guard(xs, 9), guard(make([]float32, len(xs)), 9)
		kern.call(t, nil, 0, x.addr(), y.addr(), int64(len(xs)))
		bad := 0
		for i := range xs {
			want := float32(tt.want(float64(xs[i])))
			if !ulps(y.Elems[i], want, 4) {
				if bad++; bad < 5 {
					t.Errorf("%s(%v) = %v, want %v", tt.k.Name, xs[i], y.Elems[i], want)
				}
			}
		}
	}
}
