package cpp

import (
	"fmt"

	"ptoc/codegen/lower"
	"ptoc/ir"
)

// copyRegion prints put and get.
func (e *fn) copyRegion(op *ir.Op) {
	dst, src := e.data(op.Val("dst")), e.data(op.Val("src"))
	dstPeer, srcPeer := "", ""
	if op.Kind == ir.Put {
		dstPeer = e.peer(op, dst, op.Val("peer"))
		dst = e.remote(dst, dstPeer)
	} else {
		srcPeer = e.peer(op, src, op.Val("peer"))
		src = e.remote(src, srcPeer)
	}
	if op.Arg("shape").Given() {
		shape := ir.DimsOf(op.Vals("shape"))
		sizes := e.ofVals(op.Vals("shape"))
		do, so := e.ofVals(op.Vals("dst_offsets")), e.ofVals(op.Vals("src_offsets"))
		e.bounds(op, do, sizes, e.ofDims(dst.Dims), dstPeer)
		e.bounds(op, so, sizes, e.ofDims(src.Dims), srcPeer)
		dst, src = e.rectangle(dst, do, shape), e.rectangle(src, so, shape)
	}
	atomic := op.Enum("atomic").Is("Add")
	within := lower.MovesWithin(op)
	switch {
	case within && !sameStrides(src, dst):
		e.failIfOverlap(op, src, dst, "")
	case within && atomic:
		e.failIfOverlap(op, src, dst, fmt.Sprintf("%s != %s && ", paren(dst.ptr), paren(src.ptr)))
	case within && op.Bool("stream"):
		e.w.open("if (%s) {", e.overlap(src, dst))
		e.copyRows(op, src, dst, within)
		e.w.reopen("} else {")
		e.copyNest(op, src, dst, true, false)
		e.w.close("}")
		return
	}
	if atomic || op.Bool("stream") {
		e.copyNest(op, src, dst, op.Bool("stream"), atomic)
		return
	}
	e.copyRows(op, src, dst, within)
}

func sameStrides(a, b *memory) bool { return ir.DimsEqual(a.Strides, b.Strides) }

// reach is the bytes from the first element to the last.
func (e *fn) reach(m *memory) string { return e.bareDim(m.Reach().Scale(int64(m.dt.Size()))) }

func (e *fn) overlap(a, b *memory) string {
	return fmt.Sprintf("%s(%s, %s, %s, %s)", e.g.use("ptoc_overlap"), a.ptr, e.reach(a), b.ptr, e.reach(b))
}

// failIfOverlap: no order of the elements does for every overlap of such regions.
func (e *fn) failIfOverlap(op *ir.Op, src, dst *memory, unless string) {
	e.w.line("if (%s%s) return ptoc_fail(ctx, PTOC_OVERLAP, %d, 0, 2);", unless, e.overlap(src, dst), e.site(op))
}

// copyRows copies memory that runs on as far as it does with memmove. within: source and destination may be
// parts of one window. Then the rows, too, must be taken in the order in which none is overwritten before it
// is read: from the last one on where the destination lies behind the source.
func (e *fn) copyRows(op *ir.Op, src, dst *memory, within bool) {
	n := &nest{shape: dst.Dims, ins: []*memory{src}, outs: []*memory{dst}}
	a := n.axes()
	last := len(a.Extents) - 1
	if !e.unit(a.Strides[last]) && !a.Extents[last].Is(1) {
		n.body = func(ins []string) []string { return ins }
		e.nest(n)
		return
	}
	e.w.open("{")
	ptrs := e.pointers(n, a)
	within = within && last > 0
	if within {
		e.w.line("bool up = (const u8*)%s > (const u8*)%s;", ptrs[1], ptrs[0])
	}
	for i := 0; i < last; i++ {
		count := e.bareDim(a.Extents[i])
		if !within {
			e.w.open("for (i64 i%d = 0; i%d < %s; ++i%d) {", i, i, count, i)
			continue
		}
		e.w.open("for (i64 n%d = 0; n%d < %s; ++n%d) {", i, i, count, i)
		e.w.line("i64 i%d = up ? %s - 1 - n%d : n%d;", i, count, i, i)
	}
	rows := e.rows(n, a, ptrs)
	move := "__builtin_memmove"
	if op.Kind == ir.Put {
		move = e.g.use("ptoc_put")
	}
	e.w.line("%s(%s, %s, %s);", move, rows[1], rows[0], e.bareDim(a.Extents[last].Scale(int64(dst.dt.Size()))))
	for i := 0; i < last; i++ {
		e.w.close("}")
	}
	e.w.close("}")
}
