package passes

import "ptoc/ir"

// access is one access of memory by an op that FuseTileOps moves or merges.
type access struct {
	root   *ir.Value
	view   *ir.Value   // the memory operand, without a peer view at its end
	offs   []*ir.Value // nil: anywhere in root
	shape  []ir.Dim
	remote bool
	write  bool
}

// accesses are the accesses of a fusable op.
func accesses(op *ir.Op) []access {
	a := access{}
	var mem *ir.Value
	switch op.Kind {
	case ir.Load:
		mem = op.Val("tensor")
	case ir.RemoteLoad:
		mem, a.remote = op.Val("target"), true
	case ir.Store:
		mem, a.write = op.Val("tensor"), true
	case ir.RemoteStore:
		mem, a.remote, a.write = op.Val("target"), true, true
	default:
		return nil
	}
	root, peer := ir.Root(mem)
	a.root, a.view, a.remote = root, mem, a.remote || peer != nil
	a.offs = op.Vals("offsets")
	a.shape = tileOf(op).Dims
	return []access{a}
}

// sameIndex reports whether element i of both is the same place, or places of different ranks.
func sameIndex(a, b access) bool {
	return a.view == b.view && a.offs != nil && b.offs != nil &&
		ir.DimsEqual(ir.DimsOf(a.offs), ir.DimsOf(b.offs)) && ir.DimsEqual(a.shape, b.shape)
}

// disjoint reports whether both certainly touch different elements.
func disjoint(a, b access) bool {
	if a.root != b.root {
		return true
	}
	if a.view != b.view || a.offs == nil || b.offs == nil {
		return false
	}
	for i := range a.offs {
		if apart(ir.DimOf(a.offs[i]), extentAt(a, i), ir.DimOf(b.offs[i])) || apart(ir.DimOf(b.offs[i]), extentAt(b, i), ir.DimOf(a.offs[i])) {
			return true
		}
	}
	return false
}

func extentAt(a access, i int) ir.Dim {
	if j := i - (len(a.offs) - len(a.shape)); j >= 0 {
		return a.shape[j]
	}
	return ir.ConstDim(1)
}

// apart: the range that begins at lo with this extent ends before other.
func apart(lo, extent, other ir.Dim) bool {
	n, ok := other.Sub(lo).Sub(extent).Const()
	return ok && n >= 0
}

// conflict reports whether the order of two accesses matters.
func conflict(a, b access) bool { return (a.write || b.write) && !disjoint(a, b) }

// sharesLoop reports whether a, which comes first, and b may be in one loop, which reads all elements
// of an index before it writes any of it.
func sharesLoop(a, b access) bool {
	if !conflict(a, b) {
		return true
	}
	// Behind a write of the same element a read would still see the old one.
	return sameIndex(a, b) && !(a.write && !b.write)
}
