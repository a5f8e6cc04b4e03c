package target

import (
	"math/bits"
	"slices"

	"ptoc/ir"
)

// Swizzle is how a tile lies in shared memory so that the eight rows that a warp reads of a matrix at a time, 16 bytes
// of each, are in different banks, of which one line of 128 bytes has all: the place of 16 bytes in their line is
// exclusive-ored with three bits of their line's number, in which the eight rows differ. What is next to each other
// within 16 bytes stays so. (CUTLASS calls it Swizzle<3, 4, n>.)
type Swizzle int // how far right those bits go to where they are used; 0: as it comes

// Bits are those that go there: of a byte's offset in the tile o, it is at o ^ (o >> s & Bits).
const (
	Bits = 0x70
	line = 128
)

// swizzleOf is the one for a tile; 0 if its rows are not 32, 64, ... bytes of 16-bit floats.
// FP32 operands stay as they are: lanes read them an element at a time, and the assembler makes one access of four in a
// row, which it cannot of swizzled ones.
func swizzleOf(v *ir.Value) Swizzle {
	t, ok := v.Type.(*ir.Tile)
	if !ok || len(t.Dims) < 2 || t.DType != ir.FP16 && t.DType != ir.BF16 || !ir.DimsEqual(t.Dims, t.Storage()) {
		return 0
	}
	cols, ok1 := t.Dims[len(t.Dims)-1].Const()
	rest, ok2 := ir.Product(t.Dims[:len(t.Dims)-1]).Const()
	row := cols * int64(t.DType.Size())
	if !ok1 || !ok2 || rest%8 != 0 || row < 32 || row&(row-1) != 0 {
		return 0
	}
	return Swizzle(bits.Len64(uint64(max(row, line))) - 1 - bits.TrailingZeros(Bits))
}

// Swizzles decides which tiles of f that lie in memory, as g says, are swizzled: operands of products that fused loops
// make, counting loops carry, and nothing else looks at.
func Swizzles(f *ir.Func, g *Registers) map[*ir.Value]Swizzle {
	can, wanted := map[*ir.Value]bool{}, map[*ir.Value]bool{}
	yields := map[*ir.Op]bool{} // of counting loops
	var carried [][]*ir.Value   // what is one tile, or moved from one to the other
	offer := func(v *ir.Value) {
		if swizzleOf(v) != 0 && g.Memory(v) && !g.Fragments[v] {
			can[v] = true
		}
	}
	f.Body.Walk(func(op *ir.Op) {
		switch op.Kind {
		case ir.Fused:
			for _, v := range op.Results {
				offer(v)
			}
		case ir.For:
			body := op.Regions[0]
			yields[body.Terminator()] = true
			for i, r := range op.Results {
				offer(r)
				offer(body.Args[i+1])
				carried = append(carried, []*ir.Value{r, body.Args[i+1], op.Vals("init_values")[i], body.Terminator().Vals("values")[i]})
			}
		case ir.MatMul, ir.MatMulAcc:
			wanted[op.Val("lhs")], wanted[op.Val("rhs")] = true, true
		}
	})
	f.Body.Walk(func(op *ir.Op) {
		switch {
		case op.Kind == ir.Fused, op.Kind == ir.For, op.Kind == ir.MatMul, op.Kind == ir.MatMulAcc, yields[op]:
			return
		}
		for _, v := range op.Operands() {
			delete(can, v)
		}
	})
	for n, m := -1, -1; n != len(can) || m != len(wanted); {
		n, m = len(can), len(wanted)
		for _, vs := range carried {
			together(can, vs...)
			if slices.ContainsFunc(vs, func(v *ir.Value) bool { return wanted[v] }) {
				for _, v := range vs {
					wanted[v] = true
				}
			}
		}
	}
	out := map[*ir.Value]Swizzle{}
	for v := range can {
		if wanted[v] {
			out[v] = swizzleOf(v)
		}
	}
	return out
}
