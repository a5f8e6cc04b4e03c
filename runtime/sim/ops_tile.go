package sim

import (
	"math"

	"ptoc/ir"
	"ptoc/runtime/interp"
)

func full(c *interp.Compiler, op *ir.Op) interp.Step {
	to, dt := op.Result().ID, op.DTypeAttr("dtype")
	shape, one := extents(c, op), scalarTile(c, op.Val("value"), dt)
	return func(fr *interp.Frame) { fr.Vals[to].P = one(fr).gather(shape(fr), func(int64) int64 { return 0 }) }
}

func arange(c *interp.Compiler, op *ir.Op) interp.Step {
	to, dt := op.Result().ID, op.DTypeAttr("dtype")
	shape, start := extents(c, op), c.Int(op.Val("start"))
	return func(fr *interp.Frame) {
		t, first := newTile(dt, shape(fr)), start(fr)
		cols := int64(1)
		if n := len(t.shape); n > 0 {
			cols = max(t.shape[n-1], 1)
		}
		for k := range t.f {
			t.f[k] = float64(first + int64(k)%cols)
		}
		for k := range t.i {
			t.i[k] = interp.WrapInt(dt, first+int64(k)%cols)
		}
		if !c.Exact {
			round(dt, t.f)
		}
		fr.Vals[to].P = t
	}
}

func fillPad(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("x").ID, op.Result().ID
	dt := ir.DTypeOf(op.Result().Type)
	dims := ir.ShapeOf(op.Result().Type)
	get := make([]func(*interp.Frame) int64, len(dims))
	for i, d := range dims {
		get[i] = c.Dim(d)
	}
	pad := func(*interp.Frame) *tile { return newTile(dt, []int64{1}) }
	if v := op.Val("value"); v != nil {
		pad = scalarTile(c, v, dt)
	}
	return func(fr *interp.Frame) {
		t := tileOf(fr, from)
		shape := make([]int64, len(get))
		for i, g := range get {
			shape[i] = g(fr)
		}
		out := pad(fr).gather(shape, func(int64) int64 { return 0 })
		out.paste(t, make([]int64, len(shape)))
		fr.Vals[to].P = out
	}
}

// paste overwrites a rectangle of a tile that nobody else holds yet.
func (t *tile) paste(src *tile, offsets []int64) {
	strides := rowMajor(t.shape, 1)
	start := int64(0)
	for d, o := range offsets {
		start += o * strides[d]
	}
	n := src.len()
	if n == 0 {
		return
	}
	cols := src.shape[len(src.shape)-1]
	idx := make([]int64, len(src.shape))
	for k := int64(0); k < n; k += cols {
		at := start
		for d, x := range idx {
			at += x * strides[d]
		}
		if t.f != nil {
			copy(t.f[at:at+cols], src.f[k:])
		} else {
			copy(t.i[at:at+cols], src.i[k:])
		}
		for d := len(idx) - 2; d >= 0; d-- {
			if idx[d]++; idx[d] < src.shape[d] {
				break
			}
			idx[d] = 0
		}
	}
}

func concat(c *interp.Compiler, op *ir.Op) interp.Step {
	a, b, to := op.Val("a").ID, op.Val("b").ID, op.Result().ID
	axis := op.Axis("axis", len(ir.ShapeOf(op.Result().Type)))
	return func(fr *interp.Frame) {
		x, y := tileOf(fr, a), tileOf(fr, b)
		shape := append([]int64(nil), x.shape...)
		shape[axis] += y.shape[axis]
		out := newTile(x.dt, shape)
		at := make([]int64, len(shape))
		out.paste(x, at)
		at[axis] = x.shape[axis]
		out.paste(y, at)
		fr.Vals[to].P = out
	}
}

func transpose(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("x").ID, op.Result().ID
	rank := len(ir.ShapeOf(op.Result().Type))
	a, b := op.Axis("axis1", rank), op.Axis("axis2", rank)
	return func(fr *interp.Frame) { fr.Vals[to].P = tileOf(fr, from).swapped(a, b) }
}

func (t *tile) swapped(a, b int) *tile {
	shape, strides := append([]int64(nil), t.shape...), rowMajor(t.shape, 1)
	shape[a], shape[b] = shape[b], shape[a]
	strides[a], strides[b] = strides[b], strides[a]
	return t.strided(shape, strides, 0)
}

func reduce(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("x").ID, op.Result().ID
	axis := op.Axis("axis", len(ir.ShapeOf(op.Val("x").Type)))
	name := map[string]string{"sum": "add", "prod": "mul", "max": "max", "min": "min"}[op.Kind.Scalar]
	onInts := interp.IntBinary[name]
	dt := ir.DTypeOf(op.Result().Type)
	return func(fr *interp.Frame) {
		t := tileOf(fr, from)
		outer, n, inner := numel(t.shape[:axis]), t.shape[axis], numel(t.shape[axis+1:])
		shape := append([]int64(nil), t.shape[:axis]...)
		if op.Bool("keepdims") {
			shape = append(shape, 1)
		}
		out := newTile(dt, append(shape, t.shape[axis+1:]...))
		for o := range outer {
			if dt.IsFloat() {
				reduceFloats(name, out.f[o*inner:][:inner], t.f[o*n*inner:][:n*inner], c.Exact)
			} else {
				reduceInts(dt, name, onInts, out.i[o*inner:][:inner], t.i[o*n*inner:][:n*inner])
			}
		}
		if !c.Exact {
			round(dt, out.f)
		}
		fr.Vals[to].P = out
	}
}

// neutral is what a reduction over nothing gives.
func neutral(name string, dt ir.DType) (float64, int64) {
	bits := uint(62)
	if dt.IsInt() {
		bits = uint(interp.Bits(dt) - 1)
	}
	switch name {
	case "mul":
		return 1, 1
	case "max":
		return math.Inf(-1), -1 << bits
	case "min":
		return math.Inf(1), 1<<bits - 1
	}
	return 0, 0
}

// reduceFloats reduces rows of len(dst) elements, accumulating in FP32.
func reduceFloats(name string, dst, src []float64, exact bool) {
	start, _ := neutral(name, ir.FP32)
	for k := range dst {
		dst[k] = start
	}
	f, n := floatBinary(name), len(dst)
	if n == 1 { // along the last axis: a loop over single elements
		g := interp.FloatBinary[name]
		acc := start
		for _, x := range src {
			if acc = g(acc, x); !exact {
				acc = float64(float32(acc))
			}
		}
		dst[0] = acc
		return
	}
	for k := 0; n > 0 && k < len(src); k += n {
		f(dst, dst, src[k:k+n])
		if !exact {
			round(ir.FP32, dst)
		}
	}
}

func reduceInts(dt ir.DType, name string, f func(a, b int64) int64, dst, src []int64) {
	_, start := neutral(name, dt)
	for k := range dst {
		dst[k] = start
	}
	for k, x := range src {
		j := k % len(dst)
		dst[j] = interp.WrapInt(dt, f(dst[j], x))
	}
}

// matmul is pl.matmul and pl.matmul_acc.
func matmul(c *interp.Compiler, op *ir.Op) interp.Step {
	lhs, rhs, to := op.Val("lhs").ID, op.Val("rhs").ID, op.Result().ID
	dt := ir.DTypeOf(op.Result().Type)
	rank := len(ir.ShapeOf(op.Result().Type))
	acc := op.Val("acc")
	return func(fr *interp.Frame) {
		a, b := tileOf(fr, lhs), tileOf(fr, rhs)
		if op.Bool("a_trans") {
			a = a.swapped(rank-2, rank-1)
		}
		if op.Bool("b_trans") {
			b = b.swapped(rank-2, rank-1)
		}
		m, k, n := a.shape[rank-2], a.shape[rank-1], b.shape[rank-1]
		out := newTile(dt, append(append([]int64(nil), a.shape[:rank-2]...), m, n))
		sums := newTile(accumulator(a.dt), out.shape)
		if acc != nil {
			start := tileOf(fr, acc.ID)
			copy(sums.f, start.f)
			copy(sums.i, start.i)
		}
		for batch := range numel(a.shape[:rank-2]) {
			if a.dt.IsFloat() {
				matmulFloats(sums.f[batch*m*n:][:m*n], a.f[batch*m*k:][:m*k], b.f[batch*k*n:][:k*n], m, k, n, c.Exact)
			} else {
				matmulInts(sums.i[batch*m*n:][:m*n], a.i[batch*m*k:][:m*k], b.i[batch*k*n:][:k*n], m, k, n)
			}
		}
		convert(out, sums, c.Exact)
		fr.Vals[to].P = out
	}
}

func accumulator(dt ir.DType) ir.DType {
	if dt.IsFloat() {
		return ir.FP32
	}
	return ir.INT32
}

func convert(out, sums *tile, exact bool) {
	for k := range out.f {
		if sums.f != nil {
			out.f[k] = sums.f[k]
		} else {
			out.f[k] = float64(sums.i[k])
		}
	}
	for k := range out.i {
		if sums.i != nil {
			out.i[k] = interp.WrapInt(out.dt, sums.i[k])
		} else {
			out.i[k] = interp.FloatToInt(out.dt, sums.f[k], 0)
		}
	}
	if !exact {
		round(out.dt, out.f)
	}
}

func matmulFloats(out, a, b []float64, m, k, n int64, exact bool) {
	for i := range m {
		row := out[i*n:][:n]
		for j := range k {
			x := a[i*k+j]
			line := b[j*n:][:n]
			if exact {
				for l, y := range line {
					row[l] += x * y
				}
				continue
			}
			for l, y := range line {
				row[l] = float64(float32(row[l] + x*y))
			}
		}
	}
}

func matmulInts(out, a, b []int64, m, k, n int64) {
	for i := range m {
		for j := range k {
			for l := range n {
				out[i*n+l] = int64(int32(out[i*n+l] + a[i*k+j]*b[j*n+l]))
			}
		}
	}
}
