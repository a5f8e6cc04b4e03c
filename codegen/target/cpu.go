package target

import "ptoc/ir"

// Lanes is the number of 4-byte elements of a vector; a tile in registers has at most eight of them.
const (
	Lanes    = 16
	cpuBlock = 8 * Lanes
)

// CPU keeps rows of whole vectors in vector registers.
var CPU = &Target{Name: "cpu", Block: cpuBlock, Stages: 1, fits: VectorTile, serves: func(op *ir.Op, _ *ir.Value, regs map[*ir.Value]bool) bool {
	return vectorLoop(op, regs)
}}

// VectorTile reports whether vectors can hold a tile.
func VectorTile(t *ir.Tile) bool {
	_, ok := vectors(t.Dims)
	return ok && vectorElem(t.DType)
}

// vectors is the length of a row that is a whole number of vectors.
func vectors(dims []ir.Dim) (int64, bool) {
	row, ok := Row(dims)
	n, known := row.Const()
	return n, ok && known && n > 0 && n <= cpuBlock && n%Lanes == 0
}

// vectorLoop reports whether a fused loop can be printed with vectors: one static block, operands that
// are tiles in registers or memory that runs on, and arithmetic that vectors have.
func vectorLoop(op *ir.Op, regs map[*ir.Value]bool) bool {
	size, ok := vectors(ir.DimsOf(op.Vals("shape")))
	if !ok {
		return false
	}
	// The last axis of memory has stride 1: views keep it, and reshapes give contiguous memory.
	same := func(v *ir.Value) bool {
		dims := ir.ShapeOf(v.Type)
		return len(dims) > 0 && dims[len(dims)-1].Is(size) && vectorElem(ir.DTypeOf(v.Type))
	}
	for _, v := range op.Vals("ins") {
		if _, tile := v.Type.(*ir.Tile); tile && !regs[v] || !same(v) {
			return false
		}
	}
	for _, v := range op.Vals("outs") {
		if !same(v) {
			return false
		}
	}
	for _, v := range op.Results {
		if !regs[v] {
			return false
		}
	}
	return vectorBody(op.Regions[0])
}

// vectorBody reports whether vectors have all the arithmetic of a fused loop's body. A yielded value that is
// no vector (a constant) would need a splat.
func vectorBody(b *ir.Block) bool {
	for _, in := range b.Ops {
		if in.Kind != ir.Yield && !vectorOp(in, b) {
			return false
		}
	}
	for _, v := range b.Terminator().Vals("values") {
		if !Within(b, v) {
			return false
		}
	}
	return true
}

// Within reports whether v is made in b: there it is a vector, others are scalars.
func Within(b *ir.Block, v *ir.Value) bool {
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

var vectorOps = map[*ir.Kind]bool{ir.Add: true, ir.Sub: true, ir.Mul: true, ir.Div: true, ir.Minimum: true, ir.Maximum: true,
	ir.Neg: true, ir.Cast: true, ir.Expand: true}

func vectorOp(op *ir.Op, body *ir.Block) bool {
	to := ir.DTypeOf(op.Result().Type)
	if !vectorOps[op.Kind] || !vectorElem(to) {
		return false
	}
	any := false
	for _, v := range op.Operands() {
		any = any || Within(body, v)
		dt := ir.DTypeOf(v.Type)
		switch {
		case op.Kind == ir.Cast && !(dt.IsFloat() && to.IsFloat()):
			return false
		case v.IsConst():
		case !vectorElem(dt), op.Kind != ir.Cast && dt != to:
			return false
		}
	}
	return any
}
