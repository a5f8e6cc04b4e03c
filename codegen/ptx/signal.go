package ptx

import (
	"math"

	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/abi"
	"ptoc/ir"
)

// cell checks the position of a signal cell and returns its address within m.
func (e *fn) cell(op *ir.Op, m *memory) val {
	idx := e.ints(op.Vals("offsets"))
	for i, o := range idx {
		if e.checks.Cell(ir.DimOf(op.Vals("offsets")[i]), m.Dims[i]) {
			continue
		}
		d := e.dim(m.Dims[i])
		e.check(op, e.icmp(enum.IPredUGE, o, d), abi.BadCell, i64(int64(i)), o, d)
	}
	return e.element(m, idx)
}

// cellValue checks that a number fits a signal cell.
func (e *fn) cellValue(op *ir.Op, v *ir.Value) val {
	x := e.scalarAs(v, ir.INT32)
	if _, known := v.ConstInt(); !known && v.Type.(*ir.Scalar).DType.Size() > ir.INT32.Size() {
		wide := e.scalarAs(v, ir.INT64)
		e.check(op, e.icmp(enum.IPredNE, wide, e.b.NewSExt(x, types.I64)), abi.BadValue, wide, i64(math.MinInt32), i64(math.MaxInt32))
	}
	return x
}

// notify: a barrier, then the first thread releases. What the whole block did before the barrier is
// released with it.
func (e *fn) notify(op *ir.Op) {
	m := e.data(op.Val("target"))
	r := e.remote(m, e.peer(op, m, op.Val("peer")))
	c := e.cell(op, r)
	x := e.cellValue(op, op.Val("value"))
	e.settle()
	text := "red.release.sys.global.add.s32 [$0], $1;"
	if op.Enum("op").Is("Set") {
		text = "st.release.sys.global.u32 [$0], $1;"
	}
	e.firstThread(func() { e.asm(types.Void, text, "l,r", c, x) })
}

// wait: the first thread acquires, and a barrier lets the whole block see what it saw. A wait that was
// given up ends the kernel.
func (e *fn) wait(op *ir.Op) {
	m := e.data(op.Val("signal"))
	c := e.cell(op, m)
	want := e.cellValue(op, op.Val("expected"))
	cmp := i32(int64(abi.Ge))
	if op.Enum("cmp").Is("Eq") {
		cmp = i32(int64(abi.Eq))
	}
	field := func(name string) val { return e.offset(e.ctx, i64(abi.Offset[abi.GPUCtx](name))) }
	p := bytesIn(global)
	f := e.g.helper("ptoc_wait", types.I32, p, types.I32, types.I32, types.I32, p, p, types.I64, types.I32, types.I64)
	site := e.site(op)
	e.ask(site, func() val {
		where := e.sub(e.b.NewPtrToInt(c, types.I64), e.b.NewPtrToInt(m.dom.own, types.I64))
		return e.b.NewCall(f, c, want, cmp, i32(int64(site)), e.pointerAt(field("Abort"), 0),
			e.pointerAt(field("Self"), 0), e.load(types.I64, field("Patience"), 8), m.dom.id, where)
	})
}

// ask calls what waits in the first thread. The result is a status; all threads go on, or all leave.
func (e *fn) ask(site int, call func() val) {
	from := e.b
	look, out := e.label("look"), e.label("seen")
	from.NewCondBr(e.isZero(e.tid), look, out)
	e.at(look)
	status := call()
	end := e.b
	end.NewBr(out)
	e.at(out)
	x := out.NewPhi(incoming(i32(0), from), incoming(status, end))
	e.stopIf(e.anyThread(x), fault{code: x, site: site})
}

// fence orders everything before it with everything after it, for every observer.
func (e *fn) fence(*ir.Op) {
	e.land()
	e.asm(types.Void, "fence.sc.sys;", "")
	e.barrier()
}
