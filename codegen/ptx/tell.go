package ptx

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/lower"
	"ptoc/codegen/target"
	"ptoc/ir"
)

// What block 0 alone can make and all need, it leaves in a slot of the scratch that all blocks reach; they meet, and
// every block takes a copy to where it would have been had it made the value itself.

// slot is where v is told.
func (e *fn) slot(v *ir.Value) *memory {
	m := &memory{ptr: e.offset(e.grid.common, i64(e.grid.told)), root: v}
	n, _ := slotSize(v.Type)
	e.grid.told += n
	return m
}

// tell leaves v in its slot: a scalar as argument slots hold it.
func (e *fn) tell(v *ir.Value, slot *memory) {
	t, ok := v.Type.(*ir.Tile)
	if !ok {
		e.touch(nil, []*memory{slot})
		e.firstThread(func() { e.store(e.packScalar(e.scalar(v), ir.DTypeOf(v.Type)), slot.ptr, 8) })
		return
	}
	slot.Layout, slot.dt = lower.RowMajor(t.Dims), t.DType
	if !e.held(v) {
		e.copy(nil, e.data(v), slot, false)
		return
	}
	e.touch(nil, []*memory{slot})
	if e.Fragments[v] {
		for j, i := range e.placesOf(v) {
			e.put(slot, i, e.regs[v][j])
		}
		return
	}
	for j, x := range e.regs[v] {
		i, mine := e.pieceOf(t, int64(j))
		e.when("mine", mine, func() { e.put(slot, i, x) })
	}
}

// hear takes v from its slot.
func (e *fn) hear(v *ir.Value, slot *memory) {
	t, ok := v.Type.(*ir.Tile)
	switch {
	case !ok:
		e.touch([]*memory{slot}, nil)
		e.vals[v] = e.unpackScalar(e.load(types.I64, slot.ptr, 8), ir.DTypeOf(v.Type))
	case e.Rows[v]:
		e.touch([]*memory{slot}, nil)
		e.regs[v] = make([]val, target.PerThread(t))
		for j := range e.regs[v] {
			e.regs[v][j] = e.hearPiece(t, slot, int64(j))
		}
	case e.Fragments[v]:
		e.touch([]*memory{slot}, nil)
		e.regs[v] = e.placesOf(v)
		for j, i := range e.regs[v] {
			e.regs[v][j] = e.item(slot, i)
		}
		if delete(e.mems, v); e.Memory(v) {
			e.spill(v)
		}
	default:
		delete(e.mems, v) // where block 0 made it
		e.copy(nil, slot, e.data(v), false)
	}
}

func (e *fn) hearPiece(t *ir.Tile, slot *memory, j int64) val {
	i, mine := e.pieceOf(t, j)
	from, in, out := e.b, e.label("piece"), e.label("piece_end")
	from.NewCondBr(mine, in, out)
	e.at(in)
	x := e.item(slot, i)
	end := e.b
	end.NewBr(out)
	e.at(out)
	return out.NewPhi(incoming(x, end), incoming(constant.NewUndef(x.Type()), from))
}

// pieceOf is which element of a row a thread's j-th register holds, and whether it holds one.
func (e *fn) pieceOf(t *ir.Tile, j int64) (i, mine val) {
	row, _ := target.Row(t.Dims)
	n := target.Neighbours(row)
	i = e.add(e.add(e.mul(e.tid, i64(n)), i64(j/n*n*Threads)), i64(j%n))
	return i, e.icmp(enum.IPredSLT, i, e.dim(row))
}
