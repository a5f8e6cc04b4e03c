// Package conform holds executors against each other op by op: each trial is a kernel of one op, run on the
// simulator and on compiled code, by tests/conform and by `ptoc gpu-check`. Ops that are rounded once must give the same bits, others may differ
// in the last places.
package conform

import (
	"context"
	"fmt"
	"math"
	"slices"

	"ptoc/ir"
	"ptoc/lang/source"
	"ptoc/runtime/controller"
	"ptoc/runtime/tensor"
)

// Trial is one op on operands of given types, made into a kernel and run by both executors.
type Trial struct {
	Name   string
	ins    []*ir.Tensor
	out    *ir.Tensor
	build  func(b *ir.Builder, tiles []*ir.Value) (*ir.Value, error)
	within float64 // in units of the last place of the result's type; 0: the same bits
	ints   [2]int64
	f      *ir.Func // instead of ins, out and build: a kernel of tensors
	at     int      // which of its parameters is compared
}

// tensors are the parameters' types, and the position of what is compared.
func (tr *Trial) tensors() ([]*ir.Tensor, int) {
	if tr.f == nil {
		return append(append([]*ir.Tensor{}, tr.ins...), tr.out), len(tr.ins)
	}
	var out []*ir.Tensor
	for _, p := range tr.f.Params() {
		out = append(out, p.Type.(*ir.Tensor))
	}
	return out, tr.at
}

func mat(dt ir.DType, dims ...int64) *ir.Tensor {
	t := &ir.Tensor{DType: dt}
	for _, d := range dims {
		t.Dims = append(t.Dims, ir.ConstDim(d))
	}
	return t
}

func indices(ds []ir.Dim) []*ir.Value {
	var out []*ir.Value
	for _, d := range ds {
		out = append(out, ir.DimValue(d))
	}
	return out
}

func zeros(n int) []*ir.Value {
	out := make([]*ir.Value, n)
	for i := range out {
		out[i] = ir.Index(0)
	}
	return out
}

// kernel is: load all ins, apply the op, store the result.
func (tr *Trial) kernel(name string) (*ir.Func, error) {
	if tr.f != nil {
		tr.f.Name = name
		return tr.f, nil
	}
	f := ir.NewFunc(name, ir.InCore, source.Span{})
	var mems []*ir.Value
	for i, t := range tr.ins {
		mems = append(mems, f.AddParam(fmt.Sprintf("x%d", i), t, ir.In))
	}
	out := f.AddParam("out", tr.out, ir.Out)
	b := ir.NewBuilder(f, f.Body)
	var tiles []*ir.Value
	for i, m := range mems {
		tiles = append(tiles, b.Add(ir.Load).Set("tensor", m).Set("offsets", zeros(len(tr.ins[i].Dims))...).
			Set("shape", indices(tr.ins[i].Dims)...).Must().Result())
	}
	v, err := tr.build(b, tiles)
	if err != nil {
		return nil, err
	}
	_, err = b.Add(ir.Store).Set("tile", v).Set("offsets", zeros(len(tr.out.Dims))...).Set("tensor", out).Done()
	return f, err
}

var floats = []ir.DType{ir.FP32, ir.FP16, ir.BF16}
var integers = []ir.DType{ir.INT8, ir.INT32, ir.INT64}

func elementwiseTrials() []*Trial {
	var out []*Trial
	add := func(k *ir.Kind, dt ir.DType, within float64) {
		tr := &Trial{Name: k.Name[3:] + "_" + dt.String(), out: mat(dt, 2, 70), within: within}
		n := len(k.Params)
		for range n {
			tr.ins = append(tr.ins, mat(dt, 2, 70))
		}
		if k == ir.ShiftLeft || k == ir.ShiftRight {
			tr.ints = [2]int64{0, 7}
		}
		tr.build = func(b *ir.Builder, ts []*ir.Value) (*ir.Value, error) {
			if n == 1 {
				return b.Unary(k, ts[0])
			}
			return b.Binary(k, ts[0], ts[1])
		}
		out = append(out, tr)
	}
	for _, dt := range floats {
		for _, k := range []*ir.Kind{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Minimum, ir.Maximum, ir.Neg, ir.Abs, ir.Relu, ir.Sqrt, ir.Recip} {
			add(k, dt, 0)
		}
		for _, k := range []*ir.Kind{ir.Exp, ir.Log, ir.Sin, ir.Cos, ir.Tanh, ir.Rsqrt} {
			add(k, dt, 4)
		}
	}
	for _, dt := range integers {
		for _, k := range []*ir.Kind{ir.Add, ir.Sub, ir.Mul, ir.Minimum, ir.Maximum, ir.FloorDivide, ir.Modulo, ir.BitAnd, ir.BitOr,
			ir.BitXor, ir.ShiftLeft, ir.ShiftRight, ir.Neg, ir.Abs, ir.Relu} {
			add(k, dt, 0)
		}
	}
	return out
}

func castTrials() []*Trial {
	var out []*Trial
	for _, from := range append(append([]ir.DType{ir.BOOL}, floats...), integers...) {
		for _, to := range append(append([]ir.DType{ir.BOOL}, floats...), integers...) {
			out = append(out, &Trial{Name: fmt.Sprintf("cast_%s_%s", from, to), ins: []*ir.Tensor{mat(from, 1, 70)}, out: mat(to, 1, 70),
				ints:  [2]int64{-300, 300},
				build: func(b *ir.Builder, ts []*ir.Value) (*ir.Value, error) { return b.Cast(ts[0], to) }})
		}
	}
	for _, mode := range ir.RoundMode.Values {
		out = append(out, &Trial{Name: "cast_mode_" + mode, ins: []*ir.Tensor{mat(ir.FP32, 1, 70)}, out: mat(ir.INT32, 1, 70),
			build: func(b *ir.Builder, ts []*ir.Value) (*ir.Value, error) {
				return b.Add(ir.Cast).Set("x", ts[0]).SetAttr("target_type", ir.INT32).SetAttr("mode", ir.RoundMode.Of(mode)).Value()
			}})
	}
	return out
}

func shapeTrials() []*Trial {
	var out []*Trial
	for _, dt := range append(floats, ir.INT32) {
		for _, k := range []*ir.Kind{ir.Sum, ir.Amax, ir.Amin} {
			for axis, shape := range [][]int64{{1, 70}, {5, 1}} {
				out = append(out, &Trial{Name: fmt.Sprintf("%s_%d_%s", k.Name[3:], axis, dt), ins: []*ir.Tensor{mat(dt, 5, 70)}, out: mat(dt, shape...), within: 64,
					build: func(b *ir.Builder, ts []*ir.Value) (*ir.Value, error) {
						return b.Add(k).Set("x", ts[0]).SetAttr("axis", int64(axis)).SetAttr("keepdims", true).Value()
					}})
			}
		}
		out = append(out, &Trial{Name: "transpose_" + dt.String(), ins: []*ir.Tensor{mat(dt, 5, 70)}, out: mat(dt, 70, 5),
			build: func(b *ir.Builder, ts []*ir.Value) (*ir.Value, error) {
				return b.Add(ir.Transpose).Set("x", ts[0]).Value()
			}})
		out = append(out, &Trial{Name: "concat_" + dt.String(), ins: []*ir.Tensor{mat(dt, 5, 7), mat(dt, 5, 9)}, out: mat(dt, 5, 16),
			build: func(b *ir.Builder, ts []*ir.Value) (*ir.Value, error) {
				return b.Add(ir.Concat).Set("a", ts[0]).Set("b", ts[1]).Value()
			}})
		for _, trans := range []bool{false, true} {
			shapes := [2][]int64{{9, 33}, {33, 17}}
			if trans {
				shapes = [2][]int64{{33, 9}, {17, 33}}
			}
			to := ir.FP32
			if dt == ir.INT32 {
				to = ir.INT32
			}
			out = append(out, &Trial{Name: fmt.Sprintf("matmul_%v_%s", trans, dt), ins: []*ir.Tensor{mat(dt, shapes[0]...), mat(dt, shapes[1]...)},
				out: mat(to, 9, 17), within: 64, build: func(b *ir.Builder, ts []*ir.Value) (*ir.Value, error) {
					return b.Add(ir.MatMul).Set("lhs", ts[0]).Set("rhs", ts[1]).SetAttr("a_trans", trans).SetAttr("b_trans", trans).Value()
				}})
		}
		out = append(out, wholeProducts(dt)...)
	}
	for _, how := range ir.CmpType.Values {
		out = append(out, &Trial{Name: "cmp_" + how, ins: []*ir.Tensor{mat(ir.FP32, 1, 70), mat(ir.FP32, 1, 70)}, out: mat(ir.BOOL, 1, 70),
			build: func(b *ir.Builder, ts []*ir.Value) (*ir.Value, error) { return b.Compare(how, ts[0], ts[1]) }})
	}
	out = append(out, &Trial{Name: "broadcast", ins: []*ir.Tensor{mat(ir.FP32, 5, 1), mat(ir.FP32, 1, 7)}, out: mat(ir.FP32, 5, 7),
		build: func(b *ir.Builder, ts []*ir.Value) (*ir.Value, error) { return b.Binary(ir.Sub, ts[0], ts[1]) }})
	return out
}

// wholeProducts are matrix products in whole blocks of what tensor cores take, in a batch.
func wholeProducts(dt ir.DType) []*Trial {
	var out []*Trial
	to := ir.FP32
	if dt == ir.INT32 {
		to = ir.INT32
	}
	for how := range 4 {
		aTrans, bTrans := how&1 != 0, how&2 != 0
		a, b := []int64{2, 48, 32}, []int64{2, 32, 24}
		if how == 3 {
			b = []int64{2, 32, 64}
		}
		cols := b[2]
		if aTrans {
			a[1], a[2] = a[2], a[1]
		}
		if bTrans {
			b[1], b[2] = b[2], b[1]
		}
		out = append(out, &Trial{Name: fmt.Sprintf("matmul_blocks_%v_%v_%s", aTrans, bTrans, dt), ins: []*ir.Tensor{mat(dt, a...), mat(dt, b...), mat(to, 2, 48, cols)},
			out: mat(to, 2, 48, cols), within: 64, build: func(b *ir.Builder, ts []*ir.Value) (*ir.Value, error) {
				return b.Add(ir.MatMulAcc).Set("acc", ts[2]).Set("lhs", ts[0]).Set("rhs", ts[1]).SetAttr("a_trans", aTrans).SetAttr("b_trans", bTrans).Value()
			}})
	}
	return out
}

// fillTrial makes inputs with the values that rounding and saturation trip over.
func (tr *Trial) fill(t *tensor.Tensor, seed uint64) {
	if !t.DType.IsFloat() {
		lo, hi := int64(-100), int64(100)
		if tr.ints != [2]int64{} {
			lo, hi = tr.ints[0], tr.ints[1]
		}
		if t.DType == ir.BOOL {
			lo, hi = 0, 1
		}
		t.FillInts("x", seed, lo, hi)
		for i := range t.Len() { // no division by zero
			if tr.ints == [2]int64{} && t.Int(i) == 0 && t.DType != ir.BOOL {
				t.SetInt(i, 3)
			}
		}
		return
	}
	t.FillRandn("x", seed)
	for i, x := range []float64{0, math.Copysign(0, -1), 0.5, 1.5, 2.5, -0.5, -1.5, 300, -300, 1e9, -1e9, math.Inf(1), math.Inf(-1), math.NaN()} {
		if tr.within == 0 || i < 9 {
			if int64(i) < t.Len() {
				t.SetFloat(int64(i), x)
			}
		}
	}
}

// Module makes all trials and a module with their kernels.
func Module() (*ir.Module, []*Trial, error) {
	trials := slices.Concat(elementwiseTrials(), castTrials(), shapeTrials(), sampleTrials())
	m := &ir.Module{Name: "conform"}
	for _, tr := range trials {
		f, err := tr.kernel("k_" + tr.Name)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", tr.Name, err)
		}
		m.Funcs = append(m.Funcs, f)
	}
	return m, trials, nil
}

// Run runs the trial's kernel in m, which passes may have lowered, and returns what it wrote.
func (tr *Trial) Run(m *ir.Module, b controller.Backend) (*tensor.Tensor, error) {
	p, err := controller.Prepare(m, m.Func("k_"+tr.Name), b, nil)
	if err != nil {
		return nil, err
	}
	var args []any
	params, at := tr.tensors()
	for i, in := range params {
		shape := []int64{}
		for _, d := range in.Dims {
			n, _ := d.Const()
			shape = append(shape, n)
		}
		x, err := p.NewTensor("x", in.DType, shape)
		if err != nil {
			return nil, err
		}
		if i < at || tr.f != nil {
			tr.fill(x.Tensor, uint64(i))
		}
		args = append(args, x)
	}
	if err := p.Run(context.Background(), args); err != nil {
		return nil, err
	}
	return args[at].(*controller.Tensor).Tensor, nil
}

// Within is the trial with another tolerance, in units of the last place.
func (tr *Trial) Within(units float64) *Trial {
	t := *tr
	t.within = units
	return &t
}

// Compare reports the first element of got that is further from want than the trial allows.
func (tr *Trial) Compare(got, want *tensor.Tensor) error {
	ulp := map[ir.DType]float64{ir.FP32: 1.0 / (1 << 23), ir.FP16: 1.0 / (1 << 10), ir.BF16: 1.0 / (1 << 7)}[got.DType]
	for i := range got.Len() {
		if !got.DType.IsFloat() {
			if got.Int(i) != want.Int(i) {
				return fmt.Errorf("element %d: %d, the simulator gives %d", i, got.Int(i), want.Int(i))
			}
			continue
		}
		a, b := got.Float(i), want.Float(i)
		same := a == b && math.Signbit(a) == math.Signbit(b) || a != a && b != b
		if !same && !(math.Abs(a-b) <= tr.within*ulp*max(math.Abs(b), 1)) {
			return fmt.Errorf("element %d: %v, the simulator gives %v", i, a, b)
		}
	}
	return nil
}
