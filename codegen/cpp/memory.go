package cpp

import (
	"fmt"
	"strings"

	"ptoc/codegen/lower"
	"ptoc/ir"
)

// extent is an offset, extent or size: the C++ text and, for proofs, the dim.
type extent struct {
	text string
	dim  ir.Dim
}

func (e *fn) ofDim(d ir.Dim) extent { return extent{e.dim(d), d} }
func (e *fn) ofDims(ds []ir.Dim) []extent {
	out := make([]extent, len(ds))
	for i, d := range ds {
		out[i] = e.ofDim(d)
	}
	return out
}

// ofVals are integer operands: their variables, not what they were computed from.
func (e *fn) ofVals(vs []*ir.Value) []extent {
	out := make([]extent, len(vs))
	for i, v := range vs {
		out[i] = extent{e.scalarAs(v, ir.INDEX), ir.DimOf(v)}
		if v.Const != nil {
			out[i].text = e.dim(v.Const.Dim)
		}
	}
	return out
}

func zeros(n int) []extent {
	out := make([]extent, n)
	for i := range out {
		out[i].text = "0"
	}
	return out
}

// bounds prints the checks that offset + size stays within dims, where that is not certain. peer is
// the peer's expression of a remote access.
func (e *fn) bounds(op *ir.Op, offs, sizes, dims []extent, peer string) {
	for i := range dims {
		o, s, d := offs[i], sizes[i], dims[i]
		if e.checks.Within(o.dim, s.dim, d.dim) {
			continue
		}
		code, last := "PTOC_LOCAL_BOUNDS", ""
		if peer != "" {
			code, last = "PTOC_REMOTE_BOUNDS", ", "+peer
		}
		e.w.line("if (%s(%s, %s, %s)) return ptoc_fail(ctx, %s, %d, %d, %s, %s, %s%s);", e.g.use("ptoc_outside"),
			o.text, s.text, d.text, code, e.site(op), i, o.text, s.text, d.text, last)
	}
}

// offset is the expression of offs within memory of these strides; "" for the first element.
func (e *fn) offset(offs []extent, strides []ir.Dim) string {
	var parts []string
	for i, o := range offs {
		switch {
		case o.text == "0":
		case strides[i].Is(1):
			parts = append(parts, o.text)
		default:
			parts = append(parts, o.text+" * "+e.dim(strides[i]))
		}
	}
	return strings.Join(parts, " + ")
}

// at is the pointer to the element at offs.
func (e *fn) at(m *memory, offs []extent) string {
	if off := e.offset(offs, m.Strides); off != "" {
		return m.ptr + " + " + off
	}
	return m.ptr
}

// rectangle is the memory of a rectangle of m.
func (e *fn) rectangle(m *memory, offs []extent, dims []ir.Dim) *memory {
	return &memory{ptr: e.at(m, offs), dom: m.dom, peer: m.peer, Layout: lower.Layout{Dims: dims, Strides: m.Strides}, dt: m.dt}
}

// view binds a view to a pointer variable.
func (e *fn) view(v *ir.Value, m *memory) {
	n := e.name(v)
	e.w.line("%s* %s = %s;", memType(m.dt), n, m.ptr)
	e.mems[v] = &memory{ptr: n, dom: m.dom, peer: m.peer, Layout: lower.Layout{Dims: m.Dims, Strides: m.Strides}, dt: m.dt}
}

// slice prints pl.slice of memory.
func (e *fn) slice(op *ir.Op) {
	m := e.data(op.Val("x"))
	offs, shape := e.ofVals(op.Vals("offsets")), e.ofVals(op.Vals("shape"))
	e.bounds(op, offs, shape, e.ofDims(m.Dims), m.peer)
	drop := op.Int("drop_dims")
	r := e.rectangle(m, offs, ir.DimsOf(op.Vals("shape")))
	r.Dims, r.Strides = r.Dims[drop:], r.Strides[drop:]
	e.view(op.Result(), r)
}

// reshape prints pl.reshape of memory, which must be contiguous. A tile's reshape is the same buffer.
func (e *fn) reshape(op *ir.Op) {
	m := e.data(op.Val("x"))
	m.NeedContiguous(op, "pl.reshape")
	dims := ir.ShapeOf(op.Result().Type)
	e.view(op.Result(), &memory{ptr: m.ptr, dom: m.dom, peer: m.peer, Layout: lower.RowMajor(dims), dt: m.dt})
}

// peerView prints the address of a peer's copy.
func (e *fn) peerView(op *ir.Op) {
	m := e.data(op.Val("target"))
	peer := e.peer(op, m, op.Val("peer"))
	e.view(op.Result(), e.remote(m, peer))
}

// peer checks that a peer is a rank of m's domain and returns its expression.
func (e *fn) peer(op *ir.Op, m *memory, v *ir.Value) string {
	p := e.scalarAs(v, ir.INDEX)
	if e.checks.Peer(op, v) {
		return p
	}
	e.w.line("if ((u64)%s >= (u64)%s->nranks) return ptoc_fail(ctx, PTOC_BAD_PEER, %d, %s, %s->nranks);", p, m.dom, e.site(op), p, m.dom)
	return p
}

// remote is m on a peer: windows stand at the same distance from each rank's base.
func (e *fn) remote(m *memory, peer string) *memory {
	t := memType(m.dt)
	ptr := fmt.Sprintf("(%s*)(%s->base[%s] + ((u8*)%s - %s->base[%s->rank]))", t, m.dom, peer, paren(m.ptr), m.dom, m.dom)
	return &memory{ptr: ptr, dom: m.dom, peer: peer, Layout: lower.Layout{Dims: m.Dims, Strides: m.Strides}, dt: m.dt}
}

func paren(s string) string {
	if strings.ContainsAny(s, " ") {
		return "(" + s + ")"
	}
	return s
}

// create prints pl.create_tensor: zeroed arena memory.
func (e *fn) create(op *ir.Op) {
	v := op.Result()
	t := v.Type.(*ir.Tensor)
	m := &memory{ptr: e.name(v), Layout: lower.RowMajor(t.Dims), dt: t.DType}
	e.mems[v] = m
	for _, d := range t.Dims {
		if !e.nonneg(d) {
			x := e.dim(d)
			e.w.line("if (%s < 0) return ptoc_fail(ctx, PTOC_BAD_VALUE, %d, %s, 0, 0x7fffffffffffffffLL);", x, e.site(op), x)
		}
	}
	e.w.line("%s* %s = (%s*)(arena + %s);", memType(t.DType), m.ptr, memType(t.DType), e.dim(e.arena[v]))
	e.w.line("__builtin_memset(%s, 0, %s);", m.ptr, e.bareDim(t.Bytes()))
}

// element prints the bounds checks of one element and returns its place.
func (e *fn) element(op *ir.Op, m *memory, indices string) string {
	idx := e.ofVals(op.Vals(indices))
	one := make([]extent, len(idx))
	for i := range one {
		one[i] = extent{"1", ir.ConstDim(1)}
	}
	e.bounds(op, idx, one, e.ofDims(m.Dims), "")
	off := e.offset(idx, m.Strides)
	if off == "" {
		off = "0"
	}
	return paren(m.ptr) + "[" + off + "]"
}

func (e *fn) read(op *ir.Op) {
	m := e.data(op.Val("x"))
	e.define(op.Result(), e.loadElem(e.element(op, m, "indices"), m.dt))
}

func (e *fn) write(op *ir.Op) {
	m := e.data(op.Val("tensor"))
	place := e.element(op, m, "indices")
	e.w.line("%s = %s;", place, e.storeElem(e.scalarAs(op.Val("value"), m.dt), m.dt))
}

// define prints the definition of a scalar.
func (e *fn) define(v *ir.Value, expr string) {
	e.w.line("%s %s = %s;", regType(ir.DTypeOf(v.Type)), e.name(v), expr)
	e.remember(v)
}
