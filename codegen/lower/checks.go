package lower

import (
	"ptoc/ir"
	"ptoc/ir/prove"
)

// Checks says which checks of a function's ops are never needed, whatever the number of ranks and the extents
// are. Code generators ask it, and print the others.
type Checks struct{ *prove.Facts }

// ChecksOf collects what is known of a function.
func ChecksOf(f *ir.Func) Checks { return Checks{prove.For(f)} }

var one = ir.ConstDim(1)

// Cell reports whether a signal cell's position certainly lies in a dimension.
func (c Checks) Cell(at, extent ir.Dim) bool { return c.Within(at, one, extent) }

// Extent reports whether a tile's extent certainly lies in what is kept for it.
func (c Checks) Extent(d, most ir.Dim) bool { return c.Nonneg(d) && c.Nonneg(most.Sub(d)) }

// Peer reports whether v, the peer of op, is certainly a rank of the domain.
func (c Checks) Peer(op *ir.Op, v *ir.Value) bool {
	mem := op.Kind.Params[0].Name
	switch op.Kind {
	case ir.Get:
		mem = "src"
	case ir.RemoteStore:
		mem = "target"
	}
	d := ir.DimOf(v)
	if d.Is(0) { // no domain is empty
		return true
	}
	root, _ := ir.Root(op.Val(mem))
	n := c.NRanks(root)
	return n != nil && c.Within(d, one, ir.DimOf(n))
}

// Division is what is needed to compute a // b and a % b as Python does.
type Division int

const (
	Floored  Division = iota // b may be 0, and the signs matter
	Unsigned                 // neither is negative, and b is not 0
	Once                     // and a < 2 b: at most one b to take away
)

// Division says what of it a and b, of dtype INDEX, need.
func (c Checks) Division(a, b ir.Dim) Division {
	switch {
	case !c.Nonneg(a) || !c.Nonneg(b.Sub(one)):
		return Floored
	case c.Nonneg(b.Scale(2).Sub(a).Sub(one)):
		return Once
	}
	return Unsigned
}
