package verify

import (
	"slices"

	"ptoc/ir"
	"ptoc/verify/term"
)

// Ops on tiles.

func (r *run) tileOp(fr *frame, op *ir.Op) {
	if len(op.Results) == 0 {
		r.abandon(op.Span, "%s is not followed by the static layers", op.Kind.Name)
	}
	res := op.Result()
	set := func(t *tile) { fr.vals[res.ID] = value{tile: t} }
	operand := func(name string) *tile { return r.get(fr, op.Val(name)).tile }
	switch op.Kind {
	case ir.Full:
		fill := r.term(r.get(fr, op.Val("value")))
		set(r.filled(fr, op, func(int64) term.T { return fill }))
	case ir.Arange:
		start := r.term(r.get(fr, op.Val("start")))
		set(r.filled(fr, op, func(col int64) term.T { return r.space.Add(start, r.space.Const(float64(col)), 1) }))
	case ir.Reshape:
		dims := r.ints(fr, op, "shape")
		set(&tile{dims: dims, cap: dims, data: operand("x").data})
	case ir.Transpose:
		set(r.transpose(op, operand("x")))
	case ir.Concat:
		set(r.concat(op, operand("a"), operand("b")))
	case ir.FillPad:
		set(r.fillPad(fr, op, operand("x")))
	case ir.Sum, ir.Prod, ir.Amax, ir.Amin:
		set(r.reduce(op, operand("x")))
	case ir.MatMul:
		set(r.matmul(op, operand("lhs"), operand("rhs"), nil))
	case ir.MatMulAcc:
		set(r.matmul(op, operand("lhs"), operand("rhs"), operand("acc")))
	case ir.Expand:
		set(r.elementwise(op, r.ints(fr, op, "shape"), r.get(fr, op.Val("x"))))
	default:
		if op.Kind.Map != ir.Elementwise || op.Kind.Scalar == "" {
			r.abandon(op.Span, "%s is not followed by the static layers", op.Kind.Name)
		}
		var vals []value
		for _, v := range op.Operands() {
			vals = append(vals, r.get(fr, v))
		}
		set(r.elementwise(op, broadcast(vals), vals...))
	}
}

func (r *run) filled(fr *frame, op *ir.Op, at func(col int64) term.T) *tile {
	t := &tile{dims: r.ints(fr, op, "shape")}
	t.cap = t.dims
	if op.Arg("valid_shape").Given() {
		t.dims = r.ints(fr, op, "valid_shape")
	}
	cols := int64(1)
	if len(t.dims) > 0 {
		cols = max(t.dims[len(t.dims)-1], 1)
	}
	t.data = r.lazy(product(t.dims), func(i int64) term.T { return at(i % cols) })
	return t
}

// broadcast joins the shapes of tiles by numpy's rules.
func broadcast(vals []value) []int64 {
	var out []int64
	for _, v := range vals {
		if v.tile == nil {
			continue
		}
		d := v.tile.dims
		for len(out) < len(d) {
			out = append([]int64{1}, out...)
		}
		for i := range d {
			if j := len(out) - len(d) + i; d[i] != 1 {
				out[j] = d[i]
			}
		}
	}
	return out
}

// stretched are the strides with which a tile is read when it is broadcast to dims.
func stretched(t *tile, dims []int64) []int64 {
	own := rowMajor(t.dims)
	out := make([]int64, len(dims))
	for i := range t.dims {
		if j := len(dims) - len(t.dims) + i; t.dims[i] != 1 {
			out[j] = own[i]
		}
	}
	return out
}

func (r *run) elementwise(op *ir.Op, dims []int64, vals ...value) *tile {
	name := elementOp(op)
	ins := make([]operand, len(vals))
	for i, v := range vals {
		ins[i] = r.operandFor(v, dims)
	}
	return &tile{dims: dims, cap: dims, data: r.lazy(product(dims), func(i int64) term.T {
		args := make([]term.T, len(ins))
		for k := range ins {
			args[k] = ins[k].at(i, dims)
		}
		return r.space.Apply(name, args...)
	})}
}

// operand is a tile or scalar as it is read when it is broadcast to larger dims.
type operand struct {
	data    elems
	strides []int64 // nil: element by element
	scalar  term.T  // where there is no data
}

func (r *run) operandFor(v value, dims []int64) operand {
	switch {
	case !r.values:
		return operand{}
	case v.tile == nil:
		return operand{scalar: r.term(v)}
	case slices.Equal(v.tile.dims, dims):
		return operand{data: v.tile.data}
	}
	return operand{data: v.tile.data, strides: stretched(v.tile, dims)}
}

func (o *operand) at(i int64, dims []int64) term.T {
	switch {
	case o.data == nil:
		return o.scalar
	case o.strides == nil:
		return o.data.at(i)
	}
	return o.data.at(strided(i, dims, o.strides))
}

func (r *run) transpose(op *ir.Op, t *tile) *tile {
	i, j := op.Axis("axis1", len(t.dims)), op.Axis("axis2", len(t.dims))
	dims, strides := append([]int64(nil), t.dims...), rowMajor(t.dims)
	dims[i], dims[j] = dims[j], dims[i]
	strides[i], strides[j] = strides[j], strides[i]
	return r.pick(t, dims, strides, 0, dims)
}

func (r *run) concat(op *ir.Op, a, b *tile) *tile {
	k := op.Axis("axis", len(a.dims))
	dims := append([]int64(nil), a.dims...)
	dims[k] += b.dims[k]
	out := &tile{dims: dims, cap: dims}
	if !r.values {
		return out
	}
	runA, runB := product(a.dims[k:]), product(b.dims[k:])
	r.step(int(product(a.dims[:k])))
	for i := range product(a.dims[:k]) {
		out.data = out.data.cut(a.data, i*runA, runA).cut(b.data, i*runB, runB)
	}
	return out
}

func (r *run) fillPad(fr *frame, op *ir.Op, t *tile) *tile {
	fill := term.T(0)
	if v := op.Val("value"); v != nil {
		fill = r.term(r.get(fr, v))
	}
	strides := rowMajor(t.dims)
	return &tile{dims: t.cap, cap: t.cap, data: r.lazy(product(t.cap), func(i int64) term.T {
		at := int64(0)
		for d := len(t.cap) - 1; d >= 0; d-- {
			k := i % t.cap[d]
			if k >= t.dims[d] {
				return fill
			}
			at += k * strides[d]
			i /= t.cap[d]
		}
		return t.data.at(at)
	})}
}

// reduce is sum, prod, amax and amin along an axis.
func (r *run) reduce(op *ir.Op, t *tile) *tile {
	k := op.Axis("axis", len(t.dims))
	outer := append(append([]int64(nil), t.dims[:k]...), t.dims[k+1:]...)
	dims := outer
	if op.Bool("keepdims") {
		dims = append(append(append([]int64(nil), t.dims[:k]...), 1), t.dims[k+1:]...)
	}
	own := rowMajor(t.dims)
	strides := append(append([]int64(nil), own[:k]...), own[k+1:]...)
	return &tile{dims: dims, cap: dims, data: r.lazy(product(outer), func(i int64) term.T {
		column := make([]term.T, t.dims[k])
		first := strided(i, outer, strides)
		for j := range column {
			column[j] = t.data.at(first + int64(j)*own[k])
		}
		return r.fold(op.Kind, column)
	})}
}

func (r *run) fold(k *ir.Kind, ts []term.T) term.T {
	if k == ir.Sum {
		return r.space.Sum(ts)
	}
	switch k {
	case ir.Amax:
		return r.space.Extreme("max", ts...)
	case ir.Amin:
		return r.space.Extreme("min", ts...)
	}
	acc := r.space.Const(1)
	for _, t := range ts {
		acc = r.space.Mul(acc, t)
	}
	return acc
}

// matmul multiplies over the last two axes; leading ones are a batch.
func (r *run) matmul(op *ir.Op, a, b, acc *tile) *tile {
	n := len(a.dims)
	sa, sb := rowMajor(a.dims), rowMajor(b.dims)
	m, k, aRow, aCol := a.dims[n-2], a.dims[n-1], sa[n-2], sa[n-1]
	if op.Bool("a_trans") {
		m, k, aRow, aCol = k, m, aCol, aRow
	}
	p, bRow, bCol := b.dims[n-1], sb[n-2], sb[n-1]
	if op.Bool("b_trans") {
		p, bRow, bCol = b.dims[n-2], bCol, bRow
	}
	batch := a.dims[:n-2]
	dims := append(append([]int64(nil), batch...), m, p)
	rows := r.vectors(a.data, append(slices.Clone(batch), m), append(slices.Clone(sa[:n-2]), aRow), k, aCol)
	cols := r.vectors(b.data, append(slices.Clone(batch), p), append(slices.Clone(sb[:n-2]), bCol), k, bRow)
	return &tile{dims: dims, cap: dims, data: r.lazy(product(dims), func(i int64) term.T {
		t := r.space.Dot(rows.at(i/p), cols.at(i/p/m*p+i%p))
		if acc != nil {
			t = r.space.Add(t, acc.data.at(i), 1)
		}
		return t
	})}
}

// vectors are the rows or columns of a matrix: dims and strides lead to the first element of each, step to the
// next of its n elements.
func (r *run) vectors(data elems, dims, strides []int64, n, step int64) *origin {
	return &origin{n: product(dims), fn: func(i int64) term.T {
		r.step(int(n))
		first := strided(i, dims, strides)
		v := make([]term.T, n)
		for j := range v {
			v[j] = data.at(first + int64(j)*step)
		}
		return r.space.Vec(v)
	}}
}
