package check

import (
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// compare is a chain of comparisons; a < b < c is a < b and b < c.
func (f *fn) compare(x *syntax.Compare) value {
	left, leftAt := f.expr(x.X), x.X.Span()
	var out value
	for i, op := range x.Ops {
		right := f.expr(x.Rest[i])
		v := f.compareOne(op, left, right, leftAt, x.Rest[i].Span(), x.At)
		switch {
		case i == 0:
			out = v
		case anyBad(out, v):
			out = bad{}
		default:
			out = f.both(out, v, x.At)
		}
		left, leftAt = right, x.Rest[i].Span()
	}
	return out
}

func (f *fn) both(a, b value, at source.Span) value {
	if x, ok := asBool(a); ok {
		if x {
			return b
		}
		return false
	}
	if x, ok := asBool(b); ok {
		if x {
			return a
		}
		return false
	}
	r, err := f.b.Binary(ir.LogicalAnd, f.operand(a), f.operand(b))
	return f.result(r, err, argSpans{whole: at})
}

var cmpNames = map[syntax.Op]string{syntax.Eq: "EQ", syntax.Ne: "NE", syntax.Lt: "LT", syntax.Le: "LE", syntax.Gt: "GT", syntax.Ge: "GE"}

func (f *fn) compareOne(op syntax.Op, a, b value, aAt, bAt, at source.Span) value {
	if anyBad(a, b) {
		return bad{}
	}
	if r, ok := foldCompare(op, a, b); ok {
		return r
	}
	_, aNone := a.(none)
	_, bNone := b.(none)
	if aNone || bNone {
		return op == syntax.Ne || op == syntax.IsNot
	}
	name := cmpNames[op]
	if name == "" {
		f.errorf(diag.NotInLanguage, at, "`%s` on run-time values is not in the kernel language", op).Help("compare with ==, or write the cases with `or`")
		return bad{}
	}
	if f.f == nil {
		f.notConstant(at, a, b)
		return bad{}
	}
	x, y := f.data(a, aAt), f.data(b, bAt)
	if x == nil || y == nil {
		return bad{}
	}
	f.b.Span = at
	v, err := f.b.Compare(name, x, y)
	return f.result(v, err, argSpans{whole: at, of: map[string]source.Span{"lhs": aAt, "rhs": bAt}})
}
