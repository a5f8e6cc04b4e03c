package lower

import "ptoc/ir"

// Layout is how a tensor, a view or a tile lies in memory: extents, and strides in elements.
type Layout struct{ Dims, Strides []ir.Dim }

// RowMajor is the layout of memory without gaps.
func RowMajor(dims []ir.Dim) Layout {
	l := Layout{dims, make([]ir.Dim, len(dims))}
	s := ir.ConstDim(1)
	for i := len(dims) - 1; i >= 0; i-- {
		l.Strides[i] = s
		s = s.Mul(dims[i])
	}
	return l
}

// Contiguous reports whether the elements stand one after the other, by what is known of the strides.
func (l Layout) Contiguous() bool {
	s := ir.ConstDim(1)
	for i := len(l.Dims) - 1; i >= 0; i-- {
		if !l.Dims[i].Is(1) && !l.Strides[i].Equal(s) {
			return false
		}
		s = s.Mul(l.Dims[i])
	}
	return true
}

// NeedContiguous refuses a view with gaps where what ("pl.reshape") cannot take one.
func (l Layout) NeedContiguous(op *ir.Op, what string) {
	if !l.Contiguous() {
		Fail(op.Span, "%s needs memory without gaps: copy the view into a created tensor first", what)
	}
}

// Swapped is the layout with two axes exchanged.
func (l Layout) Swapped(i, j int) Layout {
	out := Layout{append([]ir.Dim(nil), l.Dims...), append([]ir.Dim(nil), l.Strides...)}
	out.Dims[i], out.Dims[j] = out.Dims[j], out.Dims[i]
	out.Strides[i], out.Strides[j] = out.Strides[j], out.Strides[i]
	return out
}

// AlignRight puts extents of 1 in front of dims until there are n.
func AlignRight(dims []ir.Dim, n int) []ir.Dim {
	out := make([]ir.Dim, 0, n)
	for i := len(dims); i < n; i++ {
		out = append(out, ir.ConstDim(1))
	}
	return append(out, dims...)
}

// Axes are the loops of an elementwise nest: extents, and one stride for each operand.
type Axes struct {
	Extents []ir.Dim
	Strides [][]ir.Dim // [axis][operand]; 0 where the operand broadcasts
}

// Nest makes the axes of a nest over shape. Dims over which every operand runs on without a gap are merged,
// so that most nests are one loop; with columns, the last one stays what it is.
func Nest(shape []ir.Dim, operands []Layout, columns bool) Axes {
	var a Axes
	for i, d := range shape {
		if d.Is(1) && !(columns && i == len(shape)-1) {
			continue
		}
		row := make([]ir.Dim, len(operands))
		for k, m := range operands {
			j := i - (len(shape) - len(m.Dims))
			if j >= 0 && !(m.Dims[j].Is(1) && !d.Is(1)) {
				row[k] = m.Strides[j]
			}
		}
		last := len(a.Extents) - 1
		if last >= 0 && !columns && mergeable(a.Strides[last], row, d) {
			a.Extents[last] = a.Extents[last].Mul(d)
			a.Strides[last] = row
			continue
		}
		a.Extents = append(a.Extents, d)
		a.Strides = append(a.Strides, row)
	}
	if len(a.Extents) == 0 {
		a.Extents = []ir.Dim{ir.ConstDim(1)}
		a.Strides = [][]ir.Dim{make([]ir.Dim, len(operands))}
	}
	return a
}

// mergeable: stepping the outer axis once is the same as stepping the inner one to its end.
func mergeable(outer, inner []ir.Dim, extent ir.Dim) bool {
	for k := range outer {
		if !outer[k].Equal(inner[k].Mul(extent)) {
			return false
		}
	}
	return true
}

// Product is a matrix product's shape: [batch, rows, inner] times [batch, inner, cols].
type Product struct {
	Batch, Rows, Inner, Cols ir.Dim
	// A and B are the strides of rows and columns of the operands as they are multiplied: a transposed one
	// is read across.
	A, B [2]ir.Dim
}

// ProductOf reads the shape of a matmul or matmul_acc off its operands.
func ProductOf(op *ir.Op) Product {
	a, b := ir.ShapeOf(op.Val("lhs").Type), ir.ShapeOf(op.Val("rhs").Type)
	out := ir.ShapeOf(op.Result().Type)
	r := len(a)
	one := ir.ConstDim(1)
	p := Product{Batch: ir.Product(a[:r-2]), Rows: out[len(out)-2], Inner: a[r-1], Cols: out[len(out)-1],
		A: [2]ir.Dim{a[r-1], one}, B: [2]ir.Dim{b[len(b)-1], one}}
	if op.Bool("a_trans") {
		p.A[0], p.A[1], p.Inner = p.A[1], p.A[0], a[r-2]
	}
	if op.Bool("b_trans") {
		p.B[0], p.B[1] = p.B[1], p.B[0]
	}
	return p
}
