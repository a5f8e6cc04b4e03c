package cpp

import (
	"ptoc/codegen/lower"
	"ptoc/ir"
)

// cell checks the position of a signal cell and returns the pointer to it within m.
func (e *fn) cell(op *ir.Op, m *memory, peer string) string {
	idx := e.ofVals(op.Vals("offsets"))
	for i, o := range idx {
		d := e.ofDim(m.Dims[i])
		if e.checks.Cell(o.dim, d.dim) {
			continue
		}
		e.w.line("if ((u64)%s >= (u64)%s) return ptoc_fail(ctx, PTOC_BAD_CELL, %d, %d, %s, %s);", o.text, d.text, e.site(op), i, o.text, d.text)
	}
	return e.at(m, idx)
}

// notify prints a signal. Non-temporal stores are not ordered by it: pl.system.fence stands before it.
func (e *fn) notify(op *ir.Op) {
	m := e.data(op.Val("target"))
	peer := e.peer(op, m, op.Val("peer"))
	r := e.remote(m, peer)
	c := e.cell(op, r, peer)
	how := map[bool]string{true: "PTOC_NOTIFY_SET", false: "PTOC_NOTIFY_ADD"}[op.Enum("op").Is("Set")]
	e.w.line("ptoc_notify(ctx, %s, (i32)%s, %s, %s, %s);", m.dom, peer, c, e.cellValue(op, op.Val("value")), how)
}

// cellValue checks that a number fits a signal cell.
func (e *fn) cellValue(op *ir.Op, v *ir.Value) string {
	if _, known := v.ConstInt(); !known && v.Type.(*ir.Scalar).DType.Size() > ir.INT32.Size() {
		wide := e.scalarAs(v, ir.INT64)
		e.w.line("if (%s != (i32)(%s)) return ptoc_fail(ctx, PTOC_BAD_VALUE, %d, %s, -2147483648LL, 2147483647LL);", wide, wide, e.site(op), wide)
	}
	return e.scalarAs(v, ir.INT32)
}

func (e *fn) wait(op *ir.Op) {
	m := e.data(op.Val("signal"))
	c := e.cell(op, m, "")
	cmp := map[bool]string{true: "PTOC_CMP_EQ", false: "PTOC_CMP_GE"}[op.Enum("cmp").Is("Eq")]
	e.w.line("if (i32 status = ptoc_wait(ctx, %s, %s, %s, %s, %d)) return status;", m.dom, c,
		e.cellValue(op, op.Val("expected")), cmp, e.site(op))
}

// reduce prints a reduction as a call of a helper over [outer, axis, inner].
func (e *fn) reduce(op *ir.Op) {
	x := e.tile(op.Val("x"))
	out := e.declareTile(op.Result())
	k := op.Axis("axis", len(x.Dims))
	name := map[*ir.Kind]string{ir.Sum: "sum", ir.Prod: "prod", ir.Amax: "max", ir.Amin: "min"}[op.Kind]
	e.g.use("ptoc_reduce_" + name)
	if name == "max" || name == "min" {
		name += "_" // ptoc_max is the function on two scalars
	}
	e.elemHelper(x.dt)
	outer, n, inner := ir.Product(x.Dims[:k]), x.Dims[k], ir.Product(x.Dims[k+1:])
	form := "ptoc_reduce_cols"
	if inner.Is(1) {
		form = "ptoc_reduce_rows"
		e.w.line("%s<%s, ptoc_%s>(%s, %s, %s, %s);", e.g.use(form), elemType(x.dt), name, out.ptr, x.ptr, e.bareDim(outer), e.bareDim(n))
		return
	}
	e.w.line("%s<%s, ptoc_%s>(%s, %s, %s, %s, %s);", e.g.use(form), elemType(x.dt), name, out.ptr, x.ptr,
		e.bareDim(outer), e.bareDim(n), e.bareDim(inner))
}

// elemType names the struct that says how elements of dt are read, computed with and written.
func elemType(dt ir.DType) string {
	switch dt {
	case ir.FP16:
		return "ptoc_elem_f16"
	case ir.BF16:
		return "ptoc_elem_bf16"
	}
	return "ptoc_elem<" + memType(dt) + ">"
}

func (e *fn) elemHelper(dt ir.DType) {
	switch dt {
	case ir.FP16:
		e.g.use("ptoc_elem_f16")
	case ir.BF16:
		e.g.use("ptoc_elem_bf16")
	default:
		e.g.use("ptoc_elem")
	}
}

// matmul prints a product, or a sum with one, for each matrix of the batch.
func (e *fn) matmul(op *ir.Op) {
	a, b := e.tile(op.Val("lhs")), e.tile(op.Val("rhs"))
	out := e.declareTile(op.Result())
	p := lower.ProductOf(op)
	for _, dt := range []ir.DType{a.dt, out.dt} {
		e.elemHelper(dt)
	}
	acc := "f32"
	if !a.dt.IsFloat() {
		acc = "i32"
	}
	as, bs := e.strides(p.A), e.strides(p.B)
	r := len(a.Dims)
	step := func(m *memory) string {
		return m.ptr + " + i0 * " + e.dim(m.Dims[r-2].Mul(m.Dims[r-1]))
	}
	if !p.Batch.Is(1) {
		e.w.open("for (i64 i0 = 0; i0 < %s; ++i0) {", e.bareDim(p.Batch))
	} else {
		step = func(m *memory) string { return m.ptr }
		e.w.open("{")
	}
	start := "nullptr"
	if op.Kind == ir.MatMulAcc {
		start = step(e.tile(op.Val("acc")))
	}
	e.w.line("%s<%s, %s, %s>(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s);", e.g.use("ptoc_matmul"), elemType(a.dt), elemType(out.dt), acc,
		step(out), start, step(a), as[0], as[1], step(b), bs[0], bs[1], e.bareDim(p.Rows), e.bareDim(p.Cols), e.bareDim(p.Inner))
	e.w.close("}")
}

func (e *fn) strides(s [2]ir.Dim) [2]string { return [2]string{e.bareDim(s[0]), e.bareDim(s[1])} }
