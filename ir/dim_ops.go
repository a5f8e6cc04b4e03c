package ir

// Arithmetic on dims: results are in normal form again.

// Add is d + e.
func (d Dim) Add(e Dim) Dim {
	if len(d.terms) == 0 {
		return e
	}
	if len(e.terms) == 0 {
		return d
	}
	if n, ok := d.Const(); ok {
		if m, ok := e.Const(); ok {
			return ConstDim(n + m)
		}
	}
	return d.plus(e, 1)
}

// plus is d + n * e: a merge of two sorted lists.
func (d Dim) plus(e Dim, n int64) Dim {
	a, b := d.terms, e.terms
	out := make([]term, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].before(b[0]):
			out, a = append(out, a[0]), a[1:]
		case len(a) > 0 && a[0].key == b[0].key:
			t := a[0]
			t.coef += n * b[0].coef
			out, a, b = append(out, t), a[1:], b[1:]
		default:
			t := b[0]
			t.coef *= n
			out, b = append(out, t), b[1:]
		}
	}
	return ofTerms(out)
}

// Scale is n * d.
func (d Dim) Scale(n int64) Dim {
	if n == 1 {
		return d
	}
	if c, ok := d.Const(); ok {
		return ConstDim(c * n)
	}
	ts := append([]term(nil), d.terms...)
	for i := range ts {
		ts[i].coef *= n
	}
	return ofTerms(ts)
}

// Sub is d - e.
func (d Dim) Sub(e Dim) Dim {
	if d.key == e.key {
		return Dim{}
	}
	return d.plus(e, -1)
}

// Mul is d * e.
func (d Dim) Mul(e Dim) Dim {
	if n, ok := e.Const(); ok {
		return d.Scale(n)
	}
	if n, ok := d.Const(); ok {
		return e.Scale(n)
	}
	var ts []term
	for _, a := range d.terms {
		for _, b := range e.terms {
			atoms := append(append([]Atom(nil), a.atoms...), b.atoms...)
			ts = append(ts, term{coef: a.coef * b.coef, atoms: atoms})
		}
	}
	return mkDim(ts)
}

// split separates d into n*quotient + remainder, term by term.
func (d Dim) split(n int64) (quot, rem Dim) {
	var q, r []term
	for _, t := range d.terms {
		fq, fr := FloorDiv(t.coef, n), FloorMod(t.coef, n)
		if fq != 0 {
			q = append(q, term{coef: fq, atoms: t.atoms})
		}
		if fr != 0 {
			r = append(r, term{coef: fr, atoms: t.atoms})
		}
	}
	return mkDim(q), mkDim(r)
}

// Div is Python's floor division d // e. A division by a constant zero stays symbolic.
func (d Dim) Div(e Dim) Dim {
	if n, ok := e.Const(); ok && n != 0 {
		quot, rem := d.split(n)
		if c, ok := rem.Const(); ok {
			return quot.Add(ConstDim(FloorDiv(c, n)))
		}
		return quot.Add(atomDim(Atom{Op: AtomDiv, A: rem, B: e}))
	}
	return atomDim(Atom{Op: AtomDiv, A: d, B: e})
}

// Mod is Python's d % e.
func (d Dim) Mod(e Dim) Dim {
	if n, ok := e.Const(); ok && n != 0 {
		_, rem := d.split(n)
		if c, ok := rem.Const(); ok {
			return ConstDim(FloorMod(c, n))
		}
		return atomDim(Atom{Op: AtomMod, A: rem, B: e})
	}
	return atomDim(Atom{Op: AtomMod, A: d, B: e})
}

// Min is the smaller of d and e.
func (d Dim) Min(e Dim) Dim { return d.extreme(e, AtomMin) }

// Max is the larger of d and e.
func (d Dim) Max(e Dim) Dim { return d.extreme(e, AtomMax) }

func (d Dim) extreme(e Dim, op AtomOp) Dim {
	if c, ok := d.Sub(e).Const(); ok {
		if (c <= 0) == (op == AtomMin) {
			return d
		}
		return e
	}
	if e.key < d.key {
		d, e = e, d
	}
	return atomDim(Atom{Op: op, A: d, B: e})
}

// Subst replaces atoms; f returns false to keep one. Operands of //, %, min, max are replaced first.
func (d Dim) Subst(f func(Atom) (Dim, bool)) Dim {
	if !d.changedBy(f) {
		return d
	}
	out := Dim{}
	for _, t := range d.terms {
		p := ConstDim(t.coef)
		for _, a := range t.atoms {
			p = p.Mul(a.subst(f))
		}
		out = out.Add(p)
	}
	return out
}

func (d Dim) changedBy(f func(Atom) (Dim, bool)) bool {
	for _, t := range d.terms {
		for _, a := range t.atoms {
			if _, ok := f(a); ok || a.A.changedBy(f) || a.B.changedBy(f) {
				return true
			}
		}
	}
	return false
}

func (a Atom) subst(f func(Atom) (Dim, bool)) Dim {
	if d, ok := f(a); ok {
		return d
	}
	switch a.Op {
	case AtomDiv:
		return a.A.Subst(f).Div(a.B.Subst(f))
	case AtomMod:
		return a.A.Subst(f).Mod(a.B.Subst(f))
	case AtomMin:
		return a.A.Subst(f).Min(a.B.Subst(f))
	case AtomMax:
		return a.A.Subst(f).Max(a.B.Subst(f))
	}
	return atomDim(a)
}

// FloorDiv is Python's a // b for b != 0.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// FloorMod is Python's a % b for b != 0.
func FloorMod(a, b int64) int64 {
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}
