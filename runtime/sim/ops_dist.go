package sim

import (
	"math"
	"slices"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/interp"
)

// comm is a communication domain as one rank sees it.
type comm struct {
	devices []int
	rank    int
}

// worldSize occurs in golden functions, which run on one device but speak of all.
func worldSize(_ *interp.Compiler, op *ir.Op) interp.Step {
	to := op.Result().ID
	return func(fr *interp.Frame) { fr.Vals[to].I = rankOf(fr).m.world() }
}

func commCtx(_ *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("target").ID, op.Result().ID
	return func(fr *interp.Frame) {
		r := rankOf(fr)
		devices := r.m.domains[viewOf(fr, from).domain]
		fr.Vals[to].P = &comm{devices, rankIn(devices, r.device)}
	}
}

func rankOp(_ *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("ctx").ID, op.Result().ID
	return func(fr *interp.Frame) { fr.Vals[to].I = int64(fr.Vals[from].P.(*comm).rank) }
}

func nranks(_ *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("ctx").ID, op.Result().ID
	return func(fr *interp.Frame) { fr.Vals[to].I = int64(len(fr.Vals[from].P.(*comm).devices)) }
}

// cellValue checks that a signal value fits a cell.
func cellValue(op *ir.Op, x int64) int32 {
	if x < math.MinInt32 || x > math.MaxInt32 {
		interp.Raise(op, abi.BadValue, x, math.MinInt32, math.MaxInt32)
	}
	return int32(x)
}

func notify(c *interp.Compiler, op *ir.Op) interp.Step {
	target, who := op.Val("target").ID, c.Int(op.Val("peer"))
	offsets, value := c.Ints(op.Vals("offsets")), c.Int(op.Val("value"))
	set := op.Enum("op").Is("Set")
	return func(fr *interp.Frame) {
		r := rankOf(fr)
		cell := viewOf(fr, target).of(op, who(fr)).cell(op, offsets(fr))
		v := cellValue(op, value(fr))
		r.point(Point{Op: op, Cell: cell, Value: v, Set: set})
		r.m.cfg.Memory.Notify(r.device, cell, op, v, set)
	}
}

func wait(c *interp.Compiler, op *ir.Op) interp.Step {
	signal, offsets, expected := op.Val("signal").ID, c.Ints(op.Vals("offsets")), c.Int(op.Val("expected"))
	cmp := abi.Cmp(op.Enum("cmp").Value)
	return func(fr *interp.Frame) {
		v := viewOf(fr, signal)
		rankOf(fr).block(&waiting{op: op, cell: v.cell(op, offsets(fr)), domain: v.domain,
			want: cellValue(op, expected(fr)), cmp: cmp})
	}
}

func fence(_ *interp.Compiler, op *ir.Op) interp.Step {
	return func(fr *interp.Frame) {
		r := rankOf(fr)
		r.m.cfg.Memory.Fence(r.device, op)
	}
}

func peer(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to, who := op.Val("target").ID, op.Result().ID, c.Int(op.Val("peer"))
	return func(fr *interp.Frame) { fr.Vals[to].P = viewOf(fr, from).of(op, who(fr)) }
}

// region compiles one side of a copy: the whole, or a rectangle.
func region(c *interp.Compiler, op *ir.Op, offsets string) func(*interp.Frame, *view) *view {
	if !op.Arg("shape").Given() {
		return func(_ *interp.Frame, v *view) *view { return v }
	}
	offs, shape := c.Ints(op.Vals(offsets)), c.Ints(op.Vals("shape"))
	return func(fr *interp.Frame, v *view) *view { return v.sub(op, offs(fr), shape(fr)) }
}

func put(c *interp.Compiler, op *ir.Op) interp.Step {
	dst, src, who := op.Val("dst").ID, op.Val("src").ID, c.Int(op.Val("peer"))
	to, from := region(c, op, "dst_offsets"), region(c, op, "src_offsets")
	return func(fr *interp.Frame) {
		a, b := to(fr, viewOf(fr, dst).of(op, who(fr))), from(fr, viewOf(fr, src))
		rankOf(fr).copy(op, a, b)
	}
}

func get(c *interp.Compiler, op *ir.Op) interp.Step {
	dst, src, who := op.Val("dst").ID, op.Val("src").ID, c.Int(op.Val("peer"))
	to, from := region(c, op, "dst_offsets"), region(c, op, "src_offsets")
	return func(fr *interp.Frame) {
		a, b := to(fr, viewOf(fr, dst)), from(fr, viewOf(fr, src).of(op, who(fr)))
		rankOf(fr).copy(op, a, b)
	}
}

// copy moves one view to another of the same extents.
func (r *rank) copy(op *ir.Op, dst, src *view) {
	for i := range dst.shape {
		if dst.shape[i] != src.shape[i] {
			interp.Raise(op, abi.Shape, int64(i), src.shape[i], dst.shape[i])
		}
	}
	if same := slices.Equal(dst.strides, src.strides); dst.mem == src.mem && dst.reaches(src) {
		atomic := op.Kind == ir.Put && op.Enum("atomic").Is("Add")
		if !same || atomic && dst.off != src.off { // machine code cannot give this a meaning
			interp.Raise(op, abi.Overlap, 0, 2)
		}
	}
	r.save(op, dst, r.read(op, src))
}
