package cpp

import (
	"ptoc/ir"
)

// Tiles that live in vector registers: small static ones that only fused loops touch, such as the
// accumulator of a loop over peers. FuseTileOps cuts loops into blocks of this size.

// lanes is the number of 4-byte elements of a vector; maxRegTile bounds a tile to eight vectors.
const (
	lanes      = 16
	maxRegTile = 8 * lanes
)

// findRegs decides which tiles of f live in registers.
func findRegs(f *ir.Func) map[*ir.Value]bool {
	regs := map[*ir.Value]bool{}
	f.Body.Walk(func(op *ir.Op) {
		for _, r := range op.Results {
			if (op.Kind == ir.Fused || op.Kind == ir.For) && regSize(r.Type) > 0 {
				regs[r] = true
			}
		}
		if op.Kind == ir.For {
			for _, a := range op.Regions[0].Args[1:] {
				if regSize(a.Type) > 0 {
					regs[a] = true
				}
			}
		}
	})
	if len(regs) == 0 {
		return regs
	}
	yields := map[*ir.Op]bool{} // of counting and fused loops
	f.Body.Walk(func(op *ir.Op) {
		if op.Kind == ir.For || op.Kind == ir.Fused {
			yields[op.Regions[0].Terminator()] = true
		}
	})
	for dropRegs(f, regs, yields) {
	}
	return regs
}

// regSize is the number of elements of a type that registers can hold; 0 if they cannot.
func regSize(t ir.Type) int64 {
	tile, ok := t.(*ir.Tile)
	if !ok || !(tile.DType.IsFloat() || tile.DType == ir.INT32) {
		return 0
	}
	n, ok := vectorShape(tile.Dims)
	if !ok {
		return 0
	}
	return n
}

// vectorShape is the last extent of a shape whose others are 1, if it is a whole number of vectors.
func vectorShape(dims []ir.Dim) (int64, bool) {
	for i, d := range dims {
		n, ok := d.Const()
		if i < len(dims)-1 && !d.Is(1) || !ok {
			return 0, false
		}
		if i == len(dims)-1 {
			return n, n > 0 && n <= maxRegTile && n%lanes == 0
		}
	}
	return 0, false
}

// dropRegs removes tiles with a use or definition that registers do not serve; true if it did.
func dropRegs(f *ir.Func, regs map[*ir.Value]bool, yields map[*ir.Op]bool) bool {
	before := len(regs)
	together := func(vs ...*ir.Value) { // all of them or none
		all := true
		for _, v := range vs {
			all = all && regs[v]
		}
		if !all {
			for _, v := range vs {
				delete(regs, v)
			}
		}
	}
	f.Body.Walk(func(op *ir.Op) {
		switch op.Kind {
		case ir.Fused:
			if !vectorLoop(op, regs) {
				for _, v := range append(append([]*ir.Value(nil), op.Results...), op.Vals("ins")...) {
					delete(regs, v)
				}
			}
		case ir.For:
			body := op.Regions[0]
			if t := body.Terminator(); t != nil {
				for i, r := range op.Results {
					together(r, body.Args[i+1], op.Vals("init_values")[i], t.Vals("values")[i])
				}
			}
		default:
			if yields[op] {
				return
			}
			for _, v := range op.Operands() {
				delete(regs, v)
			}
		}
	})
	return len(regs) != before
}

// vectorLoop reports whether a fused loop can be printed with vectors: one static block, operands that
// are tiles in registers or memory that runs on, and arithmetic that vectors have.
func vectorLoop(op *ir.Op, regs map[*ir.Value]bool) bool {
	shape := ir.DimsOf(op.Vals("shape"))
	if _, ok := vectorShape(shape); !ok {
		return false
	}
	same := func(v *ir.Value) bool {
		dims := ir.ShapeOf(v.Type)
		n, ok := dims[len(dims)-1].Const()
		m, _ := shape[len(shape)-1].Const()
		return ok && n == m && vectorElem(ir.DTypeOf(v.Type))
	}
	for _, v := range op.Vals("ins") {
		if _, tile := v.Type.(*ir.Tile); tile && !regs[v] || !same(v) || !unitStride(v) {
			return false
		}
	}
	for _, v := range op.Vals("outs") {
		if !same(v) || !unitStride(v) {
			return false
		}
	}
	for _, v := range op.Results {
		if !regs[v] {
			return false
		}
	}
	for _, in := range op.Regions[0].Ops {
		if in.Kind != ir.Yield && !vectorOp(in, op.Regions[0]) {
			return false
		}
	}
	// A yielded value that is no vector (a constant) would need a splat.
	for _, v := range op.Regions[0].Terminator().Vals("values") {
		if !within(op.Regions[0], v) {
			return false
		}
	}
	return true
}

// within reports whether v is made in b: there it is a vector, others are scalars.
func within(b *ir.Block, v *ir.Value) bool {
	if v.Owner == b {
		return true
	}
	for _, o := range b.Ops {
		if v.Def == o {
			return true
		}
	}
	return false
}

func vectorElem(dt ir.DType) bool { return dt.IsFloat() || dt == ir.INT32 }

// unitStride reports whether the last axis of memory has stride 1; views keep the last axis, except
// through a reshape, which gives contiguous memory.
func unitStride(v *ir.Value) bool { return len(ir.ShapeOf(v.Type)) > 0 }

var vectorOps = map[*ir.Kind]bool{ir.Add: true, ir.Sub: true, ir.Mul: true, ir.Div: true, ir.Minimum: true, ir.Maximum: true,
	ir.Neg: true, ir.Cast: true, ir.Expand: true}

func vectorOp(op *ir.Op, body *ir.Block) bool {
	if !vectorOps[op.Kind] || !vectorElem(ir.DTypeOf(op.Result().Type)) {
		return false
	}
	any := false
	for _, v := range op.Operands() {
		any = any || within(body, v)
		dt := ir.DTypeOf(v.Type)
		if !v.IsConst() && !vectorElem(dt) || op.Kind == ir.Cast && !(dt.IsFloat() && ir.DTypeOf(op.Result().Type).IsFloat()) {
			return false
		}
		if !v.IsConst() && op.Kind != ir.Cast && dt != ir.DTypeOf(op.Result().Type) {
			return false
		}
	}
	return any
}

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

func (e *fn) vectors(v *ir.Value) int64 { return regSize(v.Type) / lanes }

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
	e.w.open("for (i32 k = 0; k < %d; ++k) {", n/lanes)
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
		e.g.stream = true
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
		x = e.g.use(name) + "<" + vecType(dt) + ">(" + splat(in[0], within(body, op.Operands()[0]), dt) + ", " + splat(in[1], within(body, op.Operands()[1]), dt) + ")"
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
