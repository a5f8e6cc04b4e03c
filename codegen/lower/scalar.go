package lower

import "ptoc/ir"

// Joined is the type in which two operands meet.
func Joined(a, b *ir.Value) ir.DType {
	x, y := ir.DTypeOf(a.Type), ir.DTypeOf(b.Type)
	_, aTile := a.Type.(*ir.Tile)
	_, bTile := b.Type.(*ir.Tile)
	switch {
	case x == y, aTile && !bTile:
		return x
	case bTile && !aTile:
		return y
	case x.IsInt() && y.IsInt() && (x == ir.INDEX || y == ir.INDEX):
		return ir.INDEX
	case x.IsFloat() && !y.IsFloat():
		return x
	case y.IsFloat() && !x.IsFloat():
		return y
	case b.IsConst():
		return x
	case a.IsConst():
		return y
	}
	return max(x, y)
}
