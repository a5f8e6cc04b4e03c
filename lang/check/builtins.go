package check

import (
	"math"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// builtins are Python's functions that we know, if only to say what to write instead.
var builtins = map[string]bool{"min": true, "max": true, "abs": true, "len": true, "int": true, "float": true, "bool": true,
	"sum": true, "range": true, "print": true, "enumerate": true, "zip": true, "isinstance": true, "str": true, "list": true,
	"tuple": true, "dict": true, "set": true, "sorted": true, "any": true, "all": true, "round": true, "pow": true, "divmod": true,
	"map": true, "filter": true, "reversed": true, "type": true}

var insteadOf = map[string]string{"print": "pl.static_print shows constants while compiling", "range": "pl.range stands in a for statement",
	"sum": "pl.sum(x, axis) adds the elements of a tile", "round": "pl.cast(x, pl.INT32, mode=\"round\") rounds",
	"isinstance": "types are known: there is nothing to ask", "type": "x.dtype is the element type", "pow": "x ** 2 multiplies",
	"enumerate": "count with pl.range", "zip": "index both with pl.range", "list": "lists exist as shapes and offsets only"}

func (f *fn) builtinCall(b builtin, x *syntax.Call) value {
	switch b {
	case "min", "max", "abs", "len", "int", "float", "bool":
	default:
		d := f.errorf(diag.NotInLanguage, x.Fn.Span(), "Python's %s is not in the kernel language", b)
		if h := insteadOf[string(b)]; h != "" {
			d.Help("%s", h)
		}
		return bad{}
	}
	var vals []value
	for _, a := range x.Args {
		vals = append(vals, f.expr(a))
	}
	if anyBad(vals...) {
		return bad{}
	}
	if len(x.Keywords) > 0 {
		f.errorf(diag.UnknownKeyword, x.Keywords[0].At, "%s takes no keyword arguments here", b)
		return bad{}
	}
	if b == "min" || b == "max" {
		return f.extreme(b, vals, x)
	}
	if len(vals) != 1 {
		f.errorf(diag.ArgumentCount, x.At, "%s takes one argument, got %d", b, len(vals))
		return bad{}
	}
	return f.builtinOne(b, vals[0], x)
}

// extreme is min or max of several values, or of the elements of one list.
func (f *fn) extreme(b builtin, vals []value, x *syntax.Call) value {
	if len(vals) == 1 {
		if s, ok := vals[0].(seq); ok {
			vals = s.elts
		}
	}
	if len(vals) < 2 && (len(vals) == 0 || len(x.Args) == 1 && !isSeqArg(f, x)) {
		f.errorf(diag.ArgumentCount, x.At, "%s takes two values or more", b).Help("pl.a%s(x, axis) is the %simum of a tile", b, b)
		return bad{}
	}
	out := vals[0]
	for _, v := range vals[1:] {
		out = f.extreme2(b, out, v, x)
		if isBad(out) {
			return out
		}
	}
	return out
}

func isSeqArg(f *fn, x *syntax.Call) bool {
	switch syntax.Unparen(x.Args[0]).(type) {
	case *syntax.List, *syntax.Tuple:
		return true
	}
	return false
}

func (f *fn) extreme2(b builtin, u, v value, x *syntax.Call) value {
	if d, ok := asDim(u); ok {
		if e, ok := asDim(v); ok {
			if b == "min" {
				return dimConst(d.Min(e))
			}
			return dimConst(d.Max(e))
		}
	}
	if d, ok := asFloat(u); ok {
		if e, ok := asFloat(v); ok {
			if b == "min" {
				return math.Min(d, e)
			}
			return math.Max(d, e)
		}
	}
	if f.f == nil {
		f.notConstant(x.At, u, v)
		return bad{}
	}
	p, q := f.data(u, x.At), f.data(v, x.At)
	if p == nil || q == nil {
		return bad{}
	}
	k := ir.Minimum
	if b == "max" {
		k = ir.Maximum
	}
	f.b.Span = x.At
	r, err := f.b.Binary(k, p, q)
	return f.result(r, err, argSpans{whole: x.At})
}

func (f *fn) builtinOne(b builtin, v value, x *syntax.Call) value {
	at := x.Args[0].Span()
	switch b {
	case "len":
		switch s := v.(type) {
		case seq:
			return int64(len(s.elts))
		case string:
			return int64(len(s))
		case *ir.Value:
			if dims := ir.ShapeOf(s.Type); len(dims) > 0 {
				return f.dimValue(dims[0])
			}
			if a, ok := s.Type.(*ir.Array); ok {
				return a.N
			}
		}
		f.errorf(diag.WrongKind, at, "%s has no length", describe(v))
		return bad{}
	case "abs":
		if n, ok := v.(int64); ok && n != math.MinInt64 {
			return max(n, -n)
		}
		if n, ok := v.(float64); ok {
			return math.Abs(n)
		}
		return f.unaryOp(ir.Abs, v, at, x.At)
	case "bool":
		if b, ok := asBool(v); ok {
			return b
		}
		if n, ok := v.(int64); ok {
			return n != 0
		}
		f.errorf(diag.WrongKind, at, "bool of %s is not in the kernel language", describe(v)).Help("compare it: %s != 0", at.Text())
		return bad{}
	}
	return f.number(b, v, at, x.At)
}

func (f *fn) unaryOp(k *ir.Kind, v value, at, whole source.Span) value {
	if f.f == nil {
		f.notConstant(whole, v)
		return bad{}
	}
	d := f.data(v, at)
	if d == nil {
		return bad{}
	}
	f.b.Span = whole
	r, err := f.b.Unary(k, d)
	return f.result(r, err, argSpans{whole: whole, of: map[string]source.Span{"x": at}})
}

// number is int(v) or float(v).
func (f *fn) number(b builtin, v value, at, whole source.Span) value {
	switch n := v.(type) {
	case int64:
		if b == "float" {
			return float64(n)
		}
		return n
	case ir.Dim:
		if b == "int" {
			return n
		}
	case bool:
		n2 := int64(0)
		if n {
			n2 = 1
		}
		if b == "float" {
			return float64(n2)
		}
		return n2
	case float64:
		if b == "float" {
			return n
		}
		if math.Abs(n) < 1<<62 {
			return int64(n)
		}
	case string:
		switch s := strings.TrimPrefix(n, "+"); {
		case b == "float" && (s == "inf" || s == "nan" || s == "-inf"):
			x := map[string]float64{"inf": math.Inf(1), "-inf": math.Inf(-1), "nan": math.NaN()}[s]
			return ir.FloatValue(x, ir.FP32)
		}
	}
	x := f.operand(v)
	if f.f == nil || x == nil {
		f.errorf(diag.WrongKind, at, "%s of %s is not in the kernel language", b, describe(v))
		return bad{}
	}
	dt := ir.INDEX
	if b == "float" {
		dt = ir.FP32
	}
	d := f.data(x, at)
	if d == nil {
		return bad{}
	}
	f.b.Span = whole
	r, err := f.b.Cast(d, dt)
	return f.result(r, err, argSpans{whole: whole})
}
