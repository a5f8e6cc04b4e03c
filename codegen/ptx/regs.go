package ptx

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/target"
	"ptoc/ir"
)

// Tiles that live in registers: package target says which, and which elements are whose. What one fused loop
// leaves in a thread's registers the next one finds there, without a barrier.

// inRegs reports whether a fused loop touches registers.
func (e *fn) inRegs(op *ir.Op) bool { return e.rowTile(op) != nil }

// rowTile is a tile of a fused loop that lives in registers, or nil; all of them have one shape.
func (e *fn) rowTile(op *ir.Op) *ir.Tile {
	for _, v := range append(append([]*ir.Value(nil), op.Results...), op.Vals("ins")...) {
		if e.Rows[v] {
			return v.Type.(*ir.Tile)
		}
	}
	return nil
}

// rowLoop is a fused loop over a row, unrolled: each thread has some of the elements.
type rowLoop struct {
	op   *ir.Op
	n    *nest
	size ir.Dim
	regs [][]val // what is made, by result
}

// fusedRegs emits a fused loop over a row.
func (e *fn) fusedRegs(op *ir.Op, n *nest) {
	size, _ := target.Row(n.shape)
	l := &rowLoop{op: op, n: n, size: size, regs: make([][]val, len(op.Results))}
	e.touch(placed(n.ins), placed(n.outs))
	registers := target.PerThread(e.rowTile(op))
	if lanes := target.Neighbours(size); lanes > 1 {
		e.wideRow(l, registers/lanes, lanes)
	} else {
		for j := range registers {
			e.piece(l, e.add(e.tid, i64(j*Threads)), j)
		}
	}
	for k, v := range op.Results {
		if e.Rows[v] {
			e.regs[v] = l.regs[k]
		}
	}
	e.endSpread(n)
}

// placed are the operands that lie in memory.
func placed(ms []*memory) []*memory {
	var out []*memory
	for _, m := range ms {
		if m.ptr != nil {
			out = append(out, m)
		}
	}
	return out
}

// piece emits element i, a thread's register j. Only where the row is long enough do all threads have one.
func (e *fn) piece(l *rowLoop, i val, j int64) {
	if n, ok := l.size.Const(); ok && (j+1)*Threads <= n {
		l.keep(e.element1(l, i, j))
		return
	}
	from, in, out := e.b, e.label("piece"), e.label("piece_end")
	from.NewCondBr(e.icmp(enum.IPredSLT, i, e.dim(l.size)), in, out)
	e.at(in)
	made := e.element1(l, i, j)
	end := e.b
	end.NewBr(out)
	e.at(out)
	for k, x := range made {
		if x != nil {
			made[k] = out.NewPhi(incoming(x, end), incoming(constant.NewUndef(x.Type()), from))
		}
	}
	l.keep(made)
}

// keep appends the next register of each result.
func (l *rowLoop) keep(made []val) {
	for k, x := range made {
		if x != nil {
			l.regs[k] = append(l.regs[k], x)
		}
	}
}

// element1 emits one element and returns what stays in registers, by result.
func (e *fn) element1(l *rowLoop, i val, j int64) []val {
	ins, raw := make([]val, len(l.n.ins)), make([]val, len(l.n.ins))
	for k, m := range l.n.ins {
		if m.ptr == nil {
			ins[k] = e.regs[l.op.Vals("ins")[k]][j]
		} else {
			raw[k] = e.load(memType(m.dt), e.rowPlace(l, m, i), int64(m.dt.Size()))
			ins[k] = e.fromMemory(raw[k], m.dt)
		}
	}
	return e.keepOrStore(l, l.n.results(ins, nil), func(k int, x val) {
		m := l.n.outs[k]
		e.store(e.bitsFor(l.n, k, raw, x), e.rowPlace(l, m, i), int64(m.dt.Size()))
	})
}

// bitsFor is what output k, whose value is x, gets in memory. raw are the operands as they are there; nil: they are in
// registers.
func (e *fn) bitsFor(n *nest, k int, raw []val, x val) val {
	dt := n.outs[k].dt
	switch j := n.moved(k); {
	case j >= 0 && raw[j] != nil:
		return raw[j]
	case j >= 0 && dt == ir.BF16: // rounded already; doing so again changes NaNs
		return e.b.NewTrunc(e.b.NewLShr(e.bitsOf(x), i32(16)), types.I16)
	}
	return e.toMemory(x, dt)
}

// keepOrStore stores results that have memory; the others it returns.
func (e *fn) keepOrStore(l *rowLoop, xs []val, store func(k int, x val)) []val {
	made := make([]val, len(l.op.Results))
	for k, x := range xs {
		if l.n.outs[k].ptr != nil {
			store(k, x)
		} else {
			made[k-len(xs)+len(made)] = x
		}
	}
	return made
}

// rowPlace is the address of element i; a single element is everybody's.
func (e *fn) rowPlace(l *rowLoop, m *memory, i val) val {
	if l.single(m) {
		return m.ptr
	}
	return e.offset(m.ptr, e.mul(i, e.mul(e.dim(m.Strides[len(m.Strides)-1]), i64(int64(m.dt.Size())))))
}

func (l *rowLoop) single(m *memory) bool { return m.Dims[len(m.Dims)-1].Is(1) && !l.size.Is(1) }

// wide reports whether m's part of the row can be read and written some elements at a time.
func (l *rowLoop) wide(m *memory) bool {
	return m.ptr != nil && !l.single(m) && m.Strides[len(m.Strides)-1].Is(1)
}

// wideRow emits a loop of which each thread has some runs of neighbouring elements: with one access a run
// where all operands are aligned, which only the running kernel knows, else with one an element.
func (e *fn) wideRow(l *rowLoop, runs, lanes int64) {
	odd := i64(0)
	for _, m := range l.n.operands() {
		if l.wide(m) {
			odd = e.b.NewOr(odd, e.b.NewAnd(e.b.NewPtrToInt(m.ptr, types.I64), i64(lanes*int64(m.dt.Size())-1)))
		}
	}
	emit := func(aligned bool) *rowLoop {
		one := *l
		one.regs = make([][]val, len(l.regs))
		for r := range runs {
			e.run(&one, r, lanes, aligned)
		}
		return &one
	}
	if _, known := intOf(odd); known {
		l.regs = emit(true).regs
		return
	}
	fast, slow, out := e.label("aligned"), e.label("odd"), e.label("row_end")
	e.b.NewCondBr(e.isZero(odd), fast, slow)
	e.at(fast)
	a := emit(true)
	fastEnd := e.b
	e.at(slow)
	b := emit(false)
	slowEnd := e.b
	fastEnd.NewBr(out)
	slowEnd.NewBr(out)
	e.at(out)
	for k := range l.regs {
		for j, x := range a.regs[k] {
			l.regs[k] = append(l.regs[k], out.NewPhi(incoming(x, fastEnd), incoming(b.regs[k][j], slowEnd)))
		}
	}
}

// run emits a thread's r-th run of neighbouring elements.
func (e *fn) run(l *rowLoop, r, lanes int64, aligned bool) {
	first := e.add(e.mul(e.tid, i64(lanes)), i64(r*lanes*Threads))
	align := func(m *memory) int64 {
		if aligned {
			return lanes * int64(m.dt.Size())
		}
		return int64(m.dt.Size())
	}
	vector := func(m *memory) types.Type { return types.NewVector(uint64(lanes), memType(m.dt)) }
	loaded := map[*memory]val{}
	for _, m := range l.n.ins {
		if l.wide(m) {
			loaded[m] = e.load(vector(m), e.rowPlace(l, m, first), align(m))
		}
	}
	stored := map[*memory]val{}
	for lane := range lanes {
		i := e.add(first, i64(lane))
		ins, raw := make([]val, len(l.n.ins)), make([]val, len(l.n.ins))
		for k, m := range l.n.ins {
			switch {
			case m.ptr == nil:
				ins[k] = e.regs[l.op.Vals("ins")[k]][r*lanes+lane]
				continue
			case loaded[m] != nil:
				raw[k] = e.b.NewExtractElement(loaded[m], i32(lane))
			default:
				raw[k] = e.load(memType(m.dt), e.rowPlace(l, m, i), int64(m.dt.Size()))
			}
			ins[k] = e.fromMemory(raw[k], m.dt)
		}
		l.keep(e.keepOrStore(l, l.n.results(ins, nil), func(k int, x val) {
			m, bits := l.n.outs[k], e.bitsFor(l.n, k, raw, x)
			if !l.wide(m) {
				e.store(bits, e.rowPlace(l, m, i), int64(m.dt.Size()))
				return
			}
			if stored[m] == nil {
				stored[m] = constant.NewUndef(vector(m))
			}
			stored[m] = e.b.NewInsertElement(stored[m], bits, i32(lane))
		}))
	}
	for _, m := range l.n.outs {
		if x := stored[m]; x != nil {
			e.store(x, e.rowPlace(l, m, first), align(m))
		}
	}
}

// carryRegs prepares the phis of a tile that a loop carries in registers.
func (e *fn) carryRegs(arg, init *ir.Value) []*carried {
	pieces := e.regs[init]
	if e.Fragments[arg] && !e.Fragments[init] {
		pieces = e.fetch(init)
	}
	var out []*carried
	for j, x := range pieces {
		out = append(out, &carried{arg: arg, piece: j, init: x})
	}
	e.regs[arg] = make([]val, len(out))
	return out
}
