package cpp

import (
	"fmt"
	"strings"

	"ptoc/codegen/lower"
	"ptoc/ir"
)

// call prints a call of another kernel: its scratch lies behind ours.
func (e *fn) call(op *ir.Op) {
	callee := op.Callee()
	args := op.Vals("args")
	bind, syms := lower.Bind(op)
	list := []string{"ctx", "arena + " + e.dim(e.own)}
	if e.own.Is(0) {
		list[1] = "arena"
	}
	for i, p := range callee.Params() {
		switch t := p.Type.(type) {
		case *ir.Tensor:
			m := e.data(args[i])
			m.NeedContiguous(op, callee.Name+" parameter "+p.Name)
			e.agree(op, bind, t.Dims, m.Dims)
			if t.Window {
				list = append(list, m.dom)
			}
			list = append(list, m.ptr)
		case *ir.Scalar:
			list = append(list, e.scalarAs(args[i], t.DType))
		}
	}
	for _, d := range syms {
		list = append(list, e.bareDim(d))
	}
	if e.g.askers.Has(callee) {
		list = append(list, e.blockField(ir.BlockIdx), e.blockField(ir.BlockNum))
	}
	e.distinct(op)
	e.checkNeed(op)
	e.w.line("if (i32 status = f_%s(%s)) return status;", callee.Name, strings.Join(list, ", "))
}

// distinct checks that arguments do not overlap where the callee relies on it. What is certainly disjoint needs
// no check; what certainly overlaps came here through an inline function.
func (e *fn) distinct(op *ir.Op) {
	args := op.Vals("args")
	for _, p := range ir.DistinctParams(op.Callee()) {
		if ir.OverlapOf(args[p.First], args[p.Second]) == ir.Disjoint {
			continue
		}
		a, b := e.data(args[p.First]), e.data(args[p.Second])
		e.w.line("if (%s(%s, %s, %s, %s)) return ptoc_fail(ctx, PTOC_OVERLAP, %d, %d, %d);", e.g.use("ptoc_overlap"),
			a.ptr, e.bytes(a), b.ptr, e.bytes(b), e.site(op), p.First, p.Second)
	}
}

func (e *fn) bytes(m *memory) string {
	return e.bareDim(ir.Product(m.Dims).Scale(int64(m.dt.Size())))
}

// agree checks extents that could not be compared before.
func (e *fn) agree(op *ir.Op, bind ir.DimBinding, want, got []ir.Dim) {
	for i := range want {
		w := want[i].Subst(bind.Subst)
		if w.Equal(got[i]) {
			continue
		}
		a, b := e.dim(got[i]), e.dim(w)
		e.w.line("if (%s != %s) return ptoc_fail(ctx, PTOC_SHAPE, %d, %d, %s, %s);", a, b, e.site(op), i, a, b)
	}
}

// blockOf prints the position in the enclosing pl.spmd.
func (e *fn) blockOf(op *ir.Op) { e.define(op.Result(), e.blockField(op.Kind)) }

// blockField is that position, or the number of blocks: of the caller's loop, if this function has none around.
func (e *fn) blockField(kind *ir.Kind) string {
	l := lower.SpmdLoop(e.loops)
	switch {
	case l == nil:
		return e.around[kind]
	case kind == ir.BlockNum:
		return e.scalarAs(l.Val("stop"), ir.INDEX)
	}
	return e.scalarAs(l.Regions[0].Args[0], ir.INDEX)
}

// array prints the ops on small arrays, which are structs: assignment copies them.
func (e *fn) array(op *ir.Op) {
	v := op.Result()
	if op.Kind == ir.ArrayCreate {
		e.w.line("%s %s = {};", e.arrayType(v.Type.(*ir.Array)), e.name(v))
		return
	}
	a := op.Val("array")
	t := a.Type.(*ir.Array)
	i := e.scalarAs(op.Val("index"), ir.INDEX)
	if n, ok := op.Val("index").ConstInt(); !ok || n < 0 || n >= t.N {
		e.w.line("if ((u64)%s >= %d) return ptoc_fail(ctx, PTOC_LOCAL_BOUNDS, %d, 0, %s, 1, %d);", i, t.N, e.site(op), i, t.N)
	}
	if op.Kind == ir.ArrayGet {
		e.define(v, fmt.Sprintf("%s.v[%s]", e.name(a), i))
		return
	}
	e.w.line("%s %s = %s;", e.arrayType(t), e.name(v), e.name(a))
	e.w.line("%s.v[%s] = %s;", e.name(v), i, e.scalarAs(op.Val("value"), t.DType))
}

func (e *fn) arrayType(t *ir.Array) string {
	return fmt.Sprintf("%s<%s, %d>", e.g.use("ptoc_array"), regType(t.DType), t.N)
}
