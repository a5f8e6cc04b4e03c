package cpp

import (
	"ptoc/codegen/lower"
	"ptoc/ir"
)

// elementwise prints an elementwise op on tiles as a nest of its own.
func (e *fn) elementwise(op *ir.Op) {
	v := op.Result()
	out := e.declareTile(v)
	n := &nest{op: op, shape: ir.ShapeOf(v.Type), outs: []*memory{out}}
	vals := op.Operands()
	if op.Kind == ir.Expand {
		vals = vals[:1]
	}
	place := map[int]int{} // operand -> in
	for i, x := range vals {
		if _, ok := x.Type.(*ir.Tile); ok {
			place[i] = len(n.ins)
			n.ins = append(n.ins, e.tile(x))
		}
	}
	n.body = func(ins []string) []string {
		args := make([]string, len(vals))
		for i, x := range vals {
			if k, ok := place[i]; ok {
				args[i] = ins[k]
			} else {
				args[i] = e.scalar(x)
			}
		}
		return []string{e.compute(op, args)}
	}
	e.nest(n)
}

// copyNest copies ins[0] to outs[0].
func (e *fn) copyNest(op *ir.Op, from, to *memory, stream, atomic bool) {
	n := &nest{op: op, shape: to.Dims, ins: []*memory{from}, outs: []*memory{to}, atomic: atomic, copies: true}
	if stream {
		n.stream = 1
	}
	n.body = func(ins []string) []string { return ins }
	e.nest(n)
}

// full prints pl.full.
func (e *fn) full(op *ir.Op) {
	v := op.Result()
	out := e.declareTile(v)
	x := e.scalarAs(op.Val("value"), out.dt)
	e.nest(&nest{op: op, shape: out.Dims, outs: []*memory{out}, body: func([]string) []string { return []string{x} }})
}

// arange prints pl.arange: start + column.
func (e *fn) arange(op *ir.Op) {
	out := e.declareTile(op.Result())
	start := e.scalarAs(op.Val("start"), ir.INDEX)
	e.nest(&nest{op: op, shape: out.Dims, outs: []*memory{out}, index: true, body: func([]string) []string {
		return []string{e.convert("("+start+" + col)", ir.INDEX, out.dt)}
	}})
}

// load and store print the unfused forms; remote ones address the peer's copy.
func (e *fn) load(op *ir.Op, mem string) {
	m := e.data(op.Val(mem))
	peer := ""
	if op.Kind == ir.RemoteLoad {
		peer = e.peer(op, m, op.Val("peer"))
		m = e.remote(m, peer)
	}
	dims := ir.ShapeOf(op.Result().Type)
	offs := e.ofVals(op.Vals("offsets"))
	e.bounds(op, offs, e.ofDims(dims), e.ofDims(m.Dims), peer)
	out := e.declareTile(op.Result())
	r := e.rectangle(m, offs, dims)
	e.copyNest(op, r, out, false, false)
}

func (e *fn) store(op *ir.Op, mem string) {
	m := e.data(op.Val(mem))
	peer := ""
	if op.Kind == ir.RemoteStore {
		peer = e.peer(op, m, op.Val("peer"))
		m = e.remote(m, peer)
	}
	t := e.tile(op.Val("tile"))
	dims := lower.AlignRight(t.Dims, len(m.Dims))
	offs := e.ofVals(op.Vals("offsets"))
	e.bounds(op, offs, e.ofDims(dims), e.ofDims(m.Dims), peer)
	e.copyNest(op, t, e.rectangle(m, offs, dims), op.Bool("stream"), op.Enum("atomic").Is("Add"))
}

// fused prints pl.fused.
func (e *fn) fused(op *ir.Op) {
	region := op.Regions[0]
	if op.Arg("cap").Given() {
		e.checkExtents(op, ir.DimsOf(op.Vals("shape")), ir.DimsOf(op.Vals("cap")))
	}
	if e.inRegs(op) {
		e.fusedRegs(op)
		return
	}
	n := &nest{op: op, shape: ir.DimsOf(op.Vals("shape"))}
	if op.Bool("stream") {
		n.stream = len(op.Vals("outs"))
	}
	n.copies = len(region.Ops) == 1 && len(region.Args) == 1 && len(op.Results) == 0 && region.Terminator().Vals("values")[0] == region.Args[0]
	for i, v := range op.Vals("ins") {
		n.ins = append(n.ins, e.data(v))
		n.names = append(n.names, e.name(region.Args[i]))
	}
	for _, v := range op.Vals("outs") {
		n.outs = append(n.outs, e.data(v))
	}
	for _, v := range op.Results {
		n.outs = append(n.outs, e.declareTile(v))
	}
	n.body = func([]string) []string { return e.scalarBody(region) }
	e.nest(n)
}

// scalarBody prints the ops of a fused body and returns what it yields.
func (e *fn) scalarBody(region *ir.Block) []string {
	var out []string
	for _, op := range region.Ops {
		if op.Kind == ir.Yield {
			for _, v := range op.Vals("values") {
				out = append(out, e.scalar(v))
			}
			return out
		}
		e.scalarOp(op)
	}
	return out
}

// scalarOp prints an elementwise op on scalars.
func (e *fn) scalarOp(op *ir.Op) {
	var args []string
	for _, v := range op.Operands() {
		args = append(args, e.scalar(v))
	}
	e.define(op.Result(), e.compute(op, args))
}

// sliceTile copies a rectangle of a tile.
func (e *fn) sliceTile(op *ir.Op) {
	m := e.tile(op.Val("x"))
	offs := e.ofVals(op.Vals("offsets"))
	shape := ir.DimsOf(op.Vals("shape"))
	e.bounds(op, offs, e.ofDims(shape), e.ofDims(m.Dims), "")
	out := e.declareTile(op.Result())
	r := e.rectangle(m, offs, shape)
	drop := op.Int("drop_dims")
	r.Dims, r.Strides = r.Dims[drop:], r.Strides[drop:]
	e.copyNest(op, r, out, false, false)
}

// concat copies both operands into place.
func (e *fn) concat(op *ir.Op) {
	a, b := e.tile(op.Val("a")), e.tile(op.Val("b"))
	out := e.declareTile(op.Result())
	k := op.Axis("axis", len(a.Dims))
	e.copyNest(op, a, &memory{ptr: out.ptr, Layout: lower.Layout{Dims: a.Dims, Strides: out.Strides}, dt: out.dt}, false, false)
	offs := zeros(len(a.Dims))
	offs[k] = e.ofDim(a.Dims[k])
	e.copyNest(op, b, e.rectangle(out, offs, b.Dims), false, false)
}

// fillpad fills the storage shape and copies the valid part over it.
func (e *fn) fillpad(op *ir.Op) {
	x := e.tile(op.Val("x"))
	out := e.declareTile(op.Result())
	value := "0"
	if v := op.Val("value"); v != nil {
		value = e.scalarAs(v, out.dt)
	} else if out.dt.IsFloat() {
		value = "0.0f"
	}
	e.nest(&nest{op: op, shape: out.Dims, outs: []*memory{out}, body: func([]string) []string { return []string{value} }})
	e.copyNest(op, x, &memory{ptr: out.ptr, Layout: lower.Layout{Dims: x.Dims, Strides: out.Strides}, dt: out.dt}, false, false)
}

// transpose swaps two axes; the writes are contiguous, the reads go in blocks of rows.
func (e *fn) transpose(op *ir.Op) {
	x := e.tile(op.Val("x"))
	out := e.declareTile(op.Result())
	r := len(x.Dims)
	i, j := op.Axis("axis1", r), op.Axis("axis2", r)
	m := &memory{Layout: x.Swapped(i, j), ptr: x.ptr, dt: x.dt}
	if i == j || r < 2 || max(i, j) != r-1 || min(i, j) != r-2 {
		e.copyNest(op, m, out, false, false)
		return
	}
	rows, cols := x.Dims[r-2], x.Dims[r-1]
	e.w.open("for (i64 i0 = 0; i0 < %s; ++i0) {", e.bareDim(ir.Product(x.Dims[:r-2])))
	size := e.dim(rows.Mul(cols))
	e.w.line("%s(%s + i0 * %s, %s + i0 * %s, %s, %s);", e.g.use("ptoc_transpose"), out.ptr, size, x.ptr, size, e.dim(rows), e.dim(cols))
	e.w.close("}")
}

// moveTile copies a whole tile between buffers.
func (e *fn) moveTile(dst, src *memory) {
	bytes := ir.Product(dst.Dims).Scale(int64(dst.dt.Size()))
	e.w.line("__builtin_memcpy(%s, %s, %s);", dst.ptr, src.ptr, e.bareDim(bytes))
}
