package ptx

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/abi"
	"ptoc/codegen/lower"
	"ptoc/ir"
)

// copyRegion emits put and get.
func (e *fn) copyRegion(op *ir.Op) {
	dst, src := e.data(op.Val("dst")), e.data(op.Val("src"))
	var dstPeer, srcPeer val
	if op.Kind == ir.Put {
		dst, dstPeer = e.local(op, "dst")
	} else {
		src, srcPeer = e.local(op, "src")
	}
	if op.Arg("shape").Given() {
		shape := ir.DimsOf(op.Vals("shape"))
		do, so := op.Vals("dst_offsets"), op.Vals("src_offsets")
		e.bounds(op, do, shape, dst.Dims, dstPeer)
		e.bounds(op, so, shape, src.Dims, srcPeer)
		dst, src = e.rectangle(dst, e.ints(do), shape), e.rectangle(src, e.ints(so), shape)
	}
	e.transfer(op, src, dst)
}

// transfer copies a region. Within one window, parts of which may be source and destination, everything is
// read before it is written; where that has no meaning it is a fault, as on the CPU.
func (e *fn) transfer(op *ir.Op, src, dst *memory) {
	atomic := op.Enum("atomic").Is("Add")
	if !lower.MovesWithin(op) {
		e.copy(op, src, dst, atomic)
		return
	}
	common := e.overlap(src, dst)
	if atomic || !ir.DimsEqual(src.Strides, dst.Strides) {
		if atomic {
			common = e.b.NewAnd(common, e.icmp(enum.IPredNE, e.address(src), e.address(dst)))
		}
		e.check(op, common, abi.Overlap, i64(0), i64(2))
		e.copy(op, src, dst, atomic)
		return
	}
	e.touch([]*memory{src}, []*memory{dst})
	e.settle() // either way the threads begin together
	move, plain, out := e.label("move"), e.label("plain"), e.label("moved")
	e.b.NewCondBr(common, move, plain)
	e.at(plain)
	e.copy(op, src, dst, false)
	e.settle()
	e.b.NewBr(out)
	e.at(move)
	e.moveWithin(op, src, dst)
	e.b.NewBr(out)
	e.at(out)
}

// moveWithin copies an element a thread at a time, from the end where the destination lies behind the source.
func (e *fn) moveWithin(op *ir.Op, src, dst *memory) {
	n := &nest{op: op, shape: dst.Dims, ins: []*memory{src}, outs: []*memory{dst}}
	a := n.axes()
	total := e.dim(ir.Product(a.Extents))
	back := e.icmp(enum.IPredULT, e.address(src), e.address(dst))
	e.loop("batch", i64(0), total, i64(Threads), func(first val) {
		i := e.add(first, e.tid)
		mine := e.icmp(enum.IPredSLT, i, total)
		i = e.sel(back, e.sub(e.sub(total, i64(1)), i), i)
		held := e.alloca(memType(src.dt))
		e.when("take", mine, func() {
			e.b.NewStore(e.load(memType(src.dt), e.elementOf(n, a, 0, i), int64(src.dt.Size())), held)
		})
		e.barrier()
		e.when("give", mine, func() {
			e.store(e.b.NewLoad(memType(src.dt), held), e.elementOf(n, a, 1, i), int64(dst.dt.Size()))
		})
		e.barrier()
	})
}

// distinct checks that arguments do not overlap where the callee, and what fused it, relies on it.
func (e *fn) distinct(op *ir.Op) {
	args := op.Vals("args")
	for _, p := range ir.DistinctParams(op.Callee()) {
		if ir.OverlapOf(args[p.First], args[p.Second]) != ir.Disjoint {
			e.check(op, e.overlap(e.data(args[p.First]), e.data(args[p.Second])), abi.Overlap, i64(int64(p.First)), i64(int64(p.Second)))
		}
	}
}

// overlap is whether two parts of memory have bytes in common, gaps included.
func (e *fn) overlap(x, y *memory) val {
	a, b := e.address(x), e.address(y)
	n, k := e.reach(x), e.reach(y)
	some := e.b.NewAnd(e.icmp(enum.IPredSGT, n, i64(0)), e.icmp(enum.IPredSGT, k, i64(0)))
	return e.b.NewAnd(some, e.b.NewAnd(e.icmp(enum.IPredULT, a, e.add(b, k)), e.icmp(enum.IPredULT, b, e.add(a, n))))
}

func (e *fn) address(m *memory) val { return e.b.NewPtrToInt(m.ptr, types.I64) }

func (e *fn) reach(m *memory) val { return e.dim(m.Reach().Scale(int64(m.dt.Size()))) }
