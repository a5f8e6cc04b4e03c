package ir

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
	"strconv"
	"strings"
)

// Dim is a symbolic integer expression in normal form: a polynomial with integer coefficients over
// atoms (symbols, run-time values, and the non-polynomial operations //, %, min, max). Two dims that
// the normal form can prove equal are structurally equal, so Equal is a string comparison.
// The zero Dim is the constant 0. Dims are immutable.
type Dim struct {
	terms []term // sorted by key, no zero coefficients
	key   string // canonical text; "" means 0
}

// term is coef * product(atoms); atoms are sorted by key and may repeat.
type term struct {
	coef  int64
	atoms []Atom
	key   string
}

// Atom is an indivisible factor of a Dim.
type Atom struct {
	Op   AtomOp
	Sym  string // AtomSym
	Val  *Value // AtomVal: a scalar computed at run time
	A, B Dim    // AtomDiv, AtomMod, AtomMin, AtomMax
}

// AtomOp says what an Atom is.
type AtomOp uint8

const (
	AtomSym AtomOp = iota // a pl.dynamic symbol
	AtomVal               // an SSA value
	AtomDiv               // floor division
	AtomMod               // Python's modulo: the sign of the divisor
	AtomMin
	AtomMax
)

var atomText = [...]string{AtomDiv: "//", AtomMod: "%", AtomMin: "pl.min", AtomMax: "pl.max"}

// text is the atom as the surface syntax writes it. name gives the text of a value.
func (a Atom) text(name func(*Value) string) string {
	switch a.Op {
	case AtomSym:
		return a.Sym
	case AtomVal:
		return name(a.Val)
	case AtomDiv, AtomMod:
		return fmt.Sprintf("(%s %s %s)", a.A.paren(name), atomText[a.Op], a.B.paren(name))
	default:
		return fmt.Sprintf("%s(%s, %s)", atomText[a.Op], a.A.Text(name), a.B.Text(name))
	}
}

func idName(v *Value) string { return "%" + strconv.Itoa(v.ID) }

// id is text(idName), put together from the keys of the operands: dims are compared all the time.
func (a Atom) id() string {
	switch a.Op {
	case AtomSym:
		return a.Sym
	case AtomVal:
		return idName(a.Val)
	case AtomDiv, AtomMod:
		return "(" + a.A.idParen() + " " + atomText[a.Op] + " " + a.B.idParen() + ")"
	default:
		return atomText[a.Op] + "(" + a.A.String() + ", " + a.B.String() + ")"
	}
}

func (d Dim) idParen() string {
	s := d.String()
	if len(d.terms) > 1 || strings.Contains(s, " * ") {
		return "(" + s + ")"
	}
	return s
}

// ConstDim is the constant n.
func ConstDim(n int64) Dim {
	if n == 0 {
		return Dim{}
	}
	return Dim{terms: []term{{coef: n}}, key: strconv.FormatInt(n, 10)}
}

// SymDim is the symbol called name.
func SymDim(name string) Dim { return atomDim(Atom{Op: AtomSym, Sym: name}) }

func atomDim(a Atom) Dim {
	key := a.id()
	return Dim{terms: []term{{coef: 1, atoms: []Atom{a}, key: key}}, key: key}
}

// mkDim sorts and merges terms; it owns its argument.
func mkDim(terms []term) Dim {
	for i := range terms {
		t := &terms[i]
		if len(t.atoms) == 0 || t.key != "" {
			continue // a constant, or a term of another dim, whose key is known
		}
		if len(t.atoms) == 1 {
			t.key = t.atoms[0].id()
			continue
		}
		sort.Slice(t.atoms, func(a, b int) bool { return t.atoms[a].id() < t.atoms[b].id() })
		parts := make([]string, len(t.atoms))
		for j, a := range t.atoms {
			parts[j] = a.id()
		}
		t.key = strings.Join(parts, " * ")
	}
	sortTerms(terms)
	out := terms[:0]
	for _, t := range terms {
		if n := len(out); n > 0 && out[n-1].key == t.key {
			out[n-1].coef += t.coef
		} else {
			out = append(out, t)
		}
	}
	return ofTerms(out)
}

// before is the order of terms in a dim: by key, and the constant comes last: NR + 1.
func (t term) before(u term) bool {
	if (t.key == "") != (u.key == "") {
		return u.key == ""
	}
	return t.key < u.key
}

// sortTerms is a stable insertion sort: there are two or three, mostly in order.
func sortTerms(ts []term) {
	for i := 1; i < len(ts); i++ {
		for j := i; j > 0 && ts[j].before(ts[j-1]); j-- {
			ts[j], ts[j-1] = ts[j-1], ts[j]
		}
	}
}

// ofTerms makes a dim of terms that are sorted and merged; it owns them.
func ofTerms(ts []term) Dim {
	kept := ts[:0]
	for _, t := range ts {
		if t.coef != 0 {
			kept = append(kept, t)
		}
	}
	return Dim{terms: kept, key: keyOf(kept)}
}

// keyOf is what Text(idName) gives for terms whose keys are known; "" for none.
func keyOf(terms []term) string {
	if len(terms) == 1 && terms[0].coef == 1 && terms[0].key != "" {
		return terms[0].key
	}
	var b strings.Builder
	size := 0
	for _, t := range terms {
		size += len(t.key) + 8 // " + " and a small coefficient
	}
	b.Grow(size)
	for i, t := range terms {
		coef := sign(&b, i, t)
		if t.key == "" {
			b.WriteString(strconv.FormatInt(coef, 10))
			continue
		}
		b.WriteString(t.key)
		if coef != 1 {
			b.WriteString(" * ")
			b.WriteString(strconv.FormatInt(coef, 10))
		}
	}
	return b.String()
}

// sign writes what stands before the i-th term and returns the coefficient that is left to write.
func sign(b *strings.Builder, i int, t term) int64 {
	switch {
	case i == 0 && t.coef < 0 && len(t.atoms) > 0:
		b.WriteString("-")
		return -t.coef
	case i > 0 && t.coef < 0:
		b.WriteString(" - ")
		return -t.coef
	case i > 0:
		b.WriteString(" + ")
	}
	return t.coef
}

// Const reports the value of a constant dim.
func (d Dim) Const() (int64, bool) {
	switch {
	case len(d.terms) == 0:
		return 0, true
	case len(d.terms) == 1 && len(d.terms[0].atoms) == 0:
		return d.terms[0].coef, true
	}
	return 0, false
}

// Is reports whether d is the constant n.
func (d Dim) Is(n int64) bool { c, ok := d.Const(); return ok && c == n }

// Key is a text that two dims share exactly if they are Equal.
func (d Dim) Key() string { return d.key }

// Equal reports whether both have the same normal form.
func (d Dim) Equal(e Dim) bool { return d.key == e.key }

// Sym returns the name of a dim that is just one symbol.
func (d Dim) Sym() (string, bool) {
	if len(d.terms) == 1 && d.terms[0].coef == 1 && len(d.terms[0].atoms) == 1 && d.terms[0].atoms[0].Op == AtomSym {
		return d.terms[0].atoms[0].Sym, true
	}
	return "", false
}

// Linear splits d into coef*atom + rest where atom is the symbol sym and rest does not mention it.
func (d Dim) Linear(sym string) (coef int64, rest Dim, ok bool) {
	var others []term
	for _, t := range d.terms {
		if len(t.atoms) == 1 && t.atoms[0].Op == AtomSym && t.atoms[0].Sym == sym {
			coef = t.coef
			continue
		}
		others = append(others, t)
	}
	rest = mkDim(append([]term(nil), others...))
	for _, s := range rest.Syms() {
		if s == sym {
			return 0, Dim{}, false
		}
	}
	return coef, rest, coef != 0
}

// Walk calls f for every symbol and value atom in d.
func (d Dim) Walk(f func(Atom)) {
	for _, t := range d.terms {
		for _, a := range t.atoms {
			if a.Op == AtomSym || a.Op == AtomVal {
				f(a)
			} else {
				a.A.Walk(f)
				a.B.Walk(f)
			}
		}
	}
}

// Syms lists the symbols of d, sorted, each once.
func (d Dim) Syms() []string {
	seen := map[string]bool{}
	d.Walk(func(a Atom) {
		if a.Op == AtomSym {
			seen[a.Sym] = true
		}
	})
	return sortedKeys(seen)
}

// HasValues reports whether d depends on a run-time value.
func (d Dim) HasValues() bool {
	found := false
	d.Walk(func(a Atom) { found = found || a.Op == AtomVal })
	return found
}

// Eval computes d; env gives the value of each symbol and value atom. It fails on an unknown atom,
// a division by zero and an overflow of 64 bits.
func (d Dim) Eval(env func(Atom) (int64, bool)) (int64, error) {
	var sum int64
	for _, t := range d.terms {
		p := t.coef
		for _, a := range t.atoms {
			v, err := a.eval(env)
			if err != nil {
				return 0, err
			}
			var ok bool
			if p, ok = mulOK(p, v); !ok {
				return 0, fmt.Errorf("%s does not fit 64 bits", d)
			}
		}
		s := sum + p
		if (s > sum) != (p > 0) && p != 0 {
			return 0, fmt.Errorf("%s does not fit 64 bits", d)
		}
		sum = s
	}
	return sum, nil
}

func mulOK(a, b int64) (int64, bool) {
	abs := func(x int64) uint64 {
		if x < 0 {
			return -uint64(x)
		}
		return uint64(x)
	}
	hi, lo := bits.Mul64(abs(a), abs(b))
	return a * b, hi == 0 && lo < 1<<63
}

func (a Atom) eval(env func(Atom) (int64, bool)) (int64, error) {
	if a.Op == AtomSym || a.Op == AtomVal {
		if v, ok := env(a); ok {
			return v, nil
		}
		return 0, fmt.Errorf("%s has no value", a.text(idName))
	}
	x, err := a.A.Eval(env)
	if err != nil {
		return 0, err
	}
	y, err := a.B.Eval(env)
	if err != nil {
		return 0, err
	}
	switch a.Op {
	case AtomDiv, AtomMod:
		if y == 0 {
			return 0, fmt.Errorf("division by zero in %s", a.text(idName))
		}
		if a.Op == AtomDiv {
			return FloorDiv(x, y), nil
		}
		return FloorMod(x, y), nil
	case AtomMin:
		return min(x, y), nil
	default:
		return max(x, y), nil
	}
}

// Terms calls f for each term of d in normal-form order, for code generators.
func (d Dim) Terms(f func(coef int64, atoms []Atom)) {
	for _, t := range d.terms {
		f(t.coef, t.atoms)
	}
}

// String writes values as %id.
func (d Dim) String() string {
	if d.key == "" {
		return "0"
	}
	return d.key
}

// Text writes d in the surface syntax; name gives the text of run-time values.
func (d Dim) Text(name func(*Value) string) string {
	if len(d.terms) == 0 {
		return "0"
	}
	var b strings.Builder
	for i, t := range d.terms {
		coef := sign(&b, i, t)
		if len(t.atoms) == 0 {
			b.WriteString(strconv.FormatInt(coef, 10))
			continue
		}
		for j, a := range t.atoms {
			if j > 0 {
				b.WriteString(" * ")
			}
			b.WriteString(a.text(name))
		}
		if coef != 1 {
			b.WriteString(" * ")
			b.WriteString(strconv.FormatInt(coef, 10))
		}
	}
	return b.String()
}

// paren is Text, in parentheses when it is a sum.
func (d Dim) paren(name func(*Value) string) string {
	s := d.Text(name)
	if len(d.terms) > 1 || strings.Contains(s, " * ") {
		return "(" + s + ")"
	}
	return s
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// DimsEqual compares shapes.
func DimsEqual(a, b []Dim) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}

// Product multiplies dims; 1 for none.
func Product(dims []Dim) Dim {
	p := ConstDim(1)
	for _, d := range dims {
		p = p.Mul(d)
	}
	return p
}

// ProductBelow is the product of extents; false if it, or its part that is known now, is above limit: where a
// coefficient does not fit 64 bits, arithmetic on dims wraps around.
func ProductBelow(limit uint64, dims []Dim) (Dim, bool) {
	size, zero := uint64(1), false
	for _, d := range dims {
		zero = zero || d.Is(0)
		over, n := bits.Mul64(size, d.magnitude())
		if size = n; over != 0 || size > limit {
			size = limit + 1
		}
	}
	return Product(dims), zero || size <= limit
}

// magnitude is the sum of d's coefficients without their signs, at most the largest number.
func (d Dim) magnitude() uint64 {
	var sum uint64
	for _, t := range d.terms {
		n := uint64(max(t.coef, -t.coef)) // that of the smallest number is 1 << 63
		next, carry := bits.Add64(sum, n, 0)
		if sum = next; carry != 0 {
			return math.MaxUint64
		}
	}
	return sum
}
