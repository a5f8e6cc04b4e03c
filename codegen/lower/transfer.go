package lower

import "ptoc/ir"

// MovesWithin reports whether a put or get may have this rank for its peer and then copy some of a window
// over other elements that it copies too. Onto itself, element by element, is no trouble.
func MovesWithin(op *ir.Op) bool {
	dst, src := op.Val("dst"), op.Val("src")
	a, _ := ir.Root(dst)
	b, _ := ir.Root(src)
	same := dst == src && ir.DimsEqual(ir.DimsOf(op.Vals("dst_offsets")), ir.DimsOf(op.Vals("src_offsets")))
	return a == b && !same
}

// Reach is how many elements lie from the first to the last.
func (l Layout) Reach() ir.Dim {
	n := ir.ConstDim(1)
	for i, d := range l.Dims {
		n = n.Add(d.Sub(ir.ConstDim(1)).Mul(l.Strides[i]))
	}
	return n
}
