package ptx

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"

	"ptoc/ir"
)

// Tiles that live in registers: small static rows that only fused loops touch, such as the accumulator of a
// loop over peers. Thread t owns the elements t, t + Threads, t + 2 Threads, ...: what one fused loop leaves
// in a thread's registers the next one finds there, without a barrier.

// maxRegTile bounds such a tile: eight registers of each thread.
const maxRegTile = 8 * Threads

// findRegs decides which tiles of f live in registers.
func findRegs(f *ir.Func) map[*ir.Value]bool {
	regs := map[*ir.Value]bool{}
	yields := map[*ir.Op]bool{} // of counting and fused loops
	f.Body.Walk(func(op *ir.Op) {
		if op.Kind != ir.Fused && op.Kind != ir.For {
			return
		}
		if t := op.Regions[0].Terminator(); t != nil {
			yields[t] = true
		}
		for _, v := range append(append([]*ir.Value(nil), op.Results...), op.Regions[0].Args...) {
			if _, tile := v.Type.(*ir.Tile); tile && rowSize(ir.ShapeOf(v.Type)) > 0 {
				regs[v] = true
			}
		}
	})
	for n := -1; n != len(regs); {
		n = len(regs)
		f.Body.Walk(func(op *ir.Op) { dropRegs(op, regs, yields) })
	}
	return regs
}

// rowSize is the last extent of a shape whose others are 1; 0 if registers cannot hold it.
func rowSize(dims []ir.Dim) int64 {
	for i, d := range dims {
		n, ok := d.Const()
		if !ok || i < len(dims)-1 && n != 1 {
			return 0
		}
		if i == len(dims)-1 && n <= maxRegTile {
			return n
		}
	}
	return 0
}

// dropRegs removes tiles that op uses or makes in a way that registers do not serve.
func dropRegs(op *ir.Op, regs map[*ir.Value]bool, yields map[*ir.Op]bool) {
	drop := func(vs ...*ir.Value) {
		for _, v := range vs {
			delete(regs, v)
		}
	}
	switch {
	case op.Kind == ir.Fused:
		if !rowLoop(op) {
			drop(append(append([]*ir.Value(nil), op.Results...), op.Vals("ins")...)...)
		}
		for _, v := range op.Vals("ins") { // one element that all threads read
			if rowSize(ir.ShapeOf(v.Type)) != rowSize(ir.DimsOf(op.Vals("shape"))) {
				drop(v)
			}
		}
	case op.Kind == ir.For:
		body := op.Regions[0]
		t := body.Terminator()
		for i, r := range op.Results { // all of them or none
			same := []*ir.Value{r, body.Args[i+1], op.Vals("init_values")[i], t.Vals("values")[i]}
			for _, v := range same {
				if !regs[v] {
					drop(same...)
				}
			}
		}
	case !yields[op]:
		drop(op.Operands()...)
	}
}

// rowLoop reports whether a fused loop runs over one row, whose operands are rows or single elements.
func rowLoop(op *ir.Op) bool {
	n := rowSize(ir.DimsOf(op.Vals("shape")))
	if n == 0 {
		return false
	}
	for _, v := range append(append([]*ir.Value(nil), op.Vals("ins")...), append(op.Vals("outs"), op.Results...)...) {
		if m := rowSize(ir.ShapeOf(v.Type)); m != n && m != 1 {
			return false
		}
	}
	return true
}

// inRegs reports whether a fused loop touches registers.
func (e *fn) inRegs(op *ir.Op) bool {
	for _, v := range append(append([]*ir.Value(nil), op.Results...), op.Vals("ins")...) {
		if e.inReg[v] {
			return true
		}
	}
	return false
}

// pieces is how many registers of a thread hold a tile.
func pieces(v *ir.Value) int64 {
	return (rowSize(ir.ShapeOf(v.Type)) + Threads - 1) / Threads
}

// fusedRegs emits a fused loop over a row, unrolled.
func (e *fn) fusedRegs(op *ir.Op, n *nest) {
	size := rowSize(n.shape)
	var read, written []*memory
	for _, m := range n.ins {
		if m.ptr != nil {
			read = append(read, m)
		}
	}
	for _, m := range n.outs {
		if m.ptr != nil {
			written = append(written, m)
		}
	}
	e.touch(read, written)
	for j := int64(0); j*Threads < size; j++ {
		i := e.add(e.tid, i64(j*Threads))
		if (j+1)*Threads <= size {
			e.piece(op, n, i, j)
			continue
		}
		e.guarded(op, n, i, j, size)
	}
	e.endSpread(n)
}

// guarded emits the last piece, which not every thread has.
func (e *fn) guarded(op *ir.Op, n *nest, i val, j, size int64) {
	from, in, out := e.b, e.label("piece"), e.label("piece_end")
	from.NewCondBr(e.icmp(enum.IPredSLT, i, i64(size)), in, out)
	e.at(in)
	e.piece(op, n, i, j)
	end := e.b
	end.NewBr(out)
	e.at(out)
	for _, v := range op.Results {
		if e.inReg[v] {
			x := e.regs[v][j]
			e.regs[v][j] = out.NewPhi(incoming(x, end), incoming(constant.NewUndef(x.Type()), from))
		}
	}
}

// piece emits the element of one thread's register j.
func (e *fn) piece(op *ir.Op, n *nest, i val, j int64) {
	place := func(m *memory) val {
		if m.dims[len(m.dims)-1].Is(1) && !n.shape[len(n.shape)-1].Is(1) {
			return m.ptr
		}
		return e.offset(m.ptr, e.mul(i, e.mul(e.dim(m.strides[len(m.strides)-1]), i64(int64(m.dt.Size())))))
	}
	ins := make([]val, len(n.ins))
	for k, v := range op.Vals("ins") {
		if e.inReg[v] {
			ins[k] = e.regs[v][j]
		} else {
			ins[k] = e.loadElem(place(n.ins[k]), n.ins[k].dt)
		}
	}
	outs := len(op.Vals("outs"))
	for k, x := range n.body(ins, nil) {
		if k >= outs && e.inReg[op.Results[k-outs]] {
			v := op.Results[k-outs]
			e.regs[v] = append(e.regs[v], x)
		} else {
			e.storeElem(x, place(n.outs[k]), n.outs[k].dt)
		}
	}
}

// carryRegs prepares the phis of a tile that a loop carries in registers.
func (e *fn) carryRegs(arg, init *ir.Value) []*carried {
	var out []*carried
	for j, x := range e.regs[init] {
		out = append(out, &carried{arg: arg, piece: j, init: x})
	}
	e.regs[arg] = make([]val, len(out))
	return out
}
