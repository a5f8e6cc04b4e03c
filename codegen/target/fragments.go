package target

import "ptoc/ir"

const (
	warps = Threads / 32
	// maxFragments is how many registers of a thread the tiles that one loop carries as fragments may take: half of
	// them beside FP32 operands, which lanes read an element at a time.
	maxFragments = 64
)

// Fragments is how warps share out a matrix product: rows by 16, columns by Wide, such a part to a warp at a time.
// A lane has two neighbouring columns of row lane/4 and of the row 8 below, of each 8 columns: so tensor cores
// leave a result, and take what they add to.
type Fragments struct {
	Rows, Cols int64
	Wide       int64 // columns of a part: 8, 16 or 32
	Parts      int64 // of all matrices together
}

// FragmentsOf is how a tile can be held as fragments: in whole parts, as many for each warp.
func FragmentsOf(t *ir.Tile) (f Fragments, ok bool) {
	r := len(t.Dims)
	if r < 2 || t.DType != ir.FP32 && t.DType != ir.FP16 && t.DType != ir.BF16 && t.DType != ir.INT32 {
		return f, false
	}
	batch, ok1 := ir.Product(t.Dims[:r-2]).Const()
	rows, ok2 := t.Dims[r-2].Const()
	cols, ok3 := t.Dims[r-1].Const()
	if !ok1 || !ok2 || !ok3 || batch <= 0 || rows <= 0 || cols <= 0 || rows%16 != 0 || cols%8 != 0 || !ir.DimsEqual(t.Dims, t.Storage()) {
		return f, false
	}
	f = Share(rows, cols)
	f.Parts *= batch
	return f, f.Parts%warps == 0
}

// Share cuts a matrix into parts.
func Share(rows, cols int64) Fragments {
	wide := int64(8)
	for wide < 32 && cols%(2*wide) == 0 {
		wide *= 2
	}
	return Fragments{Rows: rows, Cols: cols, Wide: wide, Parts: rows / 16 * (cols / wide)}
}

// PerThread is how many elements of the tile a thread has, PerPart how many of them of one part.
func (f Fragments) PerThread() int64 { return f.Parts / warps * f.PerPart() }
func (f Fragments) PerPart() int64   { return f.Wide / 2 }

// findFragments decides which tiles of f the threads hold as fragments: what products add to, between the first
// product and the last. A loop's result that others use lies in memory, too, from the loop's end on; of other tiles
// none but products, and loops that carry them, may know.
func (g *Registers) findFragments(f *ir.Func) {
	most := int64(maxFragments)
	f.Body.Walk(func(op *ir.Op) {
		if (op.Kind == ir.MatMul || op.Kind == ir.MatMulAcc) && ir.DTypeOf(op.Val("lhs").Type) == ir.FP32 {
			most = maxFragments / 2
		}
	})
	yields := map[*ir.Op]bool{} // of counting loops
	f.Body.Walk(func(op *ir.Op) {
		switch op.Kind {
		case ir.MatMul, ir.MatMulAcc:
			g.offer(op.Result(), most)
		case ir.Fused:
			for i, v := range op.Results {
				if Fills(op, i) != nil {
					g.offer(v, most)
				}
			}
		case ir.For:
			yields[op.Regions[0].Terminator()] = true
			g.offerCarried(op, most)
		}
	})
	for n := -1; n != len(g.Fragments); {
		n = len(g.Fragments)
		f.Body.Walk(func(op *ir.Op) {
			if !yields[op] {
				g.serve(op)
			}
		})
	}
}

// offer holds v if that is possible in so many registers, and gives their number.
func (g *Registers) offer(v *ir.Value, most int64) int64 {
	t, ok := v.Type.(*ir.Tile)
	if !ok {
		return 0
	}
	f, ok := FragmentsOf(t)
	if !ok || f.PerThread() > most {
		return 0
	}
	g.Fragments[v] = true
	return f.PerThread()
}

// offerCarried holds what a loop carries, as far as there are registers.
func (g *Registers) offerCarried(loop *ir.Op, most int64) {
	for i, a := range loop.Regions[0].Args[1:] {
		if n := g.offer(a, most); n > 0 {
			most -= n
			g.offer(loop.Results[i], n)
		}
	}
}

// serve sees that op finds its operands where it looks for them.
func (g *Registers) serve(op *ir.Op) {
	switch op.Kind {
	case ir.MatMulAcc:
		g.store(op.Val("lhs"))
		g.store(op.Val("rhs"))
	case ir.For:
		body := op.Regions[0]
		for i, r := range op.Results {
			a, y := body.Args[i+1], body.Terminator().Vals("values")[i]
			if !g.Fragments[r] || !g.Fragments[a] || !g.Fragments[y] {
				delete(g.Fragments, r)
				delete(g.Fragments, a)
				g.store(y)
				g.store(op.Vals("init_values")[i])
			}
		}
	default:
		for _, v := range op.Operands() {
			g.store(v)
		}
	}
}

// store puts v into memory: a loop's result where it is made, others never leave it.
func (g *Registers) store(v *ir.Value) {
	if v.Def != nil && v.Def.Kind == ir.For && g.Fragments[v] {
		g.stored[v] = true
	} else {
		delete(g.Fragments, v)
	}
}

// Fills is the scalar with which a fused loop fills its i-th result; nil: it computes it.
func Fills(op *ir.Op, i int) *ir.Value {
	body := op.Regions[0]
	v := body.Terminator().Vals("values")[len(op.Vals("outs"))+i]
	if Within(body, v) {
		return nil
	}
	return v
}
