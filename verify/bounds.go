package verify

import (
	"fmt"

	"ptoc/ir"
	"ptoc/ir/prove"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// Bounds reports the accesses that lie outside of their memory in some iteration of their loops, and the peers
// that do not exist, for every number of ranks and every extent. Offsets are polynomials over symbols,
// ranks and loop counters with // and %; package prove finds their bounds. A counter takes both its
// ends, and so does a rank, so an end that certainly lies outside is an error; whatever is only
// possible is left to the run-time check.
func Bounds(m *ir.Module) []Finding { return boundsOf(m, nil, nil).findings }

// boundsOf looks at all kernels. ranks are the symbols that may be taken for the number of ranks; ops at the
// places in skip are left out.
func boundsOf(m *ir.Module, ranks map[string]bool, skip map[source.Span]bool) *bounds {
	c := &bounds{seen: map[*ir.Op]bool{}, skip: skip}
	for _, f := range m.Funcs {
		if f.Kind != ir.Chip && f.Kind != ir.InCore {
			continue
		}
		c.facts, c.everywhere = prove.For(f), onEveryRank(m, f)
		// That windows of one kernel share a domain is what the run for given rank counts holds it to.
		n, asks := c.facts.OneDomain()
		for s := range ranks {
			if asks {
				c.facts.Assume(s, n)
			} else {
				c.facts.AssumeRanks(ir.SymDim(s))
			}
		}
		c.block(f.Body, true)
	}
	return c
}

type bounds struct {
	facts      *prove.Facts
	everywhere bool     // every rank runs the function: its rank takes every value
	loops      []*ir.Op // around the op
	findings   []Finding
	seen       map[*ir.Op]bool
	places     []bool // operands that must lie within bounds: whether they do for every number of ranks and extent
	skip       map[source.Span]bool
}

// onEveryRank reports whether f is dispatched in just one place, which is a loop over all ranks.
func onEveryRank(m *ir.Module, f *ir.Func) bool {
	sites, all := 0, false
	var walk func(b *ir.Block, certain bool)
	walk = func(b *ir.Block, certain bool) {
		for _, op := range b.Ops {
			if op.Kind == ir.Call && op.Callee() == f {
				sites++
				loop := loopOverRanks(op.Val("device"))
				all = certain && loop
			}
			for _, r := range op.Regions {
				walk(r, certain && op.Kind != ir.If && op.Kind != ir.While)
			}
		}
	}
	for _, g := range m.Funcs {
		walk(g.Body, true)
	}
	return sites == 1 && all
}

func loopOverRanks(device *ir.Value) bool {
	if device == nil {
		return false
	}
	loop := prove.LoopOf(device)
	return loop != nil && ir.DimOf(loop.Val("start")).Is(0) && loop.Val("stop").Def != nil && loop.Val("stop").Def.Kind == ir.WorldSize
}

// block walks ops; certain says that they run.
func (c *bounds) block(b *ir.Block, certain bool) {
	for _, op := range b.Ops {
		switch op.Kind {
		case ir.For:
			c.loops = append(c.loops, op)
			c.block(op.Regions[0], certain && c.runs(op))
			c.loops = c.loops[:len(c.loops)-1]
		case ir.If, ir.While:
			for _, r := range op.Regions {
				c.block(r, false)
			}
		default:
			c.op(op, certain)
		}
	}
}

// runs reports whether a loop counts upwards at least once.
func (c *bounds) runs(op *ir.Op) bool {
	step, ok := op.Val("step").ConstInt()
	return ok && step > 0 && c.facts.Nonneg(ir.DimOf(op.Val("stop")).Sub(ir.DimOf(op.Val("start"))).Sub(ir.ConstDim(1)))
}

func (c *bounds) op(op *ir.Op, certain bool) {
	if c.skip[op.Span] {
		return
	}
	for _, e := range op.Kind.Effects {
		if e.Peer != "" {
			c.peer(op, e, certain)
		}
		if e.Offsets == "" || e.Mem == "" || !op.Arg(e.Offsets).Given() {
			continue
		}
		t, ok := op.Val(e.Mem).Type.(*ir.Tensor)
		if !ok {
			continue
		}
		offs := op.Vals(e.Offsets)
		shape := accessShape(op, e, len(offs))
		proved := shape != nil
		for i := range shape {
			off := ir.DimOf(offs[i])
			if c.facts.Within(off, shape[i], t.Dims[i]) {
				continue
			}
			proved = false
			if certain && !c.seen[op] {
				c.check(op, e.Mem, i, off, shape[i], t.Dims[i])
			}
		}
		c.places = append(c.places, proved)
	}
}

// accessShape are the extents that an effect touches; nil if they do not line up.
func accessShape(op *ir.Op, e ir.Effect, rank int) []ir.Dim {
	var shape []ir.Dim
	switch {
	case e.Shape == "":
		for range rank {
			shape = append(shape, ir.ConstDim(1))
		}
	case op.Arg("valid_shape").Given():
		shape = ir.DimsOf(op.Vals("valid_shape"))
	default:
		if tile := op.Val(e.Shape); tile != nil && ir.ShapeOf(tile.Type) != nil {
			shape = ir.ShapeOf(tile.Type)
		} else {
			shape = ir.DimsOf(op.Vals(e.Shape))
		}
	}
	for len(shape) < rank {
		shape = append([]ir.Dim{ir.ConstDim(1)}, shape...)
	}
	if len(shape) != rank {
		return nil
	}
	return shape
}

// check reports an offset whose least value is negative, or whose greatest end is past the extent.
func (c *bounds) check(op *ir.Op, mem string, i int, off, size, extent ir.Dim) {
	one := ir.ConstDim(1)
	name := mem
	if v := op.Val(mem); v.Name != "" {
		name = v.Name
	}
	if lo, ok := c.end(off, false); ok && c.facts.Nonneg(lo.Scale(-1).Sub(one)) {
		c.report(diag.OutOfBounds, op, "dimension %d of %s is accessed from %s on", i, name, lo)
		return
	}
	if hi, ok := c.end(off.Add(size), true); ok && c.facts.Nonneg(size.Sub(one)) && c.facts.Nonneg(hi.Sub(extent).Sub(one)) {
		c.report(diag.OutOfBounds, op, "dimension %d of %s is accessed up to %s, which has %s", i, name, c.text(hi), extent)
	}
}

// peer looks at a peer operand.
func (c *bounds) peer(op *ir.Op, e ir.Effect, certain bool) {
	v := op.Val(e.Peer)
	if v == nil {
		return
	}
	d, one := ir.DimOf(v), ir.ConstDim(1)
	window, _ := ir.Root(op.Val(e.Mem))
	n, known := c.facts.Ranks(window)
	if !known {
		c.places = append(c.places, d.Is(0))
		return
	}
	proved := c.facts.Nonneg(d) && c.facts.Nonneg(n.Sub(d).Sub(one))
	c.places = append(c.places, proved)
	if proved || !certain || c.seen[op] {
		return
	}
	if lo, ok := c.end(d, false); ok && c.facts.Nonneg(lo.Scale(-1).Sub(one)) {
		c.report(diag.NoSuchPeer, op, "rank %s is addressed", c.text(lo))
	} else if hi, ok := c.end(d, true); ok && c.facts.Nonneg(hi.Sub(n)) {
		c.report(diag.NoSuchPeer, op, "rank %s is addressed, and ranks count from 0", c.text(hi))
	}
}

func (c *bounds) report(code diag.Code, op *ir.Op, format string, args ...any) {
	c.seen[op] = true
	c.findings = append(c.findings, Finding{Diagnostic: diag.New(code, op.Span, format, args...), Layer: "static"})
}

// text writes a dim with the names that the program gives its values.
func (c *bounds) text(d ir.Dim) string {
	return d.Text(func(v *ir.Value) string {
		if v.Name == "" {
			return "?"
		}
		return v.Name
	})
}

// end replaces loop counters and ranks by the first or last value that makes d least or greatest; false if
// d depends on other run-time values, or on one of these in more than one way.
func (c *bounds) end(d ir.Dim, greatest bool) (ir.Dim, bool) {
	d = c.facts.Plain(d)
	for range 2 * (len(c.loops) + 1) { // inner bounds may mention outer counters
		v, first, last := c.variable(d)
		if v == nil {
			break
		}
		coef, ok := coefficient(d, v)
		if !ok {
			return d, false
		}
		at := first
		switch {
		case c.facts.Nonneg(coef):
			if greatest {
				at = last
			}
		case c.facts.Nonneg(coef.Scale(-1)):
			if !greatest {
				at = last
			}
		default:
			return d, false
		}
		d = d.Subst(func(a ir.Atom) (ir.Dim, bool) { return at, a.Op == ir.AtomVal && a.Val == v })
	}
	known := true
	d.Walk(func(a ir.Atom) {
		known = known && (a.Op != ir.AtomVal || a.Val.Def != nil && a.Val.Def.Kind == ir.NRanks)
	})
	return d, known
}

// variable is a counter or rank in d that takes all values between two ends; nil if there is none. Inner
// counters come first, and ranks last: the ends of some depend on others.
func (c *bounds) variable(d ir.Dim) (v *ir.Value, first, last ir.Dim) {
	inside := map[*ir.Value]bool{}
	var rank *ir.Value
	var ranks ir.Dim
	d.Walk(func(a ir.Atom) {
		if a.Op != ir.AtomVal {
			return
		}
		inside[a.Val] = true
		if n, ok := c.ranksOf(a.Val); ok && c.everywhere {
			rank, ranks = a.Val, n
		}
	})
	for i := len(c.loops) - 1; i >= 0; i-- {
		l := c.loops[i]
		if v := l.Regions[0].Args[0]; inside[v] {
			return v, c.facts.Plain(ir.DimOf(l.Val("start"))), c.facts.Plain(lastOf(l))
		}
	}
	if rank == nil {
		return nil, first, last
	}
	return rank, ir.ConstDim(0), ranks.Sub(ir.ConstDim(1))
}

// ranksOf is how many ranks there are where v is the rank.
func (c *bounds) ranksOf(v *ir.Value) (ir.Dim, bool) {
	if v.Def == nil || v.Def.Kind != ir.Rank || v.Def.Val("ctx").Def == nil {
		return ir.Dim{}, false
	}
	root, _ := ir.Root(v.Def.Val("ctx").Def.Val("target"))
	return c.facts.Ranks(root)
}

// lastOf is the counter's value in the last iteration of a loop that counts upwards.
func lastOf(op *ir.Op) ir.Dim {
	step, _ := op.Val("step").ConstInt()
	start := ir.DimOf(op.Val("start"))
	trips := ir.DimOf(op.Val("stop")).Sub(start).Sub(ir.ConstDim(1)).Div(ir.ConstDim(max(step, 1)))
	return start.Add(trips.Scale(step))
}

// coefficient is that of a value which occurs in d linearly; false if it occurs in another way too.
func coefficient(d ir.Dim, v *ir.Value) (ir.Dim, bool) {
	is := func(a ir.Atom) bool { return a.Op == ir.AtomVal && a.Val == v }
	coef, linear := ir.Dim{}, true
	d.Terms(func(k int64, atoms []ir.Atom) {
		hits, rest := 0, ir.ConstDim(k)
		for _, a := range atoms {
			if is(a) {
				hits++
				continue
			}
			a.A.Walk(func(b ir.Atom) { linear = linear && !is(b) })
			a.B.Walk(func(b ir.Atom) { linear = linear && !is(b) })
			rest = rest.Mul(prove.DimOf(a))
		}
		linear = linear && hits <= 1
		if hits == 1 {
			coef = coef.Add(rest)
		}
	})
	return coef, linear
}

// everyRankCount says how many of the program's own accesses are within bounds for every number of ranks.
func (p *Program) everyRankCount() string {
	if p.allBounds == "" {
		all, proved := 0, 0
		// Collectives are lowered for the number of ranks: their bounds are looked at for that one.
		collectives := map[source.Span]bool{}
		for _, f := range p.Source.Funcs {
			f.Walk(func(op *ir.Op) {
				if op.Kind.Composite {
					collectives[op.Span] = true
				}
			})
		}
		for _, proof := range boundsOf(p.Lowered, p.rankSymbols(), collectives).places {
			all++
			if proof {
				proved++
			}
		}
		switch {
		case all == 0:
			p.allBounds = "no accesses"
		case proved == all:
			p.allBounds = fmt.Sprintf("%s, for every number of ranks and every extent", plural(all, "access"))
		default:
			p.allBounds = fmt.Sprintf("%d of %d accesses for every number of ranks and every extent, the others for these", proved, all)
		}
	}
	return p.allBounds
}
