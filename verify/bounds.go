package verify

import (
	"ptoc/ir"
	"ptoc/lang/diag"
)

// Bounds reports the accesses that lie outside of their memory in some iteration of their loops, for
// every number of ranks and every extent. Offsets are polynomials over symbols, ranks and loop counters;
// an interval of two such polynomials is followed through each op. A counter takes both its ends, so an
// end that lies outside is an error; whatever is only possible is left to the run-time check.
func Bounds(m *ir.Module) []Finding {
	c := &bounds{seen: map[*ir.Op]bool{}}
	for _, f := range m.Funcs {
		if f.Kind == ir.Chip || f.Kind == ir.InCore {
			c.block(f.Body)
		}
	}
	return c.findings
}

type bounds struct {
	loops    []*ir.Op // around the op, none of them under a branch since the loop outside
	findings []Finding
	seen     map[*ir.Op]bool
}

// block walks ops that certainly run: branches are left out, and loops that may not run.
func (c *bounds) block(b *ir.Block) {
	for _, op := range b.Ops {
		switch {
		case op.Kind == ir.For:
			if runs(op) {
				c.loops = append(c.loops, op)
				c.block(op.Regions[0])
				c.loops = c.loops[:len(c.loops)-1]
			}
		case op.Kind == ir.If, op.Kind == ir.While:
		default:
			c.op(op)
		}
	}
}

// runs reports whether a loop counts upwards at least once: its trip count is a positive constant.
func runs(op *ir.Op) bool {
	step, ok := op.Val("step").ConstInt()
	n, known := ir.DimOf(op.Val("stop")).Sub(ir.DimOf(op.Val("start"))).Const()
	return ok && step > 0 && known && n > 0
}

func (c *bounds) op(op *ir.Op) {
	for _, e := range op.Kind.Effects {
		if e.Offsets == "" || e.Mem == "" || c.seen[op] || !op.Arg(e.Offsets).Given() {
			continue
		}
		t, ok := op.Val(e.Mem).Type.(*ir.Tensor)
		if !ok {
			continue
		}
		offs := op.Vals(e.Offsets)
		shape := accessShape(op, e, len(offs))
		for i, o := range offs {
			if shape != nil {
				c.check(op, e.Mem, i, ir.DimOf(o), shape[i], t.Dims[i])
			}
		}
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

// check reports an offset whose least value is negative, or whose greatest end is past the extent. Both
// ends are taken only where the offset is linear in counters of loops that run.
func (c *bounds) check(op *ir.Op, mem string, i int, off, size, extent ir.Dim) {
	lo, okLo := c.end(off, false)
	hi, okHi := c.end(off.Add(size), true)
	name := mem
	if v := op.Val(mem); v.Name != "" {
		name = v.Name
	}
	if n, ok := lo.Const(); okLo && ok && n < 0 {
		c.report(op, "dimension %d of %s is accessed from %d on", i, name, n)
		return
	}
	if n, ok := hi.Sub(extent).Const(); okHi && ok && n > 0 {
		c.report(op, "dimension %d of %s is accessed up to %s, which has %s", i, name, hi, extent)
	}
}

func (c *bounds) report(op *ir.Op, format string, args ...any) {
	if c.seen[op] {
		return
	}
	c.seen[op] = true
	c.findings = append(c.findings, Finding{Diagnostic: diag.New(diag.OutOfBounds, op.Span, format, args...), Layer: "static"})
}

// end replaces loop counters by the first or last value that makes d least or greatest; false if d
// depends on other run-time values, or on a counter in more than one way.
func (c *bounds) end(d ir.Dim, greatest bool) (ir.Dim, bool) {
	for range c.loops { // inner bounds may mention outer counters
		for i := len(c.loops) - 1; i >= 0; i-- {
			counter := c.loops[i].Regions[0].Args[0]
			coef, ok := coefficient(d, counter)
			if !ok {
				return d, false
			}
			if coef == 0 {
				continue
			}
			at := ir.DimOf(c.loops[i].Val("start"))
			if (coef > 0) == greatest {
				at = last(c.loops[i])
			}
			d = d.Subst(func(a ir.Atom) (ir.Dim, bool) { return at, a.Op == ir.AtomVal && a.Val == counter })
		}
	}
	return d, !d.HasValues()
}

// last is the counter's value in the last iteration.
func last(op *ir.Op) ir.Dim {
	step, _ := op.Val("step").ConstInt()
	start := ir.DimOf(op.Val("start"))
	n, _ := ir.DimOf(op.Val("stop")).Sub(start).Const()
	return start.Add(ir.ConstDim((n - 1) / step * step))
}

// coefficient is that of a value which occurs in d linearly, alone; 0 if it does not occur.
func coefficient(d ir.Dim, v *ir.Value) (int64, bool) {
	coef, linear := int64(0), true
	d.Terms(func(k int64, atoms []ir.Atom) {
		for _, a := range atoms {
			hit := a.Op == ir.AtomVal && a.Val == v
			if !hit && a.Op != ir.AtomVal && a.Op != ir.AtomSym {
				inside := false
				a.A.Walk(func(b ir.Atom) { inside = inside || b.Op == ir.AtomVal && b.Val == v })
				a.B.Walk(func(b ir.Atom) { inside = inside || b.Op == ir.AtomVal && b.Val == v })
				linear = linear && !inside
			}
			if hit {
				coef += k
				linear = linear && len(atoms) == 1
			}
		}
	})
	return coef, linear
}
