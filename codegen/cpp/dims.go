package cpp

import (
	"fmt"
	"strings"

	"ptoc/codegen/lower"
	"ptoc/ir"
)

// dim is a C++ expression for d, in parentheses where it needs them. Variables in scope that hold d, or
// a part of it, are used.
func (e *fn) dim(d ir.Dim) string {
	s, atomic := e.dimText(d, true)
	if atomic {
		return s
	}
	return "(" + s + ")"
}

// bareDim is dim without outer parentheses.
func (e *fn) bareDim(d ir.Dim) string {
	s, _ := e.dimText(d, true)
	return s
}

// plainDim is bareDim without variables other than parameters and symbols.
func (e *fn) plainDim(d ir.Dim) string {
	s, _ := e.dimText(d, false)
	return s
}

func (e *fn) lookup(d ir.Dim) (string, bool) {
	key := d.String()
	for i := len(e.scopes) - 1; i >= 0; i-- {
		if n, ok := e.scopes[i][key]; ok {
			return n, true
		}
	}
	return "", false
}

func (e *fn) dimText(d ir.Dim, vars bool) (text string, atomic bool) {
	if c, ok := d.Const(); ok {
		return intLit(c), c >= 0
	}
	if vars {
		if n, ok := e.lookup(d); ok {
			return n, true
		}
	}
	var b strings.Builder
	n := 0
	d.Terms(func(coef int64, atoms []ir.Atom) {
		t, neg := e.termText(coef, atoms, vars)
		switch {
		case n == 0 && neg:
			b.WriteString("-" + t)
		case n == 0:
			b.WriteString(t)
		case neg:
			b.WriteString(" - " + t)
		default:
			b.WriteString(" + " + t)
		}
		n++
		atomic = !neg && coef == 1 && len(atoms) == 1
	})
	return b.String(), n == 1 && atomic
}

func (e *fn) termText(coef int64, atoms []ir.Atom, vars bool) (text string, neg bool) {
	var parts []string
	for _, a := range atoms {
		parts = append(parts, e.atom(a, vars))
	}
	neg = coef < 0 && coef != -coef
	if neg {
		coef = -coef
	}
	if coef != 1 || len(parts) == 0 {
		parts = append(parts, intLit(coef))
	}
	return strings.Join(parts, " * "), neg
}

func (e *fn) atom(a ir.Atom, vars bool) string {
	switch a.Op {
	case ir.AtomSym:
		if n, ok := e.symName[a.Sym]; ok {
			return n
		}
		lower.Fail(e.f.Span, "%s: the symbol %s has no value here", e.f.Name, a.Sym)
	case ir.AtomVal:
		return e.scalarAs(a.Val, ir.INDEX)
	}
	if vars {
		if n, ok := e.lookup(atomDim(a)); ok {
			return n
		}
	}
	x, y := e.part(a.A, vars), e.part(a.B, vars)
	name := map[ir.AtomOp]string{ir.AtomDiv: "floordiv", ir.AtomMod: "floormod", ir.AtomMin: "lower", ir.AtomMax: "upper"}[a.Op]
	return fmt.Sprintf("%s(%s, %s)", e.g.use("ptoc_"+name), x, y)
}

func (e *fn) part(d ir.Dim, vars bool) string {
	s, _ := e.dimText(d, vars)
	if _, ok := d.Const(); ok && !vars {
		return "(__int128)" + s
	}
	if _, ok := d.Const(); ok {
		return "(i64)" + s
	}
	return s
}

// atomDim is the dim that is just a.
func atomDim(a ir.Atom) ir.Dim {
	switch a.Op {
	case ir.AtomSym:
		return ir.SymDim(a.Sym)
	case ir.AtomVal:
		return ir.DimOf(a.Val)
	case ir.AtomDiv:
		return a.A.Div(a.B)
	case ir.AtomMod:
		return a.A.Mod(a.B)
	case ir.AtomMin:
		return a.A.Min(a.B)
	}
	return a.A.Max(a.B)
}

func intLit(n int64) string {
	switch {
	case n == -1<<63:
		return "(-0x7fffffffffffffffLL - 1)"
	case n > 1<<31-1 || n < -1<<31+1:
		return fmt.Sprintf("%dLL", n)
	}
	return fmt.Sprint(n)
}

// nonneg reports whether d can be seen never to be negative: bounds checks that it proves are not
// printed. It knows that symbols and ranks are not negative, how many ranks there are, and
// how far loops count.
func (e *fn) nonneg(d ir.Dim) bool { return e.prove(d, 6) }

// prove is search with a memory: different substitutions lead to the same dims again and again, and
// accesses of a loop have the same bounds. What is true of values does not depend on the place.
func (e *fn) prove(d ir.Dim, fuel int) bool {
	if e.proved[d.Key()] {
		return true
	}
	if with, ok := e.failed[d.Key()]; ok && fuel <= with {
		return false
	}
	if e.search(d, fuel) {
		e.proved[d.Key()] = true
		return true
	}
	e.failed[d.Key()] = fuel
	return false
}

func (e *fn) search(d ir.Dim, fuel int) bool {
	type term struct {
		coef  int64
		atoms []ir.Atom
	}
	var terms []term
	good := true
	d.Terms(func(coef int64, atoms []ir.Atom) {
		terms = append(terms, term{coef, atoms})
		good = good && coef > 0 && e.atomsNonneg(atoms, fuel)
	})
	if good {
		return true
	}
	if fuel == 0 {
		return false
	}
	for _, t := range terms {
		// c * (a // c) is at most a.
		if n, ok := divisor(t.atoms); ok && t.coef < 0 && t.coef%n == 0 {
			change := atomDim(t.atoms[0]).Scale(-t.coef).Add(t.atoms[0].A.Scale(t.coef / n))
			if e.prove(d.Add(change), fuel-1) {
				return true
			}
		}
		for i, a := range t.atoms {
			rest := append(append([]ir.Atom(nil), t.atoms[:i]...), t.atoms[i+1:]...)
			if !e.atomsNonneg(rest, fuel-1) {
				continue
			}
			bounds := e.lowerBounds(a)
			if t.coef < 0 {
				bounds = e.upperBounds(a, fuel)
			}
			for _, b := range bounds {
				// Only this term's atom is replaced: its sign decides which bound is safe.
				change := b.Sub(atomDim(a)).Scale(t.coef)
				for _, r := range rest {
					change = change.Mul(atomDim(r))
				}
				if e.prove(d.Add(change), fuel-1) {
					return true
				}
			}
		}
	}
	return false
}

// divisor is n where atoms are just a // n with a constant n > 0.
func divisor(atoms []ir.Atom) (int64, bool) {
	if len(atoms) != 1 || atoms[0].Op != ir.AtomDiv {
		return 0, false
	}
	n, ok := atoms[0].B.Const()
	return n, ok && n > 0
}

func (e *fn) atomsNonneg(atoms []ir.Atom, fuel int) bool {
	for _, a := range atoms {
		if !e.atomNonneg(a, fuel) {
			return false
		}
	}
	return true
}

func (e *fn) atomNonneg(a ir.Atom, fuel int) bool {
	if fuel == 0 {
		return a.Op == ir.AtomSym
	}
	switch a.Op {
	case ir.AtomSym:
		return true
	case ir.AtomVal:
		return e.valueNonneg(a.Val, fuel)
	case ir.AtomDiv:
		return e.prove(a.A, fuel-1) && e.prove(a.B, fuel-1)
	case ir.AtomMod:
		return e.prove(a.B, fuel-1)
	case ir.AtomMin:
		return e.prove(a.A, fuel-1) && e.prove(a.B, fuel-1)
	}
	return e.prove(a.A, fuel-1) || e.prove(a.B, fuel-1)
}

func (e *fn) valueNonneg(v *ir.Value, fuel int) bool {
	if v.Def != nil {
		switch v.Def.Kind {
		case ir.Rank, ir.NRanks, ir.BlockIdx:
			return true
		}
		return false
	}
	if loop := e.counterOf(v); loop != nil {
		step, ok := loop.Val("step").ConstInt()
		return ok && step > 0 && e.prove(ir.DimOf(loop.Val("start")), fuel-1)
	}
	return false
}

// counterOf is the enclosing loop whose counter v is.
func (e *fn) counterOf(v *ir.Value) *ir.Op {
	if v.Owner == nil || v.Owner.Parent == nil || v.Owner.Parent.Kind != ir.For || v.Owner.Args[0] != v {
		return nil
	}
	for _, l := range e.loops {
		if l == v.Owner.Parent {
			return l
		}
	}
	return nil
}

// upperBounds are dims that a never exceeds.
func (e *fn) upperBounds(a ir.Atom, fuel int) []ir.Dim {
	one := ir.ConstDim(1)
	switch a.Op {
	case ir.AtomVal:
		if n := e.ranksAbove(a.Val); n != nil {
			return []ir.Dim{ir.DimOf(n).Sub(one)}
		}
		loop := e.counterOf(a.Val)
		if loop == nil {
			return nil
		}
		if step, ok := loop.Val("step").ConstInt(); ok && step > 0 {
			start, stop := ir.DimOf(loop.Val("start")), ir.DimOf(loop.Val("stop"))
			if multipleOf(stop.Sub(start), step) {
				return []ir.Dim{stop.Sub(ir.ConstDim(step))}
			}
			return []ir.Dim{stop.Sub(one)}
		}
	case ir.AtomMin:
		return []ir.Dim{a.A, a.B}
	case ir.AtomMod:
		var out []ir.Dim
		if e.prove(a.B.Sub(one), fuel-1) {
			out = append(out, a.B.Sub(one))
			if e.prove(a.A, fuel-1) {
				out = append(out, a.A)
			}
		}
		return out
	case ir.AtomDiv:
		if e.prove(a.B.Sub(one), fuel-1) && e.prove(a.A, fuel-1) {
			return []ir.Dim{a.A}
		}
	}
	return nil
}

// lowerBounds are dims that a is never less than.
func (e *fn) lowerBounds(a ir.Atom) []ir.Dim {
	switch a.Op {
	case ir.AtomMax:
		return []ir.Dim{a.A, a.B}
	case ir.AtomVal:
		if a.Val.Def != nil && a.Val.Def.Kind == ir.NRanks {
			return []ir.Dim{ir.ConstDim(1)}
		}
		if loop := e.counterOf(a.Val); loop != nil {
			if step, ok := loop.Val("step").ConstInt(); ok && step > 0 {
				return []ir.Dim{ir.DimOf(loop.Val("start"))}
			}
		}
	}
	return nil
}

// ranksAbove is the number of ranks of the domain that v is the rank in, if the function asks for it.
func (e *fn) ranksAbove(v *ir.Value) *ir.Value {
	if v.Def == nil || v.Def.Kind != ir.Rank {
		return nil
	}
	return e.nranks[ctxWindow(v.Def)]
}

// ctxWindow is the memory whose domain a rank or nranks op asks about.
func ctxWindow(op *ir.Op) *ir.Value {
	ctx := op.Val("ctx")
	if ctx.Def == nil {
		return nil
	}
	root, _ := ir.Root(ctx.Def.Val("target"))
	return root
}

// multipleOf reports whether n divides d: all coefficients, once x - x % n has been recognised.
func multipleOf(d ir.Dim, n int64) bool {
	if n == 1 {
		return true
	}
	divides := func(d ir.Dim) bool {
		ok := true
		d.Terms(func(coef int64, _ []ir.Atom) { ok = ok && coef%n == 0 })
		return ok
	}
	if divides(d) {
		return true
	}
	found := false
	d.Terms(func(coef int64, atoms []ir.Atom) {
		if coef == -1 && len(atoms) == 1 && atoms[0].Op == ir.AtomMod && atoms[0].B.Is(n) {
			found = found || divides(d.Add(atomDim(atoms[0])).Sub(atoms[0].A))
		}
	})
	return found
}
