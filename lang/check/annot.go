package check

import (
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/syntax"
)

// An annot is a type as it is written: pl.Out[pl.Tensor[[1, N], T]].
type annot struct {
	typ   ir.Type // nil for compile-time parameters
	dir   ir.Dir
	open  string // the element type variable, where it is not bound
	konst string // pl.Const[...]: "int", "float", "bool", "str", or the name of an enumeration
	elems []annot
}

// isGeneric reports whether the function has compile-time parameters or element type variables. It
// reads the signature on the way.
func (c *checker) isGeneric(d *decl) bool {
	if d.kind == ir.Golden {
		return false
	}
	if len(d.params) == 0 || d.params[0].annot.typ != nil || d.params[0].annot.konst != "" {
		return d.generic
	}
	f := c.constFn(d.unit)
	f.env = newEnv(d.env)
	for _, p := range d.params {
		if kind := constKind(f, p.node.Annot); kind == "int" {
			f.env.set(p.name, ir.SymDim(p.name), p.node.Name.At)
		} else if kind != "" {
			f.env.set(p.name, bad{}, p.node.Name.At)
		}
	}
	for _, p := range d.params {
		p.annot = f.paramAnnot(d, p)
		d.generic = d.generic || p.annot.open != "" || p.annot.konst != ""
	}
	return d.generic
}

// constKind is what stands in pl.Const[...]; "" for other annotations.
func constKind(f *fn, x syntax.Expr) string {
	ix, ok := x.(*syntax.Index)
	if !ok {
		return ""
	}
	if p, ok := f.pathOf(ix.X); !ok || p != "pl.Const" || len(ix.Items) != 1 {
		return ""
	}
	switch name := syntax.Dotted(ix.Items[0]); name {
	case "int", "float", "bool", "str":
		return name
	}
	if e, ok := f.quietly(func() value { return f.expr(ix.Items[0]) }).(*ir.EnumType); ok {
		return e.Name
	}
	return "?"
}

func (f *fn) paramAnnot(d *decl, p *param) annot {
	n := p.node
	switch {
	case n.Star.Text != "":
		f.errorf(diag.NotInLanguage, n.Star.At, "%s parameters are not in the kernel language", n.Star.Text).
			Help("name every parameter")
		return annot{}
	case n.Annot == nil:
		f.errorf(diag.MissingAnnotation, n.Name.At, "parameter %s of %s has no annotation", p.name, d.node.Name.Text).
			Help("write its type, such as %s: pl.Tensor[[1, 256], pl.FP32] or %s: pl.Scalar[pl.INDEX]", p.name, p.name)
		return annot{}
	}
	a, ok := f.annotation(n.Annot)
	if !ok {
		return annot{}
	}
	if _, tuple := a.typ.(*ir.Tuple); tuple {
		f.errorf(diag.BadAnnotation, n.Annot.Span(), "a parameter cannot be a tuple").Help("write one parameter per element")
		return annot{}
	}
	return a
}

// annotation reads a type.
func (f *fn) annotation(x syntax.Expr) (annot, bool) {
	x = syntax.Unparen(x)
	if ix, ok := x.(*syntax.Index); ok {
		if p, ok := f.pathOf(ix.X); ok {
			return f.typeForm(p, ix)
		}
	}
	if s, ok := x.(*syntax.Str); ok {
		f.errorf(diag.BadAnnotation, s.At, "a type is written without quotes").Fix(s.At, s.Value, "remove the quotes")
		return annot{}, false
	}
	v := f.expr(x)
	switch v := v.(type) {
	case annot:
		return v, true
	case bad:
		return annot{}, false
	}
	f.badType(x, v)
	return annot{}, false
}

func (f *fn) badType(x syntax.Expr, v value) {
	d := f.errorf(diag.BadAnnotation, x.Span(), "%s is not a type", describe(v))
	name := syntax.Dotted(x)
	switch fix := map[string]string{"int": "pl.Scalar[pl.INDEX]", "float": "pl.Scalar[pl.FP32]", "bool": "pl.Scalar[pl.BOOL]"}[name]; {
	case fix != "":
		d.Help("a run-time number is %s, a compile-time one pl.Const[%s]", fix, name).Fix(x.Span(), fix, "write %s", fix)
	case name == "pl.Tensor" || name == "pld.DistributedTensor" || name == "pl.Tile":
		d.Help("give shape and element type: %s[[1, 256], pl.FP32]", name)
	default:
		if dt, ok := v.(ir.DType); ok {
			d.Help("a number of this type is pl.Scalar[pl.%s]", dt).Fix(x.Span(), "pl.Scalar[pl."+dt.String()+"]", "write pl.Scalar[...]")
			return
		}
		d.Help("types are pl.Tensor, pld.DistributedTensor, pl.Tile, pl.Scalar, pl.Array, pld.CommCtx")
	}
}

// typeForm reads NAME[...].
func (f *fn) typeForm(name string, ix *syntax.Index) (annot, bool) {
	switch name {
	case "pl.Out", "pl.InOut", "pl.In":
		if len(ix.Items) != 1 {
			f.errorf(diag.BadAnnotation, ix.At, "%s takes one type", name)
			return annot{}, false
		}
		a, ok := f.annotation(ix.Items[0])
		a.dir = map[string]ir.Dir{"pl.Out": ir.Out, "pl.InOut": ir.InOut, "pl.In": ir.In}[name]
		if _, mem := a.typ.(*ir.Tensor); ok && !mem && a.dir != ir.In {
			f.errorf(diag.BadAnnotation, ix.At, "only memory can be %s, not %s", name, typeText(a.typ)).
				Help("a pl.Tensor or a pld.DistributedTensor can be written; return a value instead")
			return annot{}, false
		}
		return a, ok
	case "pl.Tensor", "pld.DistributedTensor", "pl.Tile":
		return f.shapedType(name, ix)
	case "pl.Scalar":
		if len(ix.Items) != 1 {
			f.errorf(diag.BadAnnotation, ix.At, "pl.Scalar takes one element type").Help("write pl.Scalar[pl.INDEX]")
			return annot{}, false
		}
		dt, open, ok := f.dtype(ix.Items[0])
		return annot{typ: &ir.Scalar{DType: dt}, open: open}, ok
	case "pl.Array":
		return f.arrayType(ix)
	case "pl.Tuple":
		return f.tupleType(ix)
	case "pl.Const":
		kind := constKind(f, ix)
		if kind == "?" || kind == "" {
			f.errorf(diag.BadAnnotation, ix.At, "pl.Const takes int, float, bool, str or an enumeration such as pld.ReduceOp")
			return annot{}, false
		}
		return annot{konst: kind}, true
	}
	if name == "tuple" {
		return f.tupleType(ix)
	}
	v := f.expr(ix.X)
	if !isBad(v) {
		f.badType(ix, v)
	}
	return annot{}, false
}

// shapedType reads Tensor[[dims], dtype] and its siblings; layouts, views and memory spaces that may
// follow mean nothing here.
func (f *fn) shapedType(name string, ix *syntax.Index) (annot, bool) {
	if len(ix.Items) < 2 {
		f.errorf(diag.BadAnnotation, ix.At, "%s takes a shape and an element type", name).Help("write %s[[1, 256], pl.FP32]", name)
		return annot{}, false
	}
	dims, ok := f.dims(ix.Items[0])
	dt, open, dtOK := f.dtype(ix.Items[1])
	if !ok || !dtOK {
		return annot{}, false
	}
	for _, extra := range ix.Items[2:] {
		if v := f.expr(extra); isBad(v) {
			return annot{}, false
		} else if _, ignored := v.(dotted); !ignored {
			f.errorf(diag.BadAnnotation, extra.Span(), "%s takes a shape and an element type", name)
			return annot{}, false
		}
	}
	if name == "pl.Tile" {
		return annot{typ: &ir.Tile{Dims: dims, DType: dt}, open: open}, true
	}
	return annot{typ: &ir.Tensor{Dims: dims, DType: dt, Window: name != "pl.Tensor"}, open: open}, true
}

// dims evaluates a shape of constants and symbols.
func (f *fn) dims(x syntax.Expr) ([]ir.Dim, bool) {
	v := f.expr(x)
	s, ok := v.(seq)
	if !ok {
		if !isBad(v) {
			f.errorf(diag.BadAnnotation, x.Span(), "a shape is a list of extents, got %s", describe(v)).
				Help("write it in brackets: [1, 256]")
		}
		return nil, false
	}
	var elts []syntax.Expr
	switch x := syntax.Unparen(x).(type) {
	case *syntax.List:
		elts = x.Elts
	case *syntax.Tuple:
		elts = x.Elts
	}
	out := []ir.Dim{}
	for i, e := range s.elts {
		elt := x
		if i < len(elts) {
			elt = elts[i]
		}
		d, ok := asDim(e)
		n, isConst := d.Const()
		switch {
		case isBad(e):
			return nil, false
		case !ok:
			f.badExtent(elt, "an extent is an integer, got %s", describe(e)).
				Help("extents are constants, symbols made by pl.dynamic, and arithmetic on them")
			return nil, false
		case isConst && n < 0:
			f.badExtent(elt, "an extent must not be negative, got %d", n)
			return nil, false
		}
		out = append(out, d)
	}
	return out, true
}

// badExtent complains of an extent; of a constant once, and with its place.
func (f *fn) badExtent(x syntax.Expr, format string, args ...any) *diag.Diagnostic {
	d := f.errorf(diag.BadAnnotation, x.Span(), format, args...)
	if n, ok := syntax.Unparen(x).(*syntax.Name); ok {
		if b, ok := f.env.lookup(n.Text); ok {
			d.Note(b.at, "%s is defined here", n.Text)
		}
		f.complainedOf(n)
	}
	return d
}

// dtype evaluates an element type; open is the variable that it is, if it is one without a binding.
func (f *fn) dtype(x syntax.Expr) (dt ir.DType, open string, ok bool) {
	switch v := f.expr(x).(type) {
	case ir.DType:
		return v, "", true
	case dtypeVar:
		return ir.FP32, string(v), true
	case bad:
	default:
		d := f.errorf(diag.BadAnnotation, x.Span(), "%s is not an element type", describe(v))
		if near := diag.Nearest(strings.ToUpper(syntax.Dotted(x)), dtypeNames()); near != "" {
			d.Help("did you mean pl.%s?", near)
		} else {
			d.Help("element types are pl.FP32, pl.FP16, pl.BF16, pl.INT8, pl.INT32, pl.INT64, pl.BOOL and pl.INDEX")
		}
	}
	return 0, "", false
}

func dtypeNames() []string {
	var out []string
	for _, d := range ir.DTypes {
		out = append(out, d.String())
	}
	return out
}

func (f *fn) arrayType(ix *syntax.Index) (annot, bool) {
	if len(ix.Items) != 2 {
		f.errorf(diag.BadAnnotation, ix.At, "pl.Array takes a length and an element type").Help("write pl.Array[8, pl.INT32]")
		return annot{}, false
	}
	v := f.expr(ix.Items[0])
	n, ok := asInt(v)
	if !ok {
		if !isBad(v) {
			f.errorf(diag.BadAnnotation, ix.Items[0].Span(), "the length of an array is a constant, got %s", describe(v))
		}
		return annot{}, false
	}
	dt, open, ok := f.dtype(ix.Items[1])
	return annot{typ: &ir.Array{N: n, DType: dt}, open: open}, ok
}

func (f *fn) tupleType(ix *syntax.Index) (annot, bool) {
	t := &ir.Tuple{}
	out := annot{}
	for _, x := range ix.Items {
		a, ok := f.annotation(x)
		if !ok {
			return annot{}, false
		}
		if _, nested := a.typ.(*ir.Tuple); nested {
			f.errorf(diag.BadAnnotation, x.Span(), "tuples do not nest")
			return annot{}, false
		}
		t.Elems = append(t.Elems, a.typ)
		out.elems = append(out.elems, a)
	}
	out.typ = t
	return out, true
}
