package lower

import "ptoc/ir"

// SpmdLoop is the innermost pl.spmd around an op, of the loops that are open; nil if there is none.
func SpmdLoop(open []*ir.Op) *ir.Op {
	for i := len(open) - 1; i >= 0; i-- {
		if isSpmd(open[i]) {
			return open[i]
		}
	}
	return nil
}

func isSpmd(op *ir.Op) bool { return op.Kind == ir.For && op.Enum("kind").Is("spmd") }

// Askers are the functions that ask for the block around their call: pl.get_block_idx and pl.get_block_num with no
// pl.spmd of the function around them mean the caller's. Functions that were looked at are in it.
type Askers map[*ir.Func]bool

// Has reports whether f asks, by itself or through what it calls.
func (a Askers) Has(f *ir.Func) bool {
	asks, known := a[f]
	if !known {
		asks = a.in(f.Body)
		a[f] = asks
	}
	return asks
}

func (a Askers) in(b *ir.Block) bool {
	for _, op := range b.Ops {
		switch {
		case op.Kind == ir.BlockIdx || op.Kind == ir.BlockNum || op.Kind == ir.Call && a.Has(op.Callee()):
			return true
		case isSpmd(op): // what stands in it asks for its blocks
		default:
			for _, r := range op.Regions {
				if a.in(r) {
					return true
				}
			}
		}
	}
	return false
}
