package verify

import (
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
		set(r.filled(fr, op, func(int64) term.T { return r.term(r.get(fr, op.Val("value"))) }))
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
	if !r.values {
		return t
	}
	n := product(t.dims)
	r.step(int(n))
	t.data = make([]term.T, n)
	cols := int64(1)
	if len(t.dims) > 0 {
		cols = max(t.dims[len(t.dims)-1], 1)
	}
	for i := range t.data {
		t.data[i] = at(int64(i) % cols)
	}
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
	out := &tile{dims: dims, cap: dims}
	if !r.values {
		r.step(1)
		return out
	}
	n := product(dims)
	r.step(int(n) * len(vals))
	args := make([]term.T, len(vals))
	strides := make([][]int64, len(vals))
	for i, v := range vals {
		strides[i] = make([]int64, len(dims))
		if v.tile != nil {
			strides[i] = stretched(v.tile, dims)
		} else {
			args[i] = r.term(v)
		}
	}
	name := elementOp(op)
	out.data = make([]term.T, 0, n)
	each(dims, strides, func(at []int64) {
		for i, v := range vals {
			if v.tile != nil {
				args[i] = v.tile.data[at[i]]
			}
		}
		out.data = append(out.data, r.space.Apply(name, args...))
	})
	return out
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
	out.data = make([]term.T, product(dims))
	strides := rowMajor(dims)
	place := func(t *tile, base int64) {
		i := 0
		each(t.dims, [][]int64{strides}, func(at []int64) {
			out.data[base+at[0]] = t.data[i]
			i++
		})
	}
	r.step(len(out.data))
	place(a, 0)
	place(b, a.dims[k]*strides[k])
	return out
}

func (r *run) fillPad(fr *frame, op *ir.Op, t *tile) *tile {
	out := &tile{dims: t.cap, cap: t.cap}
	if !r.values {
		return out
	}
	fill := term.T(0)
	if v := op.Val("value"); v != nil {
		fill = r.term(r.get(fr, v))
	}
	out.data = make([]term.T, product(t.cap))
	r.step(len(out.data))
	for i := range out.data {
		out.data[i] = fill
	}
	i := 0
	each(t.dims, [][]int64{rowMajor(t.cap)}, func(at []int64) {
		out.data[at[0]] = t.data[i]
		i++
	})
	return out
}

// reduce is sum, prod, amax and amin along an axis.
func (r *run) reduce(op *ir.Op, t *tile) *tile {
	k := op.Axis("axis", len(t.dims))
	outer := append(append([]int64(nil), t.dims[:k]...), t.dims[k+1:]...)
	dims := outer
	if op.Bool("keepdims") {
		dims = append(append(append([]int64(nil), t.dims[:k]...), 1), t.dims[k+1:]...)
	}
	out := &tile{dims: dims, cap: dims}
	if !r.values {
		return out
	}
	r.step(len(t.data))
	own := rowMajor(t.dims)
	strides := append(append([]int64(nil), own[:k]...), own[k+1:]...)
	column := make([]term.T, t.dims[k])
	each(outer, [][]int64{strides}, func(at []int64) {
		for i := range column {
			column[i] = t.data[at[0]+int64(i)*own[k]]
		}
		out.data = append(out.data, r.fold(op.Kind, column))
	})
	return out
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
	dims := append(append([]int64(nil), a.dims[:n-2]...), m, p)
	out := &tile{dims: dims, cap: dims}
	if !r.values {
		return out
	}
	r.step(int(product(dims) * k))
	products := make([]term.T, k, k+1)
	box := append(append([]int64(nil), a.dims[:n-2]...), m, p)
	i := 0
	each(box, [][]int64{append(append([]int64(nil), sa[:n-2]...), aRow, 0), append(append([]int64(nil), sb[:n-2]...), 0, bCol)}, func(at []int64) {
		for j := range k {
			products[j] = r.space.Mul(a.data[at[0]+j*aCol], b.data[at[1]+j*bRow])
		}
		terms := products
		if acc != nil {
			terms = append(terms, acc.data[i])
		}
		out.data = append(out.data, r.space.Sum(terms))
		i++
	})
	return out
}

// fused is pl.fused: a scalar body at every index of a shape. What it reads of memory and what it
// writes there are whole views.
func (r *run) fused(fr *frame, op *ir.Op) {
	dims := r.ints(fr, op, "shape")
	body := op.Regions[0]
	ins := make([]*tile, 0, len(op.Vals("ins")))
	for _, v := range op.Vals("ins") {
		ins = append(ins, r.fusedIn(fr, op, v))
	}
	yields := body.Terminator().Vals("values")
	outs := op.Vals("outs")
	results := make([]*tile, len(yields))
	for i := range results {
		results[i] = &tile{dims: dims, cap: dims}
	}
	if r.values {
		r.fusedLoop(fr, body, ins, dims, yields, results)
	}
	for i, v := range outs {
		m := r.get(fr, v).mem
		if x, ok := r.rectangle(fr, op, m, make([]int64, len(m.dims)), dims); ok {
			r.write(fr, op, x, results[i].data, false)
		}
	}
	for i, res := range op.Results {
		fr.vals[res.ID] = value{tile: results[len(outs)+i]}
	}
}

func (r *run) fusedIn(fr *frame, op *ir.Op, v *ir.Value) *tile {
	x := r.get(fr, v)
	if x.tile != nil {
		return x.tile
	}
	if x.mem == nil {
		return &tile{data: []term.T{r.term(x)}}
	}
	t := &tile{dims: x.mem.dims, cap: x.mem.dims}
	q, ok := r.rectangle(fr, op, x.mem, make([]int64, len(x.mem.dims)), x.mem.dims)
	if !ok {
		t.data = r.blank(t.dims)
		return t
	}
	t.data = r.read(fr, op, q)
	return t
}

func (r *run) fusedLoop(fr *frame, body *ir.Block, ins []*tile, dims []int64, yields []*ir.Value, results []*tile) {
	strides := make([][]int64, len(ins))
	for i, t := range ins {
		strides[i] = stretched(t, dims)
	}
	r.step(int(product(dims)) * (len(body.Ops) + len(ins)))
	each(dims, strides, func(at []int64) {
		for i, t := range ins {
			arg := body.Args[i]
			fr.vals[arg.ID] = r.scalar(t.data[at[i]], ir.DTypeOf(arg.Type), nil)
		}
		for _, o := range body.Ops {
			if !o.Kind.Terminator {
				r.scalarOp(fr, o)
			}
		}
		for i, y := range yields {
			results[i].data = append(results[i].data, r.term(r.get(fr, y)))
		}
	})
}
