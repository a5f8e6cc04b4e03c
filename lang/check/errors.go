package check

import (
	"errors"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// argSpans say where the arguments of an op stand.
type argSpans struct {
	whole source.Span
	of    map[string]source.Span
	elts  map[string][]source.Span
}

func (a argSpans) at(param string, index int) source.Span {
	if index >= 0 && index < len(a.elts[param]) {
		return a.elts[param][index]
	}
	if s, ok := a.of[param]; ok {
		return s
	}
	return a.whole
}

var classCodes = map[ir.ErrorClass]diag.Code{
	ir.BadKind: diag.WrongKind, ir.BadDType: diag.WrongDType, ir.BadRank: diag.RankMismatch, ir.BadShape: diag.ShapeMismatch,
	ir.BadBounds: diag.OutsideMemory, ir.BadValue: diag.BadValue, ir.BadDist: diag.BadWindow,
}

// typeError reports a failed deduction at the argument that it is about.
func (f *fn) typeError(err error, spans argSpans) *diag.Diagnostic {
	var t *ir.TypeError
	if !errors.As(err, &t) {
		return f.errorf(diag.Internal, spans.whole, "%v", err)
	}
	d := f.errorf(classCodes[t.Class], spans.at(t.Param, t.Index), "%s", t.Msg)
	if t.Help != "" {
		d.Help("%s", t.Help)
	}
	return d
}

// declared adds notes that say what the memory among the operands of a failed op is: a wrong offset,
// shape or element type is wrong because of that.
func (f *fn) declared(d *diag.Diagnostic, operands []*ir.Value) {
	switch d.Code {
	case diag.WrongDType, diag.RankMismatch, diag.ShapeMismatch, diag.OutsideMemory, diag.BadWindow:
	default:
		return
	}
	seen := map[*ir.Value]bool{}
	for _, v := range operands {
		t, mem := v.Type.(*ir.Tensor)
		if r := root(v); mem && !seen[r] && r == v && r.Owner == f.f.Body {
			seen[r] = true
			d.Note(f.in.decl.param(r.Name), "%s is a %s", r.Name, typeText(t))
		}
	}
}

// legal reports whether this kind of function may contain ops of kind k, and complains if not. what
// names the construct where it is not the op itself.
func (f *fn) legal(k *ir.Kind, what string, at source.Span) bool {
	if f.f == nil {
		f.errorf(diag.NotConstant, at, "%s outside a function", k.Name)
		return false
	}
	if what == "" {
		what = k.Name
	}
	if f.f.Kind == ir.Inline {
		if k.Where != ir.Anywhere {
			f.in.needs = append(f.in.needs, need{k.Where, what, at})
		}
		return true
	}
	if k.Where.Allows(f.f.Kind) {
		return true
	}
	d := f.errorf(diag.WrongPlace, at, "%s is not possible in %s, only in %s", what, aFunction(f.f.Kind), k.Where)
	switch {
	case f.f.Kind == ir.Host && k.Where&ir.InHost == 0:
		d.Help("the host only allocates and dispatches: move this into a function that it calls with device=r")
	case f.f.Kind == ir.Golden:
		d.Help("a golden function is a plain program for one device")
	case k == ir.WorldSize:
		d.Help("the size of a window's domain is pld.nranks(pld.get_comm_ctx(w))")
	case k.Where == ir.InHost:
		d.Help("move this into the @pl.jit.host function and pass the result")
	}
	return false
}

// aFunction names a kind of function: "an incore function".
func aFunction(k ir.FuncKind) string {
	if s := k.String(); s[0] == 'i' {
		return "an " + s + " function"
	}
	return "a " + k.String() + " function"
}
