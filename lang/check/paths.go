package check

import (
	"slices"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/syntax"
)

// Names below pl and pld. resolve is the one place that knows what they mean.

// types are the names that stand in annotations.
var types = []string{"pl.Tensor", "pl.Tile", "pl.Scalar", "pl.Array", "pl.Tuple", "pl.Out", "pl.InOut", "pl.In", "pl.Const",
	"pld.DistributedTensor"}

// namespaces are names that only lead to others.
var namespaces = []string{"pl", "pl.tile", "pl.tensor", "pl.system", "pl.array", "pl.jit", "pl.DataType", "pld", "pld.system",
	"pld.tensor", "pld.tile"}

// hints are upstream's placements, layouts and levels: accepted, and without meaning for what is computed.
var hints = []string{"pl.Mem", "pl.MemorySpace", "pl.TensorLayout", "pl.TileLayout", "pl.PadValue", "pl.Level", "pl.Role",
	"pl.FunctionType", "pl.SplitMode", "pl.RuntimeScopeMode", "pl.TensorView", "pl.TileView", "pl.ND", "pl.DN", "pl.NZ", "pl.MemRef"}

// scopes are what may stand in with.
var scopes = []string{"pl.at", "pl.scope", "pl.manual_scope", "pl.auto_scope", "pl.cluster", "pl.incore", "pl.auto_incore", "pld.comm_domain"}

var plainNames = func() map[string]value {
	out := map[string]value{}
	for _, list := range [][]string{types, namespaces, hints, decorators} {
		for _, n := range list {
			out[n] = dotted(n)
		}
	}
	for _, n := range scopes {
		out[n] = special(n)
	}
	for n := range specials {
		out[n] = special(n)
	}
	for _, d := range ir.DTypes {
		out["pl."+d.String()] = d
		out["pl.DataType."+d.String()] = d
	}
	for _, e := range ir.EnumTypes {
		out[e.Name] = e
	}
	out["pld.CommCtx"] = annot{typ: &ir.CommCtx{}}
	return out
}

var plain map[string]value

func init() { plain = plainNames() }

// resolve is what a dotted name means; nil if nothing.
func resolve(p string) value {
	if v, ok := plain[p]; ok {
		return v
	}
	if k, sp := ir.Lookup(p); k != nil && !k.Control {
		return opName{k, sp, p}
	}
	head, last := cutLast(p)
	if e, ok := plain[head].(*ir.EnumType); ok {
		for i, v := range e.Values {
			if v == last {
				return ir.Enum{Type: e, Value: i}
			}
		}
		return nil
	}
	for _, h := range hints {
		if head == h {
			return dotted(p)
		}
	}
	return nil
}

// pathOf is the dotted name that x spells, through whatever names pl and pld have; false if x is
// something else. It reports nothing.
func (f *fn) pathOf(x syntax.Expr) (string, bool) {
	switch x := syntax.Unparen(x).(type) {
	case *syntax.Name:
		b, ok := f.env.lookup(x.Text)
		if !ok {
			return x.Text, x.Text == "tuple"
		}
		switch v := b.val.(type) {
		case dotted:
			return string(v), true
		case special:
			return string(v), true
		case opName:
			return v.name, true
		}
	case *syntax.Attr:
		if p, ok := f.pathOf(x.X); ok {
			return p + "." + x.Sel.Text, true
		}
	}
	return "", false
}

// resolveAt is resolve with an error that says what was probably meant.
func (f *fn) resolveAt(p string, x *syntax.Attr) value {
	if v := resolve(p); v != nil {
		return v
	}
	head, _ := cutLast(p)
	if head != "pl" && head != "pld" && resolve(head) == nil {
		if inner, ok := syntax.Unparen(x.X).(*syntax.Attr); ok {
			return f.resolveAt(head, inner)
		}
	}
	if why, ok := elsewhere(p); ok {
		f.errorf(diag.NotHere, x.At, "%s is not here: %s", p, why)
		return bad{}
	}
	if why, ok := later(p); ok {
		f.errorf(diag.NotYet, x.At, "%s is not here yet%s", p, why)
		return bad{}
	}
	if e, ok := resolve(head).(*ir.EnumType); ok {
		d := f.errorf(diag.UnknownName, x.Sel.At, "%s has no value %s", e.Name, x.Sel.Text)
		if near := diag.Nearest(x.Sel.Text, e.Values); near != "" {
			d.Help("did you mean %s.%s?", e.Name, near).Fix(x.Sel.At, near, "write %s", near)
		} else {
			d.Help("its values are %s", strings.Join(e.Values, ", "))
		}
		return bad{}
	}
	d := f.errorf(diag.UnknownName, x.At, "there is no %s", p)
	if near := suggest(p); near != "" {
		d.Help("did you mean %s?", near)
		if ns, last := cutLast(near); ns == head {
			d.Fix(x.Sel.At, last, "write %s", near)
		}
	}
	return bad{}
}

// suggest is the name of pl or pld that p most likely means.
func suggest(p string) string {
	head, last := cutLast(p)
	other := map[string]string{"pl": "pld", "pld": "pl"}[head]
	for _, ns := range []string{other, "pl", "pld", "pld.tensor", "pld.system", "pld.tile"} {
		if ns != "" && resolve(ns+"."+last) != nil {
			return ns + "." + last
		}
	}
	var same, all []string
	full := map[string]string{} // the first name that ends like this
	for _, n := range slices.Sorted(slices.Values(append(sortedKeys(plain), ir.Spellings()...))) {
		ns, short := cutLast(n)
		if ns == head {
			same = append(same, short)
		}
		if full[short] == "" && ns != "" {
			full[short] = n
		}
		all = append(all, short)
	}
	if near := diag.Nearest(last, same); near != "" {
		return head + "." + near
	}
	return full[diag.Nearest(last, all)]
}

// cutLast cuts a dotted name before its last part.
func cutLast(p string) (head, last string) {
	if i := strings.LastIndexByte(p, '.'); i >= 0 {
		return p[:i], p[i+1:]
	}
	return "", p
}

// callee is what stands before the parentheses of a call.
func (f *fn) callee(x syntax.Expr) value {
	if n, ok := syntax.Unparen(x).(*syntax.Name); ok {
		if b, ok := f.env.lookup(n.Text); ok {
			if _, isForeign := b.val.(foreign); isForeign {
				f.foreignCall(n)
				return bad{}
			}
		}
	}
	return f.expr(x)
}

func (f *fn) foreignCall(n *syntax.Name) {
	d := f.errorf(diag.NotInLanguage, n.At, "%s is a Python function: it cannot be called from a kernel", n.Text)
	for _, def := range f.unit.factory {
		if def.Name.Text == n.Text {
			d.Note(def.Name.At, "defined here, without a kernel decorator").Help("write @pl.jit.inline above it")
		}
	}
}
