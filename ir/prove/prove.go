// Package prove decides what can be said about symbolic integers at compile time: that one is never negative,
// and so that an offset lies within its memory, whatever the number of ranks and the extents are.
//
// It reasons with intervals whose ends are polynomials over symbols, ranks and loop counters, and with what
// // and % leave: x % n is less than n, n * (x // n) at most x and more than x - n. What it does not find it
// does not know; it is never wrong.
package prove

import "ptoc/ir"

// Facts is what holds in a function: symbols and ranks are not negative, ranks are below the number of
// ranks, counters stay within their loops. What is true of values does not depend on the place.
type Facts struct {
	nranks map[*ir.Value]*ir.Value // window -> how many ranks its domain has
	same   map[*ir.Value]*ir.Value // a rank or number of ranks that was asked for before
	equal  map[string]ir.Dim       // symbols that are assumed to be something else
	ranks  *ir.Dim                 // the number of ranks, where the function does not ask for it
	asks   [2][]*ir.Value          // all ranks, and all numbers of ranks, of whatever window

	proved map[string]bool
	failed map[string]int // dims that could not be proved, and how hard that was tried
	left   int            // searches that this question may still take
}

// effort is how many bounds are put in one after the other, patience how many are tried in all.
const (
	effort   = 8
	patience = 500
)

// For collects the facts of a function.
func For(f *ir.Func) *Facts {
	p := &Facts{nranks: map[*ir.Value]*ir.Value{}, same: map[*ir.Value]*ir.Value{}, equal: map[string]ir.Dim{},
		proved: map[string]bool{}, failed: map[string]int{}}
	ranks := map[*ir.Value]*ir.Value{}
	f.Body.Walk(func(op *ir.Op) {
		first, kind := ranks, 0
		switch op.Kind {
		case ir.NRanks:
			first, kind = p.nranks, 1
		case ir.Rank:
		default:
			return
		}
		p.asks[kind] = append(p.asks[kind], op.Result())
		w := window(op)
		switch {
		case w == nil:
		case first[w] == nil:
			first[w] = op.Result()
		default:
			p.same[op.Result()] = first[w]
		}
	})
	return p
}

// window is the memory whose domain a rank or nranks op asks about.
func window(op *ir.Op) *ir.Value {
	ctx := op.Val("ctx")
	if ctx.Def == nil {
		return nil
	}
	root, _ := ir.Root(ctx.Def.Val("target"))
	return root
}

// NRanks is the number of ranks that share a window, if the function asks for it; else nil.
func (p *Facts) NRanks(window *ir.Value) *ir.Value { return p.nranks[window] }

// Ranks is the number of ranks that share a window; false: nothing is known of it.
func (p *Facts) Ranks(window *ir.Value) (ir.Dim, bool) {
	if n := p.nranks[window]; n != nil {
		return p.Plain(ir.DimOf(n)), true
	}
	if p.ranks != nil {
		return *p.ranks, true
	}
	return ir.Dim{}, false
}

// AssumeRanks takes d for the number of ranks wherever the function does not ask for it.
func (p *Facts) AssumeRanks(d ir.Dim) { p.ranks = &d }

// OneDomain takes all windows of the function to be shared by the same ranks from now on. ok says whether the
// function asks for their number, which is n.
func (p *Facts) OneDomain() (n ir.Dim, ok bool) {
	for _, vs := range p.asks {
		for _, v := range vs[min(len(vs), 1):] {
			p.same[v] = vs[0]
		}
	}
	clear(p.failed)
	if len(p.asks[1]) == 0 {
		return n, false
	}
	n = ir.DimOf(p.asks[1][0])
	p.ranks = &n
	return n, true
}

// Assume takes a symbol to be d from now on.
func (p *Facts) Assume(sym string, d ir.Dim) {
	p.equal[sym] = d
	clear(p.failed)
}

// Plain is d over one value for each rank and number of ranks, and with what was assumed.
func (p *Facts) Plain(d ir.Dim) ir.Dim {
	if len(p.same) == 0 && len(p.equal) == 0 {
		return d
	}
	return d.Subst(func(a ir.Atom) (ir.Dim, bool) {
		switch {
		case a.Op == ir.AtomSym:
			x, ok := p.equal[a.Sym]
			return x, ok
		case a.Op == ir.AtomVal && p.same[a.Val] != nil:
			return ir.DimOf(p.same[a.Val]), true
		}
		return ir.Dim{}, false
	})
}

// Nonneg reports whether d can be seen never to be negative.
func (p *Facts) Nonneg(d ir.Dim) bool {
	p.left = patience
	return p.prove(p.Plain(d), effort)
}

// Within reports whether [off, off + size) certainly lies in [0, extent).
func (p *Facts) Within(off, size, extent ir.Dim) bool {
	return p.Nonneg(off) && p.Nonneg(size) && p.Nonneg(extent.Sub(off).Sub(size))
}

// prove is search with a memory: different substitutions lead to the same dims again and again, and
// accesses of a loop have the same bounds.
func (p *Facts) prove(d ir.Dim, fuel int) bool {
	if p.proved[d.Key()] {
		return true
	}
	if with, ok := p.failed[d.Key()]; ok && fuel <= with {
		return false
	}
	if p.left--; p.left < 0 {
		return false
	}
	if p.search(d, fuel) {
		p.proved[d.Key()] = true
		return true
	}
	if p.left >= 0 { // else it was not tried as hard as that
		p.failed[d.Key()] = fuel
	}
	return false
}

// term is coef * product(atoms).
type term struct {
	coef  int64
	atoms []ir.Atom
}

// search replaces the atom of one term after the other by a bound that makes d less, until all terms
// that are left are not negative.
func (p *Facts) search(d ir.Dim, fuel int) bool {
	var terms []term
	good := true
	d.Terms(func(coef int64, atoms []ir.Atom) {
		terms = append(terms, term{coef, atoms})
		good = good && coef > 0 && p.allNonneg(atoms, fuel)
	})
	if good {
		return true
	}
	if fuel == 0 {
		return false
	}
	for _, t := range terms {
		for _, less := range p.quotients(t, fuel-1) {
			if p.prove(d.Add(less), fuel-1) {
				return true
			}
		}
		for i, a := range t.atoms {
			rest := without(t.atoms, i)
			if !p.allNonneg(rest, fuel-1) {
				continue
			}
			bounds := p.lower(a)
			if t.coef < 0 {
				bounds = p.upper(a, fuel)
			}
			for _, b := range bounds {
				// Only this term's atom is replaced: its sign decides which bound is safe.
				if p.prove(d.Add(times(b.Sub(DimOf(a)).Scale(t.coef), rest)), fuel-1) {
					return true
				}
			}
		}
	}
	return false
}

func without(atoms []ir.Atom, i int) []ir.Atom {
	return append(append([]ir.Atom(nil), atoms[:i]...), atoms[i+1:]...)
}

func times(d ir.Dim, atoms []ir.Atom) ir.Dim {
	for _, a := range atoms {
		d = d.Mul(DimOf(a))
	}
	return d
}

// quotients are what may be added to a term that contains n * (x // n): it is at most x, and more than x - n.
func (p *Facts) quotients(t term, fuel int) []ir.Dim {
	var out []ir.Dim
	for i, a := range t.atoms {
		if a.Op != ir.AtomDiv || !p.prove(a.B.Sub(one), min(fuel, 2)) {
			continue
		}
		rest, coef := without(t.atoms, i), t.coef
		if n, ok := a.B.Const(); ok {
			if coef%n != 0 {
				continue
			}
			coef /= n
		} else if j := indexOf(rest, a.B); j >= 0 {
			rest = without(rest, j)
		} else {
			continue
		}
		if !p.allNonneg(rest, fuel) {
			continue
		}
		bound := a.A
		if coef > 0 {
			bound = a.A.Sub(a.B).Add(one)
		}
		out = append(out, times(bound.Sub(DimOf(a).Mul(a.B)).Scale(coef), rest))
	}
	return out
}

var one = ir.ConstDim(1)

func indexOf(atoms []ir.Atom, d ir.Dim) int {
	for i, a := range atoms {
		if DimOf(a).Equal(d) {
			return i
		}
	}
	return -1
}

// DimOf is the dim that is just a.
func DimOf(a ir.Atom) ir.Dim {
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
