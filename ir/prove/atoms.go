package prove

import "ptoc/ir"

// What is known of atoms.

func (p *Facts) allNonneg(atoms []ir.Atom, fuel int) bool {
	for _, a := range atoms {
		if !p.nonneg(a, fuel) {
			return false
		}
	}
	return true
}

func (p *Facts) nonneg(a ir.Atom, fuel int) bool {
	if fuel <= 0 {
		return a.Op == ir.AtomSym
	}
	switch a.Op {
	case ir.AtomSym:
		return true
	case ir.AtomVal:
		return p.valueNonneg(a.Val, fuel)
	case ir.AtomDiv:
		return p.prove(a.A, fuel-1) && p.prove(a.B, fuel-1)
	case ir.AtomMod:
		return p.prove(a.B, fuel-1)
	case ir.AtomMin:
		return p.prove(a.A, fuel-1) && p.prove(a.B, fuel-1)
	}
	return p.prove(a.A, fuel-1) || p.prove(a.B, fuel-1)
}

func (p *Facts) valueNonneg(v *ir.Value, fuel int) bool {
	if v.Def != nil {
		switch v.Def.Kind {
		case ir.Rank, ir.NRanks, ir.BlockIdx:
			return true
		}
		return false
	}
	loop := LoopOf(v)
	return loop != nil && step(loop) > 0 && p.prove(p.Plain(ir.DimOf(loop.Val("start"))), fuel-1)
}

// LoopOf is the loop whose counter v is; nil if there is none.
func LoopOf(v *ir.Value) *ir.Op {
	if v.Owner == nil || v.Owner.Parent == nil || v.Owner.Parent.Kind != ir.For || v.Owner.Args[0] != v {
		return nil
	}
	return v.Owner.Parent
}

// step is the step of a loop if that is a constant, else 0.
func step(loop *ir.Op) int64 {
	n, _ := loop.Val("step").ConstInt()
	return n
}

// upper are dims that a never exceeds.
func (p *Facts) upper(a ir.Atom, fuel int) []ir.Dim {
	switch a.Op {
	case ir.AtomVal:
		return p.upperOf(a.Val)
	case ir.AtomMin:
		return []ir.Dim{a.A, a.B}
	case ir.AtomMod:
		var out []ir.Dim
		if p.prove(a.B.Sub(one), fuel-1) {
			out = append(out, a.B.Sub(one))
			if p.prove(a.A, fuel-1) {
				out = append(out, a.A)
			}
		}
		return out
	case ir.AtomDiv:
		if p.prove(a.B.Sub(one), fuel-1) && p.prove(a.A, fuel-1) {
			return []ir.Dim{a.A}
		}
	}
	return nil
}

func (p *Facts) upperOf(v *ir.Value) []ir.Dim {
	if v.Def != nil && v.Def.Kind == ir.Rank {
		if n, ok := p.Ranks(window(v.Def)); ok {
			return []ir.Dim{n.Sub(one)}
		}
		return nil
	}
	loop := LoopOf(v)
	if loop == nil || step(loop) == 0 {
		return nil
	}
	by := step(loop)
	start, stop := p.Plain(ir.DimOf(loop.Val("start"))), p.Plain(ir.DimOf(loop.Val("stop")))
	switch {
	case by < 0:
		return []ir.Dim{start}
	case MultipleOf(stop.Sub(start), by):
		return []ir.Dim{stop.Sub(ir.ConstDim(by))}
	}
	return []ir.Dim{stop.Sub(one)}
}

// lower are dims that a is never less than.
func (p *Facts) lower(a ir.Atom) []ir.Dim {
	switch a.Op {
	case ir.AtomMax:
		return []ir.Dim{a.A, a.B}
	case ir.AtomVal:
		if a.Val.Def != nil && a.Val.Def.Kind == ir.NRanks {
			return []ir.Dim{one}
		}
		loop := LoopOf(a.Val)
		switch {
		case loop == nil || step(loop) == 0:
		case step(loop) > 0:
			return []ir.Dim{p.Plain(ir.DimOf(loop.Val("start")))}
		default:
			return []ir.Dim{p.Plain(ir.DimOf(loop.Val("stop"))).Add(one)}
		}
	}
	return nil
}

// MultipleOf reports whether n divides d: all coefficients, once x - x % n has been recognised.
func MultipleOf(d ir.Dim, n int64) bool {
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
			found = found || divides(d.Add(DimOf(atoms[0])).Sub(atoms[0].A))
		}
	})
	return found
}
