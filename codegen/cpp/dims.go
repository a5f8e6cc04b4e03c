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
		return "ptoc_size(" + s + ")"
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
// printed.
func (e *fn) nonneg(d ir.Dim) bool { return e.checks.Nonneg(d) }
