package ptx

import (
	"errors"
	"math"
	"math/big"

	"ptoc/codegen/lower"
	"ptoc/ir"
)

// Demand is what a call of a kernel wants of its GPU.
type Demand struct {
	Blocks int64 // that it can use, at least one
	Arena  int64 // bytes of global scratch for each of them
	Common int64 // and for all of them together
}

// Demand of a call with these argument slots, on a number of ranks.
func (k *Kernel) Demand(args []int64, ranks int) (d Demand, err error) {
	slot := 0
	syms, vals := map[string]int64{ranksSym: int64(ranks)}, map[*ir.Value]int64{}
	for _, p := range k.Func.Params() {
		if t, ok := p.Type.(*ir.Tensor); ok && t.Window {
			slot++
		}
		vals[p] = args[slot]
		slot++
	}
	for _, s := range k.Syms {
		syms[s] = args[slot]
		slot++
	}
	env := func(a ir.Atom) (int64, bool) {
		if a.Op == ir.AtomSym {
			n, ok := syms[a.Sym]
			return n, ok
		}
		n, ok := vals[a.Val]
		return n, ok
	}
	if d.Blocks, err = k.Blocks.Eval(env); err != nil { // a division by zero, which the kernel will report
		d.Blocks = 1
	}
	d.Blocks = max(d.Blocks, 1)
	if d.Arena, err = bytesIn64(k.Arena, env); err != nil {
		return d, err
	}
	d.Common, err = bytesIn64(k.Common, env)
	return d, err
}

// bytesIn64 evaluates a number of bytes as the CPU's kernels do: what does not fit 64 bits is too large, whatever
// becomes of it, and a division by zero, which the kernel will report, is 0.
func bytesIn64(d ir.Dim, env func(ir.Atom) (int64, bool)) (int64, error) {
	s := sizing{env: env}
	n := s.dim(d)
	if s.over {
		n = math.MaxInt64
	}
	return max(n, 0), s.err
}

type sizing struct {
	env  func(ir.Atom) (int64, bool)
	over bool
	err  error
}

func (s *sizing) dim(d ir.Dim) int64 {
	sum := new(big.Int)
	d.Terms(func(coef int64, atoms []ir.Atom) {
		p := big.NewInt(coef)
		for _, a := range atoms {
			p.Mul(p, big.NewInt(s.atom(a)))
		}
		sum.Add(sum, p)
	})
	if !sum.IsInt64() {
		s.over = true
		return math.MaxInt64
	}
	return sum.Int64()
}

func (s *sizing) atom(a ir.Atom) int64 {
	if a.Op == ir.AtomSym || a.Op == ir.AtomVal {
		n, ok := s.env(a)
		if !ok {
			s.err = errors.New("a size has no value before the kernel runs")
		}
		return n
	}
	x, y := s.dim(a.A), s.dim(a.B)
	switch {
	case a.Op == ir.AtomMin:
		return min(x, y)
	case a.Op == ir.AtomMax:
		return max(x, y)
	case y == 0:
		return 0
	case a.Op == ir.AtomMod:
		return ir.FloorMod(x, y)
	}
	return ir.FloorDiv(x, y)
}

// blockNeed is the scratch of one block of f's. Compact: created tensors of all blocks are left out of it; whether
// that can be is known only where all sizes are.
func (g *gen) blockNeed(f *ir.Func) (need ir.Dim, compact bool) {
	if g.planOf(f).deals() {
		if n, ok := g.ownNeed(f, true); ok {
			return ir.ConstDim(n), true
		}
	}
	return g.need.Of(f), false
}

// ownNeed is that of f and what it calls; all: all blocks go through f.
func (g *gen) ownNeed(f *ir.Func, all bool) (bytes int64, ok bool) {
	if !all {
		return g.need.Of(f).Const()
	}
	lo, hi, ok := g.extent(f)
	most := int64(0)
	f.Body.Walk(func(op *ir.Op) {
		if op.Kind == ir.Call {
			n, known := g.ownNeed(op.Callee(), g.planOf(f).holds[op])
			most, ok = max(most, n), ok && known
		}
	})
	return hi - lo + most, ok
}

// extent is from where to where in f's scratch what is a block's own lies. Large buffers come first: created
// tensors often stand before all of it.
func (g *gen) extent(f *ir.Func) (lo, hi int64, ok bool) {
	ok = true
	add := func(v *ir.Value) {
		if v.Arena == nil || g.planOf(f).common[v] {
			return
		}
		dims := ir.ShapeOf(v.Type)
		if t, tile := v.Type.(*ir.Tile); tile {
			dims = t.Storage()
		}
		at, known := v.Arena.Const()
		size, sized := ir.Product(dims).Const()
		if ok = ok && known && sized; !ok {
			return
		}
		if hi == 0 || at < lo {
			lo = at
		}
		hi = max(hi, (at+max(size, 1)*int64(ir.DTypeOf(v.Type).Size())+63)&^63)
	}
	f.WalkBlocks(func(b *ir.Block) {
		for _, v := range b.Args {
			add(v)
		}
		for _, op := range b.Ops {
			for _, v := range op.Results {
				add(v)
			}
		}
	})
	return lo, hi, ok
}

// common is what all blocks of a rank share: what is told, and created tensors. need is what one of them needs
// for everything that it makes.
func common(told int64, tensors bool, need ir.Dim) ir.Dim {
	d := ir.ConstDim(told)
	if tensors {
		d = d.Add(need)
	}
	return d
}

// Again is a kernel that was compiled before: what was written down of it (its name, block and grid) comes
// from then, what follows from its function is found once more. arena says that its tiles are in global memory.
func Again(k Kernel, f *ir.Func, arena bool) (_ Kernel, err error) {
	defer lower.Catch(&err)
	k.Kind, k.Func, k.Blocks = f.Kind, f, ir.ConstDim(1)
	g := newGen(Options{})
	if arena && k.Grid {
		k.Arena, _ = g.blockNeed(f)
	} else if arena {
		k.Arena = g.need.Of(f)
	}
	if k.Grid {
		k.Blocks, k.Common = g.blocks(f), common(k.Told, k.Tensors, ir.Dim{})
		if k.Tensors {
			k.Common = common(k.Told, true, g.need.Of(f))
		}
	}
	return k, nil
}
