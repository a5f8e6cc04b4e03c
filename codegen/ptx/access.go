package ptx

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/abi"
	"ptoc/codegen/lower"
	"ptoc/ir"
)

// dims and ints are extents and operands as i64.
func (e *fn) dims(ds []ir.Dim) []val {
	out := make([]val, len(ds))
	for i, d := range ds {
		out[i] = e.dim(d)
	}
	return out
}

func (e *fn) ints(vs []*ir.Value) []val {
	out := make([]val, len(vs))
	for i, v := range vs {
		out[i] = e.scalarAs(v, ir.INDEX)
	}
	return out
}

// bounds checks that [off, off+size) lies in [0, dim), whatever the numbers are, where that is not certain. peer
// is that of a remote access, or nil.
func (e *fn) bounds(op *ir.Op, offs []*ir.Value, sizes, dims []ir.Dim, peer val) {
	for i := range dims {
		if e.checks.Within(ir.DimOf(offs[i]), sizes[i], dims[i]) {
			continue
		}
		o, s, d := e.scalarAs(offs[i], ir.INDEX), e.dim(sizes[i]), e.dim(dims[i])
		code, args := abi.LocalBounds, []val{i64(int64(i)), o, s, d}
		if peer != nil {
			code, args = abi.RemoteBounds, append(args, peer)
		}
		bad := e.b.NewOr(e.icmp(enum.IPredSLT, o, i64(0)), e.icmp(enum.IPredSLT, s, i64(0)))
		bad = e.b.NewOr(bad, e.icmp(enum.IPredSGT, s, d))
		bad = e.b.NewOr(bad, e.icmp(enum.IPredSGT, o, e.sub(d, s)))
		e.check(op, bad, code, args...)
	}
}

// element is the address at offs.
func (e *fn) element(m *memory, offs []val) val {
	off := i64(0)
	for i, o := range offs {
		off = e.add(off, e.mul(o, e.dim(m.Strides[i])))
	}
	return e.byteAt(m, e.mul(off, i64(int64(m.dt.Size()))))
}

// rectangle is part of m.
func (e *fn) rectangle(m *memory, offs []val, dims []ir.Dim) *memory {
	return &memory{ptr: e.element(m, offs), dom: m.dom, Layout: lower.Layout{Dims: dims, Strides: m.Strides}, dt: m.dt, root: m.root, lo: m.lo, hi: m.hi}
}

// peer checks that a peer is a rank of m's domain.
func (e *fn) peer(op *ir.Op, m *memory, v *ir.Value) val {
	p, n := e.scalarAs(v, ir.INDEX), m.dom.nranks
	if !e.checks.Peer(op, v) {
		e.check(op, e.icmp(enum.IPredUGE, p, n), abi.BadPeer, p, n)
	}
	return p
}

// remote is m on a peer: windows stand at the same distance from each rank's base.
func (e *fn) remote(m *memory, peer val) *memory {
	r := *m
	distance := e.sub(e.b.NewPtrToInt(m.ptr, types.I64), e.b.NewPtrToInt(m.dom.own, types.I64))
	r.ptr = e.offset(e.windowOf(m.dom, peer), distance)
	return &r
}

// view emits slices, reshapes and peer views of memory, and the copies that these are of tiles.
func (e *fn) view(op *ir.Op) {
	v := op.Result()
	_, tile := v.Type.(*ir.Tile)
	switch {
	case op.Kind == ir.Peer:
		m := e.data(op.Val("target"))
		e.mems[v] = e.remote(m, e.peer(op, m, op.Val("peer")))
	case op.Kind == ir.Slice:
		m := e.data(op.Val("x"))
		shape := ir.DimsOf(op.Vals("shape"))
		e.bounds(op, op.Vals("offsets"), shape, m.Dims, nil)
		r := e.rectangle(m, e.ints(op.Vals("offsets")), shape)
		drop := op.Int("drop_dims")
		r.Dims, r.Strides = r.Dims[drop:], r.Strides[drop:]
		if tile {
			e.copy(op, r, e.declareTile(v), false)
			return
		}
		e.mems[v] = r
	default:
		m := e.data(op.Val("x"))
		m.NeedContiguous(op, "pl.reshape")
		dims := ir.ShapeOf(v.Type)
		e.mems[v] = &memory{ptr: m.ptr, dom: m.dom, Layout: lower.RowMajor(dims), dt: m.dt, root: m.root, lo: m.lo, hi: m.hi}
	}
}

// create emits pl.create_tensor: zeroed scratch.
func (e *fn) create(op *ir.Op) {
	e.checkSizes(op)
	m := e.created(op.Result(), e.arena, e.base, arenaRoot)
	e.mems[op.Result()] = m
	zero := e.zero(m.dt)
	e.spread(&nest{op: op, shape: m.Dims, outs: []*memory{m}, body: func([]val, val) []val { return []val{zero} }})
}

// created is where a created tensor lies in scratch memory.
func (e *fn) created(v *ir.Value, scratch, base val, root string) *memory {
	t := v.Type.(*ir.Tensor)
	m := &memory{ptr: e.placeIn(scratch, base, v), Layout: lower.RowMajor(t.Dims), dt: t.DType, root: root}
	m.lo, m.hi = e.bytesOf(base, v, t.Dims)
	return m
}

func (e *fn) checkSizes(op *ir.Op) {
	for _, d := range ir.ShapeOf(op.Result().Type) {
		if !e.checks.Nonneg(d) {
			x := e.dim(d)
			e.check(op, e.icmp(enum.IPredSLT, x, i64(0)), abi.BadValue, x, i64(0), i64(1<<63-1))
		}
	}
}

// read emits pl.read. What other ranks may be writing meanwhile, signals, only one thread reads: all
// threads must get the same value.
func (e *fn) read(op *ir.Op) {
	m := e.data(op.Val("x"))
	p := e.checkedElement(op, m)
	e.touch([]*memory{m}, nil)
	if m.dom != nil && m.dt == ir.INT32 {
		e.vals[op.Result()] = e.broadcast(types.I32, func() val {
			return e.asm(types.I32, "ld.relaxed.sys.global.u32 $0, [$1];", "=r,l", p)
		})
		return
	}
	e.vals[op.Result()] = e.loadElem(p, m.dt)
}

func (e *fn) write(op *ir.Op) {
	m := e.data(op.Val("tensor"))
	p := e.checkedElement(op, m)
	x := e.scalarAs(op.Val("value"), m.dt)
	e.touch(nil, []*memory{m})
	e.firstThread(func() { e.storeElem(x, p, m.dt) })
}

func (e *fn) checkedElement(op *ir.Op, m *memory) val {
	idx := op.Vals("indices")
	ones := make([]ir.Dim, len(idx))
	for i := range ones {
		ones[i] = ir.ConstDim(1)
	}
	e.bounds(op, idx, ones, m.Dims, nil)
	return e.element(m, e.ints(idx))
}

// access emits loads and stores that are not fused, and put and get.
func (e *fn) loadTile(op *ir.Op, mem string) {
	m, peer := e.local(op, mem)
	dims := ir.ShapeOf(op.Result().Type)
	e.bounds(op, op.Vals("offsets"), dims, m.Dims, peer)
	e.copy(op, e.rectangle(m, e.ints(op.Vals("offsets")), dims), e.declareTile(op.Result()), false)
}

func (e *fn) storeTile(op *ir.Op, mem string) {
	m, peer := e.local(op, mem)
	t := e.data(op.Val("tile"))
	dims := lower.AlignRight(t.Dims, len(m.Dims))
	e.bounds(op, op.Vals("offsets"), dims, m.Dims, peer)
	e.copy(op, t, e.rectangle(m, e.ints(op.Vals("offsets")), dims), op.Enum("atomic").Is("Add"))
}

// local is the memory of an op, at its peer if it has one.
func (e *fn) local(op *ir.Op, mem string) (*memory, val) {
	m := e.data(op.Val(mem))
	if op.Kind.ParamIndex("peer") < 0 {
		return m, nil
	}
	p := e.peer(op, m, op.Val("peer"))
	return e.remote(m, p), p
}

// copy spreads a copy, or an atomic addition, over the threads.
func (e *fn) copy(op *ir.Op, from, to *memory, atomic bool) {
	e.spread(&nest{op: op, shape: to.Dims, ins: []*memory{from}, outs: []*memory{to}, atomic: atomic})
}

func (e *fn) concat(op *ir.Op) {
	a, b := e.data(op.Val("a")), e.data(op.Val("b"))
	out := e.declareTile(op.Result())
	k := op.Axis("axis", len(a.Dims))
	part := *out
	part.Dims = a.Dims
	e.copy(op, a, &part, false)
	offs := make([]val, len(a.Dims))
	for i := range offs {
		offs[i] = i64(0)
	}
	offs[k] = e.dim(a.Dims[k])
	e.copy(op, b, e.rectangle(out, offs, b.Dims), false)
}

func (e *fn) fillpad(op *ir.Op) {
	x, out := e.data(op.Val("x")), e.declareTile(op.Result())
	value := e.zero(out.dt)
	if v := op.Val("value"); v != nil {
		value = e.scalarAs(v, out.dt)
	}
	e.spread(&nest{op: op, shape: out.Dims, outs: []*memory{out}, body: func([]val, val) []val { return []val{value} }})
	part := *out
	part.Dims = x.Dims
	e.copy(op, x, &part, false)
}

func (e *fn) transpose(op *ir.Op) {
	x, out := e.data(op.Val("x")), e.declareTile(op.Result())
	m := *x
	m.Layout = x.Swapped(op.Axis("axis1", len(x.Dims)), op.Axis("axis2", len(x.Dims)))
	e.copy(op, &m, out, false)
}

func (e *fn) arange(op *ir.Op) {
	out := e.declareTile(op.Result())
	start := e.scalarAs(op.Val("start"), ir.INDEX)
	e.spread(&nest{op: op, shape: out.Dims, outs: []*memory{out}, index: true, body: func(_ []val, col val) []val {
		return []val{e.convert(e.add(start, col), ir.INDEX, out.dt)}
	}})
}
