package check

import (
	"math"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/syntax"
)

// specials are names of pl that are called but are not ops.
var specials map[string]func(*fn, *syntax.Call) value

func init() {
	specials = map[string]func(*fn, *syntax.Call) value{
		"pl.dynamic": (*fn).dynamic, "pl.dtype_var": (*fn).dtypeVar, "pl.const": (*fn).typedLiteral,
		"pl.static_assert": (*fn).staticAssert, "pl.static_print": (*fn).staticPrint,
		"pl.func_attr": (*fn).funcAttr, "pl.cond": (*fn).condCall, "pl.yield_": (*fn).bareYield,
		"pl.move": (*fn).same, "pl.tile.move": (*fn).same, "pl.tensor.move": (*fn).same, "pl.no_dep": (*fn).same,
		"pl.dump_tag": (*fn).same, "pl.dim": (*fn).dim, "pl.tensor.dim": (*fn).dim, "pl.tile.dim": (*fn).dim,
		"pl.submit": (*fn).submit, "pl.spmd_submit": (*fn).submit,
		"pl.system.cacheinvalid": (*fn).nothing, "pl.cacheinvalid": (*fn).nothing, "pl.system.task_dummy": (*fn).task,
	}
	for _, n := range []string{"bar_all", "bar_v", "bar_m", "sync_src", "sync_dst"} { // between the pipes of one core
		specials["pl.system."+n] = func(*fn, *syntax.Call) value { return none{} }
	}
	for _, n := range []string{"pl.range", "pl.parallel", "pl.unroll", "pl.pipeline", "pl.while_", "pl.fused"} {
		specials[n] = (*fn).onlyInFor
	}
	specials["pl.spmd"] = (*fn).onlyInFor
	plain = plainNames()
}

func (f *fn) onlyInFor(x *syntax.Call) value {
	name := syntax.Dotted(x.Fn)
	f.errorf(diag.NotCallable, x.At, "%s stands in a for statement", name).Help("write `for i in %s(...):`", name)
	return bad{}
}

// strArg is the only argument, a string.
func (f *fn) strArg(x *syntax.Call) (string, bool) {
	if len(x.Args) == 1 && len(x.Keywords) == 0 {
		v := f.expr(x.Args[0])
		if s, ok := v.(string); ok && s != "" {
			return s, true
		}
		if isBad(v) {
			return "", false
		}
	}
	f.errorf(diag.BadValue, x.At, "%s takes one string, a name", syntax.Dotted(x.Fn)).Help(`write %s("N")`, syntax.Dotted(x.Fn))
	return "", false
}

// dynamic declares a symbol. The same name is the same symbol.
func (f *fn) dynamic(x *syntax.Call) value {
	s, ok := f.strArg(x)
	if !ok {
		return bad{}
	}
	if f.f != nil {
		f.errorf(diag.NotInLanguage, x.At, "pl.dynamic stands outside functions").Help("declare it at the top of the file")
		return bad{}
	}
	if !isIdentifier(s) {
		f.errorf(diag.BadValue, x.Args[0].Span(), "%q is not a name", s)
		return bad{}
	}
	f.addSym(s)
	return ir.SymDim(s)
}

func isIdentifier(s string) bool {
	for i, c := range s {
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

func (c *checker) addSym(s string) {
	for _, t := range c.mod.Syms {
		if t == s {
			return
		}
	}
	c.mod.Syms = append(c.mod.Syms, s)
}

func (f *fn) dtypeVar(x *syntax.Call) value {
	s, ok := f.strArg(x)
	if !ok {
		return bad{}
	}
	return dtypeVar(s)
}

// typedLiteral is pl.const(3, pl.INT32), pl.const("inf", pl.FP32).
func (f *fn) typedLiteral(x *syntax.Call) value {
	args := x.Args
	for _, k := range x.Keywords {
		if k.Name.Text == "dtype" {
			args = append(append([]syntax.Expr(nil), args...), k.Value)
		}
	}
	if len(args) != 2 {
		f.errorf(diag.ArgumentCount, x.At, "pl.const takes a value and an element type").Help("write pl.const(1, pl.INT32)")
		return bad{}
	}
	v := f.expr(args[0])
	dt, open, ok := f.dtype(args[1])
	if !ok || isBad(v) || open != "" {
		return bad{}
	}
	if s, isStr := v.(string); isStr && dt.IsFloat() {
		switch s {
		case "inf":
			v = math.Inf(1)
		case "-inf":
			v = math.Inf(-1)
		case "nan":
			v = math.NaN()
		}
	}
	if x, isConst := v.(*ir.Value); isConst {
		v = simplify(x)
	}
	if c := f.typedConst(v, dt); c != nil {
		return c
	}
	f.errorf(diag.BadValue, args[0].Span(), "%s is not a constant of type %s", describe(v), dt)
	return bad{}
}

func (f *fn) staticAssert(x *syntax.Call) value {
	if len(x.Args) < 1 || len(x.Args) > 2 {
		f.errorf(diag.ArgumentCount, x.At, "pl.static_assert takes a condition and a text")
		return bad{}
	}
	v := f.expr(x.Args[0])
	b, ok := asBool(v)
	switch {
	case isBad(v):
	case !ok:
		f.errorf(diag.NotConstant, x.Args[0].Span(), "pl.static_assert needs a condition that is known while compiling, got %s", describe(v))
	case !b:
		var msg syntax.Expr
		if len(x.Args) == 2 {
			msg = x.Args[1]
		}
		f.staticFailure(x.Args[0].Span(), msg)
	}
	return none{}
}

func (f *fn) staticPrint(x *syntax.Call) value {
	var parts []string
	for _, a := range x.Args {
		v := f.expr(a)
		if anyBad(v) {
			return none{}
		}
		if s, ok := v.(string); ok {
			parts = append(parts, s)
		} else {
			parts = append(parts, showValue(v))
		}
	}
	f.list.Warnf(diag.StaticPrint, x.At, "%s", strings.Join(parts, " "))
	return none{}
}

// showValue is a value as static_print writes it.
func showValue(v value) string {
	switch v := v.(type) {
	case int64, bool, float64:
		return strings.TrimPrefix(describe(v), "the number ")
	case ir.DType:
		return "pl." + v.String()
	case seq:
		var parts []string
		for _, e := range v.elts {
			parts = append(parts, showValue(e))
		}
		if v.list {
			return "[" + strings.Join(parts, ", ") + "]"
		}
		return "(" + strings.Join(parts, ", ") + ")"
	}
	return describe(v)
}

// condCall is pl.cond(c) in a pl.while_ loop.
func (f *fn) condCall(x *syntax.Call) value {
	if f.f == nil || f.b.Block.Parent == nil || f.b.Block.Parent.Kind != ir.While || len(x.Args) != 1 {
		f.errorf(diag.MisplacedYield, x.At, "pl.cond(c) stands in the body of a pl.while_ loop")
		return bad{}
	}
	v := f.condition(x.Args[0])
	if !isBad(v) {
		f.cond(f.operand(v), x.At)
	}
	return none{}
}

// bareYield is pl.yield_(...) without names for the results.
func (f *fn) bareYield(x *syntax.Call) value {
	if f.f == nil {
		f.errorf(diag.MisplacedYield, x.At, "pl.yield_ outside a function")
		return bad{}
	}
	y := &yielded{at: x.At}
	f.yieldValues(y, x)
	f.yielded = y
	return none{}
}

// same is for upstream's hints about a value: the value itself.
func (f *fn) same(x *syntax.Call) value {
	if len(x.Args) == 0 {
		f.errorf(diag.MissingArgument, x.At, "%s needs a value", syntax.Dotted(x.Fn))
		return bad{}
	}
	v := f.expr(x.Args[0])
	for _, a := range x.Args[1:] {
		f.expr(a)
	}
	return v
}

func (f *fn) nothing(x *syntax.Call) value {
	for _, a := range x.Args {
		f.expr(a)
	}
	return none{}
}

func (f *fn) task(x *syntax.Call) value { return taskID{} }

// dim is pl.dim(x, axis).
func (f *fn) dim(x *syntax.Call) value {
	if len(x.Args) != 2 {
		f.errorf(diag.ArgumentCount, x.At, "pl.dim takes a tensor and an axis")
		return bad{}
	}
	v, a := f.expr(x.Args[0]), f.expr(x.Args[1])
	if anyBad(v, a) {
		return bad{}
	}
	t, _ := v.(*ir.Value)
	n, ok := asInt(a)
	if t == nil || ir.ShapeOf(t.Type) == nil || !ok {
		f.errorf(diag.WrongKind, x.At, "pl.dim takes a tensor or tile and a constant axis")
		return bad{}
	}
	dims := ir.ShapeOf(t.Type)
	if n < 0 {
		n += int64(len(dims))
	}
	if n < 0 || n >= int64(len(dims)) {
		f.errorf(diag.BadValue, x.Args[1].Span(), "%s has no axis %s", describe(v), x.Args[1].Span().Text())
		return bad{}
	}
	return f.dimValue(dims[n])
}

// submit is pl.submit(self.k, args..., deps=): calls run in program order here, so it is the call, and
// a task id that nobody needs.
func (f *fn) submit(x *syntax.Call) value {
	name := syntax.Dotted(x.Fn)
	if len(x.Args) == 0 {
		f.errorf(diag.MissingArgument, x.At, "%s needs a function", name)
		return bad{}
	}
	v := f.expr(x.Args[0])
	d, ok := v.(*decl)
	if !ok {
		if !isBad(v) {
			f.errorf(diag.WrongKind, x.Args[0].Span(), "%s takes a function and its arguments, got %s", name, describe(v))
		}
		return bad{}
	}
	inner := &syntax.Call{At: x.At, Fn: x.Args[0], Args: x.Args[1:]}
	for _, k := range x.Keywords {
		switch k.Name.Text {
		case "deps", "dumps", "predicate", "allow_early_resolve", "sync_start", "name_hint":
		case "core_num":
			f.errorf(diag.NotHere, k.At, "%s with core_num is not here: a rank has one core", name).Help("write `for b in pl.spmd(n):` around a call")
			return bad{}
		default:
			inner.Keywords = append(inner.Keywords, k)
		}
	}
	r := f.callDecl(d, inner)
	if isBad(r) {
		return seq{elts: []value{bad{}, taskID{}}}
	}
	return seq{elts: []value{r, taskID{}}}
}
