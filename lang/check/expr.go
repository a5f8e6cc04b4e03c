package check

import (
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// expr is what an expression means. Inside a function it may add ops.
func (f *fn) expr(x syntax.Expr) value {
	switch x := x.(type) {
	case *syntax.Name:
		return f.name(x)
	case *syntax.Int:
		return x.Value
	case *syntax.Float:
		return x.Value
	case *syntax.Bool:
		return x.Value
	case *syntax.None:
		return none{}
	case *syntax.Str:
		return f.str(x)
	case *syntax.Attr:
		return f.attr(x)
	case *syntax.Call:
		return f.call(x)
	case *syntax.Index:
		return f.index(x)
	case *syntax.Tuple:
		return f.sequence(x.Elts, false)
	case *syntax.List:
		return f.sequence(x.Elts, true)
	case *syntax.Unary:
		return f.unary(x)
	case *syntax.Binary:
		if x.Op == syntax.And || x.Op == syntax.Or {
			return f.logic(x)
		}
		return f.binary(x.Op, f.expr(x.X), x.X.Span(), x.Y, x.At)
	case *syntax.Compare:
		return f.compare(x)
	case *syntax.Cond:
		return f.choose(x)
	case *syntax.Paren:
		return f.expr(x.X)
	case *syntax.Dict:
		f.errorf(diag.NotInLanguage, x.At, "a dictionary is not in the kernel language").Help("use separate names")
	case *syntax.Ellipsis:
		f.errorf(diag.NotInLanguage, x.At, "... is not a value here").Help("x[...] is all of x; as a statement of its own, ... does nothing")
	case *syntax.Slice:
		f.errorf(diag.NotInLanguage, x.At, "a slice stands in the subscript of a tensor")
	case *syntax.BadExpr:
		if f.unit.lenient {
			f.errorf(diag.NotInLanguage, x.At, "%s is not in the kernel language", x.What)
		}
	}
	return bad{}
}

func (f *fn) str(x *syntax.Str) value {
	if x.Format || x.Bytes {
		what := "an f-string"
		if x.Bytes {
			what = "a bytes literal"
		}
		f.errorf(diag.NotInLanguage, x.At, "%s is not in the kernel language", what).Help("use a plain string")
		return bad{}
	}
	return x.Value
}

func (f *fn) sequence(elts []syntax.Expr, list bool) value {
	s := seq{list: list}
	for _, e := range elts {
		s.elts = append(s.elts, f.expr(e))
	}
	return s
}

// name looks a name up.
func (f *fn) name(x *syntax.Name) value {
	b, ok := f.env.lookup(x.Text)
	if !ok {
		if builtins[x.Text] {
			return builtin(x.Text)
		}
		f.undefined(x)
		return bad{}
	}
	switch v := b.val.(type) {
	case missing:
		if isResult(x.Text) {
			return v
		}
		f.missingName(x.Text, x.At, v)
		f.complainedOf(x)
		return bad{}
	case foreign:
		f.errorf(diag.NotInLanguage, x.At, "%s is Python's: its value is not known to a kernel", x.Text).Help("kernels see constants, pl, pld, and functions with a kernel decorator")
		f.complainedOf(x)
		return bad{}
	case dtypeVar:
		if dt, ok := f.dtypes[string(v)]; ok {
			return dt
		}
	}
	return b.val
}

func (f *fn) undefined(x *syntax.Name) {
	d := f.errorf(diag.UndefinedName, x.At, "%s is not defined", x.Text)
	if near := diag.Nearest(x.Text, append(f.env.all(), "range", "min", "max")); near != "" && !strings.HasPrefix(near, "$") {
		d.Help("did you mean %s?", near).Fix(x.At, near, "write %s", near)
	} else if f.unit.lenient {
		d.Help("in Python files only constants and functions with a kernel decorator are read")
	}
	f.complainedOf(x)
}

// complainedOf keeps a function from complaining of one name again and again; what stands in an annotation
// is the module's, and is complained of once.
func (f *fn) complainedOf(x *syntax.Name) {
	switch {
	case f.silent:
	case f.f == nil:
		f.env.owner(x.Text).set(x.Text, bad{}, x.At)
	default:
		f.env.set(x.Text, bad{}, x.At)
	}
}

func (f *fn) missingName(name string, at source.Span, m missing) {
	d := f.errorf(diag.MaybeUndefined, at, "%s is %s", name, strings.TrimPrefix(m.why, "is "))
	for _, n := range m.notes {
		d.Note(n.at, "%s", n.text)
	}
	switch {
	case strings.HasPrefix(m.why, "defined"):
		d.Help("give %s a value on every path before it is used", name)
	case strings.HasPrefix(m.why, "the counter"):
		d.Help("keep the value in another variable, defined before the loop")
	}
}

// attr is X.Sel: a name of pl or pld, a method or constant of the program class, or a property of a
// tensor.
func (f *fn) attr(x *syntax.Attr) value {
	if p, ok := f.pathOf(x); ok {
		return f.resolveAt(p, x)
	}
	base := f.expr(x.X)
	switch b := base.(type) {
	case bad:
		return b
	case self:
		if d, ok := b.class.methods[x.Sel.Text]; ok {
			return d
		}
		if v, ok := b.class.env.local(x.Sel.Text); ok {
			return v.val
		}
		e := f.errorf(diag.UndefinedName, x.Sel.At, "class %s has no function %s", b.class.name, x.Sel.Text)
		if near := diag.Nearest(x.Sel.Text, sortedKeys(b.class.methods)); near != "" {
			e.Help("did you mean self.%s?", near).Fix(x.Sel.At, near, "write %s", near)
		}
		return bad{}
	case *classDecl:
		if d, ok := b.methods[x.Sel.Text]; ok {
			return d
		}
	case *ir.EnumType:
		for i, v := range b.Values {
			if v == x.Sel.Text {
				return ir.Enum{Type: b, Value: i}
			}
		}
	case *ir.Value:
		if v := f.property(b, x.Sel.Text); v != nil {
			return v
		}
		e := f.errorf(diag.UnknownAttribute, x.Sel.At, "%s has no attribute %s", describe(base), x.Sel.Text)
		if k, _ := ir.Lookup("pl." + x.Sel.Text); k != nil {
			e.Help("ops are functions: pl.%s(%s, ...)", x.Sel.Text, x.X.Span().Text())
		} else {
			e.Help("there are shape and dtype")
		}
		return bad{}
	}
	f.errorf(diag.UnknownAttribute, x.Sel.At, "%s has no attribute %s", describe(base), x.Sel.Text)
	return bad{}
}

// property is x.shape, x.dtype.
func (f *fn) property(v *ir.Value, name string) value {
	switch name {
	case "shape":
		if dims := ir.ShapeOf(v.Type); dims != nil {
			s := seq{}
			for _, d := range dims {
				s.elts = append(s.elts, f.dimValue(d))
			}
			return s
		}
	case "dtype":
		if dt := ir.DTypeOf(v.Type); dt != ir.NoDType {
			return dt
		}
	}
	return nil
}

// dimValue is a dim as a value: constants stay constants, others become ops.
func (f *fn) dimValue(d ir.Dim) value {
	if f.f == nil || !d.HasValues() {
		return dimConst(d)
	}
	return simplify(f.b.Dim(d))
}

// operand is v as an IR value; nil for what exists only while compiling.
func (f *fn) operand(v value) *ir.Value {
	if x, ok := v.(*ir.Value); ok {
		return x
	}
	return constant(v)
}

// data is v as a tile or scalar: memory is loaded whole.
func (f *fn) data(v value, at source.Span) *ir.Value {
	x := f.operand(v)
	if x == nil {
		f.errorf(diag.WrongKind, at, "%s cannot be computed with", describe(v))
		return nil
	}
	if _, mem := x.Type.(*ir.Tensor); mem {
		return f.load(x, at)
	}
	switch x.Type.(type) {
	case *ir.Tile, *ir.Scalar:
		return x
	}
	f.errorf(diag.WrongKind, at, "%s cannot be computed with", describe(v))
	return nil
}

// load reads memory whole. Extents that are known only at run time are bounded by what they are cut
// from.
func (f *fn) load(x *ir.Value, at source.Span) *ir.Value {
	if !f.legal(ir.Load, "reading "+memoryName(x)+" as a value", at) {
		return nil
	}
	t := x.Type.(*ir.Tensor)
	bounds := storageOf(x)
	zeros := make([]*ir.Value, len(t.Dims))
	for i := range zeros {
		zeros[i] = ir.Index(0)
	}
	f.b.Span = at
	o := f.b.Add(ir.Load).Set("tensor", x).Set("offsets", zeros...).Set("shape", f.b.Dims(bounds)...).Name(x.Name)
	if !ir.DimsEqual(bounds, t.Dims) {
		o.Set("valid_shape", f.b.Dims(t.Dims)...)
	}
	op, err := o.Done()
	if err != nil {
		f.typeError(err, argSpans{whole: at})
		return nil
	}
	return op.Result()
}

func memoryName(x *ir.Value) string {
	if n := root(x).Name; n != "" {
		return n
	}
	return "memory"
}

// storageOf bounds the extents of memory by ones that are known before the kernel runs.
func storageOf(x *ir.Value) []ir.Dim {
	dims := append([]ir.Dim(nil), ir.ShapeOf(x.Type)...)
	if x.Def == nil || x.Def.Kind != ir.Slice {
		return dims
	}
	src := storageOf(x.Def.Val("x"))
	src = src[min(int(x.Def.Int("drop_dims")), len(src)):]
	for i, d := range dims {
		if d.HasValues() && i < len(src) {
			dims[i] = src[i]
		}
	}
	return dims
}

// binary is `x op y` with y not evaluated yet.
func (f *fn) binary(op syntax.Op, a value, aAt source.Span, y syntax.Expr, at source.Span) value {
	b := f.expr(y)
	return f.arithValue(op, a, b, aAt, y.Span(), at)
}

var binaryKinds = map[syntax.Op]*ir.Kind{
	syntax.Add: ir.Add, syntax.Sub: ir.Sub, syntax.Mul: ir.Mul, syntax.Div: ir.Div, syntax.FloorDiv: ir.FloorDivide,
	syntax.Mod: ir.Modulo, syntax.BitAnd: ir.BitAnd, syntax.BitOr: ir.BitOr, syntax.BitXor: ir.BitXor,
	syntax.Shl: ir.ShiftLeft, syntax.Shr: ir.ShiftRight, syntax.And: ir.LogicalAnd, syntax.Or: ir.LogicalOr,
}

func (f *fn) arithValue(op syntax.Op, a, b value, aAt, bAt, at source.Span) value {
	if anyBad(a, b) {
		return bad{}
	}
	if !f.roundsFloats(op, a, b) {
		if v, ok, err := foldBinary(op, a, b); ok {
			if err != nil {
				f.errorf(diag.ConstantArithmetic, at, "%v", err)
				return bad{}
			}
			return v
		}
	}
	if f.f == nil {
		f.notConstant(at, a, b)
		return bad{}
	}
	switch op {
	case syntax.Pow:
		return f.power(a, b, aAt, bAt)
	case syntax.MatMul:
		return f.matmul(a, b, aAt, bAt, at)
	}
	x, y := f.data(a, aAt), f.data(b, bAt)
	if x == nil || y == nil {
		return bad{}
	}
	k := binaryKinds[op]
	if isBoolType(x.Type) && isBoolType(y.Type) {
		k = map[syntax.Op]*ir.Kind{syntax.BitAnd: ir.LogicalAnd, syntax.BitOr: ir.LogicalOr}[op]
		if k == nil {
			k = binaryKinds[op]
		}
	}
	f.b.Span = at
	v, err := f.b.Binary(k, x, y)
	return f.result(v, err, argSpans{whole: at, of: map[string]source.Span{"lhs": aAt, "rhs": bAt}})
}

// roundsFloats: inside a function floating arithmetic on constants is what the function would compute,
// so that is left to the IR's folding.
func (f *fn) roundsFloats(op syntax.Op, a, b value) bool {
	if f.f == nil {
		return false
	}
	_, aFloat := a.(float64)
	_, bFloat := b.(float64)
	switch op {
	case syntax.Add, syntax.Sub, syntax.Mul, syntax.Div:
		return aFloat || bFloat
	}
	return false
}

func isBoolType(t ir.Type) bool { return ir.DTypeOf(t) == ir.BOOL }

func (f *fn) result(v *ir.Value, err error, spans argSpans) value {
	if err != nil {
		f.typeError(err, spans)
		return bad{}
	}
	return simplify(v)
}

// power: small constant exponents are products.
func (f *fn) power(a, b value, aAt, bAt source.Span) value {
	n, ok := asInt(b)
	if !ok || n < 1 || n > 8 {
		f.errorf(diag.BadValue, bAt, "** takes a constant exponent from 1 to 8, got %s", describe(b)).
			Help("use pl.exp and pl.log, or pl.sqrt")
		return bad{}
	}
	x := f.data(a, aAt)
	if x == nil {
		return bad{}
	}
	out := x
	for ; n > 1; n-- {
		v, err := f.b.Binary(ir.Mul, out, x)
		if err != nil {
			f.typeError(err, argSpans{whole: aAt})
			return bad{}
		}
		out = v
	}
	return simplify(out)
}

func (f *fn) matmul(a, b value, aAt, bAt, at source.Span) value {
	x, y := f.data(a, aAt), f.data(b, bAt)
	if x == nil || y == nil || !f.legal(ir.MatMul, "", at) {
		return bad{}
	}
	f.b.Span = at
	v, err := f.b.Add(ir.MatMul).Set("lhs", x).Set("rhs", y).Value()
	return f.result(v, err, argSpans{whole: at, of: map[string]source.Span{"lhs": aAt, "rhs": bAt}})
}

func (f *fn) notConstant(at source.Span, vs ...value) {
	for _, v := range vs {
		if _, ok := v.(*ir.Value); !ok && constant(v) == nil {
			f.errorf(diag.NotConstant, at, "%s cannot be computed with", describe(v))
			return
		}
	}
	f.errorf(diag.NotConstant, at, "this is not a constant")
}

func (f *fn) unary(x *syntax.Unary) value {
	v := f.expr(x.X)
	if isBad(v) {
		return v
	}
	if x.Op == syntax.Not {
		return f.notValue(x, v)
	}
	if r, ok, err := foldUnary(x.Op, v); ok {
		if err != nil {
			f.errorf(diag.ConstantArithmetic, x.At, "%v", err)
			return bad{}
		}
		return r
	}
	if f.f == nil {
		f.notConstant(x.At, v)
		return bad{}
	}
	d := f.data(v, x.X.Span())
	if d == nil {
		return bad{}
	}
	spans := argSpans{whole: x.At, of: map[string]source.Span{"x": x.X.Span(), "lhs": x.X.Span(), "rhs": x.X.Span()}}
	f.b.Span = x.At
	_, scalar := d.Type.(*ir.Scalar)
	switch {
	case x.Op == syntax.Plus:
		return v
	case x.Op == syntax.Invert && isBoolType(d.Type):
		r, err := f.b.Unary(ir.Not, d)
		return f.result(r, err, spans)
	case x.Op == syntax.Invert:
		r, err := f.b.Binary(ir.BitXor, d, ir.Index(-1))
		return f.result(r, err, spans)
	case scalar && ir.DTypeOf(d.Type) == ir.INDEX: // dims understand subtraction
		r, err := f.b.Binary(ir.Sub, ir.Index(0), d)
		return f.result(r, err, spans)
	}
	r, err := f.b.Unary(ir.Neg, d)
	return f.result(r, err, spans)
}

func (f *fn) notValue(x *syntax.Unary, v value) value {
	if b, ok := asBool(v); ok {
		return !b
	}
	if f.f != nil {
		if d := f.operand(v); d != nil && isBoolType(d.Type) {
			d = f.data(v, x.X.Span())
			if d == nil {
				return bad{}
			}
			f.b.Span = x.At
			r, err := f.b.Unary(ir.Not, d)
			return f.result(r, err, argSpans{whole: x.At})
		}
	}
	f.notBool(x.X, v)
	return bad{}
}
