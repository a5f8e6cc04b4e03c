package cpp

import (
	"ptoc/codegen/target"
	"ptoc/ir"
)

// Tiles that live in vector registers: package target says which.

// inRegs reports whether a fused loop is printed with vectors.
func (e *fn) inRegs(op *ir.Op) bool {
	touches := false
	for _, v := range append(append([]*ir.Value(nil), op.Results...), op.Vals("ins")...) {
		touches = touches || e.regs[v]
	}
	return touches
}

func vecType(dt ir.DType) string {
	if dt == ir.INT32 {
		return "i32x16"
	}
	return "f32x16"
}

func (e *fn) vectors(v *ir.Value) int64 {
	row, _ := target.Row(ir.ShapeOf(v.Type))
	n, _ := row.Const()
	return n / target.Lanes
}

func (e *fn) declareRegs(v *ir.Value) {
	e.g.use("ptoc_vectors")
	e.w.line("%s %s[%d];", vecType(ir.DTypeOf(v.Type)), e.name(v), e.vectors(v))
}

func (e *fn) moveRegs(dst, src *ir.Value) {
	e.w.line("for (i32 k = 0; k < %d; ++k) %s[k] = %s[k];", e.vectors(dst), e.name(dst), e.name(src))
}

// fusedRegs prints a fused loop over one block with vectors.
func (e *fn) fusedRegs(op *ir.Op) {
	region := op.Regions[0]
	shape := ir.DimsOf(op.Vals("shape"))
	n, _ := shape[len(shape)-1].Const()
	for _, v := range op.Results {
		e.declareRegs(v)
	}
	e.g.use("ptoc_vectors")
	e.w.open("for (i32 k = 0; k < %d; ++k) {", n/target.Lanes)
	e.push()
	for i, v := range op.Vals("ins") {
		dt := ir.DTypeOf(v.Type)
		src := e.name(v) + "[k]"
		if !e.regs[v] {
			src = e.loadVector(e.data(v))
		}
		e.w.line("%s %s = %s;", vecType(dt), e.name(region.Args[i]), src)
	}
	for _, in := range region.Ops {
		if in.Kind != ir.Yield {
			e.vectorOp(in, region)
		}
	}
	yields := region.Terminator().Vals("values")
	outs := op.Vals("outs")
	for i, v := range outs {
		e.storeVector(e.data(v), e.scalar(yields[i]), op.Bool("stream"))
	}
	for i, v := range op.Results {
		e.w.line("%s[k] = %s;", e.name(v), e.scalar(yields[len(outs)+i]))
	}
	e.pop()
	e.w.close("}")
}

func (e *fn) loadVector(m *memory) string {
	at := paren(m.ptr) + " + 16 * k"
	switch m.dt {
	case ir.FP16:
		return e.g.use("ptoc_load_f16x16") + "(" + at + ")"
	case ir.BF16:
		return e.g.use("ptoc_load_bf16x16") + "(" + at + ")"
	}
	return "*(" + vecType(m.dt) + "*)(" + at + ")"
}

func (e *fn) storeVector(m *memory, x string, stream bool) {
	at := paren(m.ptr) + " + 16 * k"
	if stream {
	}
	switch m.dt {
	case ir.FP16:
		e.w.line("%s(%s, %s);", e.g.use("ptoc_store_f16x16"), at, x)
	case ir.BF16:
		e.w.line("%s(%s, %s);", e.g.use("ptoc_store_bf16x16"), at, x)
	default:
		if stream {
			e.w.line("%s(%s, %s);", e.g.use("ptoc_stream_x16"), at, x)
		} else {
			e.w.line("*(%s*)(%s) = %s;", vecType(m.dt), at, x)
		}
	}
}

// vectorOp prints one op of the body of a vector loop.
func (e *fn) vectorOp(op *ir.Op, body *ir.Block) {
	dt := ir.DTypeOf(op.Result().Type)
	var in []string
	for _, v := range op.Operands() {
		s := e.scalarAs(v, dt)
		if op.Kind == ir.Cast {
			s = e.scalar(v)
		}
		in = append(in, s)
	}
	x := in[0]
	switch op.Kind {
	case ir.Minimum, ir.Maximum:
		name := map[*ir.Kind]string{ir.Minimum: "ptoc_min_x16", ir.Maximum: "ptoc_max_x16"}[op.Kind]
		x = e.g.use(name) + "<" + vecType(dt) + ">(" + splat(in[0], target.Within(body, op.Operands()[0]), dt) + ", " + splat(in[1], target.Within(body, op.Operands()[1]), dt) + ")"
	case ir.Neg:
		x = "-" + x
	case ir.Cast, ir.Expand:
	default:
		x = in[0] + " " + infix[op.Kind] + " " + in[1]
	}
	switch dt {
	case ir.FP16:
		x = e.g.use("ptoc_round_f16x16") + "(" + x + ")"
	case ir.BF16:
		x = e.g.use("ptoc_round_bf16x16") + "(" + x + ")"
	}
	e.w.line("%s %s = %s;", vecType(dt), e.name(op.Result()), x)
}

// splat makes a vector of an operand that is a scalar.
func splat(x string, vector bool, dt ir.DType) string {
	if vector {
		return x
	}
	return x + " - " + vecType(dt) + "{}"
}
