package passes

import "ptoc/ir"

// padSignalWindows gives every signal cell a cache line of its own where nothing can see the difference.
//
// Before:                                             After:
//
//	s_buf = alloc_window_buffer([n, 1], INT32)          s_buf = alloc_window_buffer([n, 16], INT32)
//	s = window(s_buf, [n, 1], INT32)                    s = window(s_buf, [n, 16], INT32)
//	chip(x, s, device=r)                                chip(x, s, device=r)
//	def chip(x, s: DistributedTensor[[NR, 1], INT32])   def chip(x, s: DistributedTensor[[NR, 16], INT32])
//
// Cells that share a line make every notify invalidate what all other waiters of that line are reading.
// A window [n, 1] of INT32 is widened to [n, 16] in its allocation, its view and every parameter that
// receives it, if all of these are used for nothing but notify and wait on cells [.., 0], get_comm_ctx and
// being handed on: the cells keep their indices. If the content is read, stored, sliced or reshaped anywhere, or the
// allocation has other views, everything connected with it stays as it is. Idempotent.
func padSignalWindows(m *ir.Module, c *Context) {
	p := &padding{node: map[*ir.Value]*padNode{}}
	for _, f := range m.Funcs {
		p.function(f)
	}
	for v, n := range p.node {
		if root := n.root(); root.window && !root.plain {
			widen(v)
		}
	}
	for _, f := range m.Funcs {
		if err := ir.Retype(f); err != nil {
			panic(err)
		}
	}
}

// cellsPerLine is how many INT32 cells one cache line of 64 bytes holds.
const cellsPerLine = 16

// A padNode is a value of signal shape; values connected by calls are one group.
type padNode struct {
	parent *padNode
	plain  bool // something sees the layout
	window bool // the group has a pld.window
}

func (n *padNode) root() *padNode {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

type padding struct{ node map[*ir.Value]*padNode }

// of is v's node; nil if v does not look like a signal.
func (p *padding) of(v *ir.Value) *padNode {
	t, ok := v.Type.(*ir.Tensor)
	if !ok || !t.Window || t.DType != ir.INT32 || len(t.Dims) != 2 || !t.Dims[1].Is(1) {
		return nil
	}
	if p.node[v] == nil {
		p.node[v] = &padNode{}
	}
	return p.node[v]
}

func (p *padding) unite(a, b *padNode) {
	a, b = a.root(), b.root()
	if a != b {
		b.parent = a
		a.plain, a.window = a.plain || b.plain, a.window || b.window
	}
}

// function looks at everything that f does with values of signal shape.
func (p *padding) function(f *ir.Func) {
	for _, v := range f.Params() {
		if n := p.of(v); n != nil && (f.Kind == ir.Host || f.Kind == ir.Inline) {
			n.root().plain = true // comes from outside
		}
	}
	f.Walk(func(op *ir.Op) {
		if op.Kind == ir.Window {
			if n := p.of(op.Result()); n != nil {
				n.root().window = true
				n.root().plain = n.root().plain || !ownsAllocation(f, op)
			}
		}
		for i, a := range op.Args {
			for j, v := range a.Vals {
				p.use(op, op.Kind.Params[i].Name, j, v)
			}
		}
	})
}

// use looks at one operand.
func (p *padding) use(op *ir.Op, param string, index int, v *ir.Value) {
	n := p.of(v)
	switch {
	case op.Kind == ir.Call && param == "args":
		q := p.of(op.Callee().Params()[index])
		switch {
		case n != nil && q != nil:
			p.unite(n, q)
		case n != nil:
			n.root().plain = true // handed to a parameter of another shape, such as [S, W]
		case q != nil:
			q.root().plain = true
		}
	case n == nil:
	case (op.Kind == ir.Notify || op.Kind == ir.Wait) && firstColumn(op):
	case op.Kind == ir.GetCommCtx || op.Kind == ir.Return:
	default:
		n.root().plain = true
	}
}

// firstColumn reports whether a notify or wait names a cell [.., 0]: any other is out of range, and must stay so.
func firstColumn(op *ir.Op) bool {
	at := op.Vals("offsets")
	column, ok := at[len(at)-1].ConstInt()
	return ok && column == 0
}

// ownsAllocation reports whether window is the only view of its allocation, and views all of it.
func ownsAllocation(f *ir.Func, window *ir.Op) bool {
	buf := window.Val("buffer")
	views := 0
	f.Walk(func(op *ir.Op) {
		if op.Kind == ir.Window && op.Val("buffer") == buf {
			views++
		}
	})
	want := window.Result().Type.(*ir.Tensor).Bytes()
	return views == 1 && buf.Def != nil && buf.Type.(*ir.Buffer).Bytes.Equal(want)
}

// widen changes the last extent of a parameter's type, or of a window and its allocation.
func widen(v *ir.Value) {
	if v.Def == nil {
		t := v.Type.(*ir.Tensor)
		v.Type = &ir.Tensor{Dims: []ir.Dim{t.Dims[0], ir.ConstDim(cellsPerLine)}, DType: t.DType, Window: true}
		return
	}
	rows := v.Def.Vals("shape")[0]
	shape := []*ir.Value{rows, ir.Index(cellsPerLine)}
	v.Def.Set("shape", shape...)
	v.Def.Val("buffer").Def.Set("shape", shape...).SetAttr("dtype", ir.INT32)
}
