package ir

import (
	"fmt"
	"math"
)

// Equal compares two modules up to the names of values: there is a bijection between their values that
// makes them the same. Functions pair up by name and order, symbols by name. The error says, in words,
// where they differ first. Spans, docs, declared but unused symbols, attributes spelled out with their
// default, and terminators that hand on nothing make no difference.
func Equal(a, b *Module) error {
	for i, f := range a.Funcs {
		if i >= len(b.Funcs) {
			return fmt.Errorf("function %s is missing on the right", f.Name)
		}
		if g := b.Funcs[i]; f.Name != g.Name {
			return fmt.Errorf("function %d is called %s on the left, %s on the right", i+1, f.Name, g.Name)
		}
		if err := EqualFuncs(f, b.Funcs[i]); err != nil {
			return err
		}
	}
	if n := len(a.Funcs); n < len(b.Funcs) {
		return fmt.Errorf("function %s is missing on the left", b.Funcs[n].Name)
	}
	return nil
}

// EqualFuncs compares two functions; see Equal.
func EqualFuncs(a, b *Func) error {
	e := &equality{a: a, b: b, to: map[*Value]*Value{}, from: map[*Value]*Value{}}
	if err := e.funcs(); err != nil {
		return fmt.Errorf("function %s%s: %w", a.Name, e.place(), err)
	}
	return nil
}

type equality struct {
	a, b     *Func
	to, from map[*Value]*Value // a's values to b's, and back
	op       *Op               // of a: where we are, for the message
	nameA    *namer
	nameB    *namer
}

func (e *equality) place() string {
	if e.op == nil {
		return ""
	}
	s := ", " + e.op.Kind.Name
	if len(e.op.Results) > 0 {
		s += " that gives " + e.textA(e.op.Results[0])
	}
	if e.op.Span.IsValid() {
		s += " at " + e.op.Span.String()
	}
	return s
}

func (e *equality) textA(v *Value) string {
	if e.nameA == nil {
		e.nameA = nameValues(e.a, nil)
	}
	return valueText(v, e.nameA)
}

func (e *equality) textB(v *Value) string {
	if e.nameB == nil {
		e.nameB = nameValues(e.b, nil)
	}
	return valueText(v, e.nameB)
}

func valueText(v *Value, names *namer) string {
	p := &printer{names: names}
	p.val(v)
	return string(p.buf)
}

func (e *equality) typeA(t Type) string { e.textA(Index(0)); return TypeText(t, e.nameA.of) }
func (e *equality) typeB(t Type) string { e.textB(Index(0)); return TypeText(t, e.nameB.of) }

func (e *equality) funcs() error {
	a, b := e.a, e.b
	switch {
	case a.Kind != b.Kind:
		return fmt.Errorf("its kind is %s on the left, %s on the right", a.Kind, b.Kind)
	case a.GoldenOf != b.GoldenOf:
		return fmt.Errorf("it specifies %s on the left, %s on the right", a.GoldenOf, b.GoldenOf)
	case len(a.Params()) != len(b.Params()):
		return fmt.Errorf("%d parameters on the left, %d on the right", len(a.Params()), len(b.Params()))
	case !sameOptional(a.Arena, b.Arena):
		return fmt.Errorf("arena of %s bytes on the left, %s on the right", optionalText(a.Arena), optionalText(b.Arena))
	}
	for i, v := range a.Params() {
		if dirAt(a, i) != dirAt(b, i) {
			return fmt.Errorf("parameter %s is %s on the left, %s on the right", v.Name, dirAt(a, i), dirAt(b, i))
		}
	}
	if err := e.define("parameter", a.Params(), b.Params()); err != nil {
		return err
	}
	return e.ops(a.Body, b.Body)
}

func dirAt(f *Func, i int) Dir {
	if i < len(f.Dirs) {
		return f.Dirs[i]
	}
	return In
}

func sameOptional(a, b *Dim) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Equal(*b))
}

func optionalText(d *Dim) string {
	if d == nil {
		return "no"
	}
	return d.String()
}

// define pairs up values that become visible at the same place.
func (e *equality) define(what string, as, bs []*Value) error {
	if len(as) != len(bs) {
		return fmt.Errorf("%d %ss on the left, %d on the right", len(as), what, len(bs))
	}
	for i, a := range as {
		b := bs[i]
		if e.from[b] != nil || e.to[a] != nil {
			return fmt.Errorf("%s %s is defined twice", what, e.textA(a))
		}
		e.to[a], e.from[b] = b, a
		if !e.sameType(a.Type, b.Type) {
			return fmt.Errorf("%s %s is a %s on the left, a %s on the right", what, e.textA(a), e.typeA(a.Type), e.typeB(b.Type))
		}
		if !sameOptional(a.Arena, b.Arena) {
			return fmt.Errorf("%s %s stands at offset %s on the left, %s on the right", what, e.textA(a), optionalText(a.Arena), optionalText(b.Arena))
		}
	}
	return nil
}

func (e *equality) sameType(a, b Type) bool {
	if typeHasValues(a) {
		a = SubstType(a, func(at Atom) (Dim, bool) {
			if at.Op != AtomVal {
				return Dim{}, false
			}
			if w := e.to[at.Val]; w != nil {
				return DimOf(w), true
			}
			return Dim{}, false
		})
	}
	return TypesEqual(a, b)
}

// meaningful leaves out a last yield or return that hands on nothing.
func meaningful(b *Block) []*Op {
	if t := b.Terminator(); t != nil && len(t.Vals("values")) == 0 {
		return b.Ops[:len(b.Ops)-1]
	}
	return b.Ops
}

func (e *equality) ops(a, b *Block) error {
	as, bs := meaningful(a), meaningful(b)
	for i, x := range as {
		e.op = x
		if i >= len(bs) {
			return fmt.Errorf("it is missing on the right")
		}
		if err := e.ops1(x, bs[i]); err != nil {
			return err
		}
	}
	if len(as) < len(bs) {
		return fmt.Errorf("after it there is %s on the right", bs[len(as)].Kind.Name)
	}
	return nil
}

func (e *equality) ops1(a, b *Op) error {
	if a.Kind != b.Kind {
		return fmt.Errorf("on the right there is %s", b.Kind.Name)
	}
	for i := range a.Kind.Params {
		if err := e.args(a, b, i); err != nil {
			return err
		}
	}
	if err := e.regions(a, b); err != nil {
		return err
	}
	e.op = a
	return e.define("result", a.Results, b.Results)
}

func (e *equality) args(a, b *Op, i int) error {
	name := a.Kind.Params[i].Name
	if a.Kind.Params[i].Kind.IsAttr() {
		x, y := a.attrAt(i), b.attrAt(i)
		if f, ok := x.(*Func); ok {
			if g, ok := y.(*Func); ok && f.Name == g.Name {
				return nil
			}
		}
		if x != y {
			return fmt.Errorf("%s is %s on the left, %s on the right", name, attrText(x), attrText(y))
		}
		return nil
	}
	xs, ys := a.Args[i].Vals, b.Args[i].Vals
	if len(xs) != len(ys) {
		return fmt.Errorf("%s has %d values on the left, %d on the right", name, len(xs), len(ys))
	}
	for j, x := range xs {
		if !e.same(x, ys[j]) {
			return fmt.Errorf("%s is %s on the left, %s on the right", name, e.textA(x), e.textB(ys[j]))
		}
	}
	return nil
}

func (e *equality) same(x, y *Value) bool {
	if x.IsConst() != y.IsConst() {
		return false
	}
	if x.IsConst() {
		return SameConst(x, y)
	}
	return e.to[x] == y && e.to[x] != nil
}

func (e *equality) regions(a, b *Op) error {
	n := max(len(a.Regions), len(b.Regions))
	for i := 0; i < n; i++ {
		x, y := regionAt(a, i), regionAt(b, i)
		if err := e.define("block argument", x.Args, y.Args); err != nil {
			return err
		}
		if err := e.ops(x, y); err != nil {
			return err
		}
		e.op = a
	}
	return nil
}

// regionAt treats a region that is not there as an empty one.
func regionAt(op *Op, i int) *Block {
	if i < len(op.Regions) {
		return op.Regions[i]
	}
	return &Block{}
}

// SameConst compares constants; NaN equals NaN, and -0 differs from 0.
func SameConst(a, b *Value) bool {
	x, y := a.Const, b.Const
	return TypesEqual(a.Type, b.Type) && x.Dim.Equal(y.Dim) && x.B == y.B &&
		(math.Float64bits(x.F) == math.Float64bits(y.F) || math.IsNaN(x.F) && math.IsNaN(y.F))
}
