package check

import (
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// yielded is what `a, b = pl.yield_(x, y)` at the end of a block hands on.
type yielded struct {
	at     source.Span
	names  []*syntax.Name
	vals   []value
	valAts []source.Span
}

// block checks statements. A yield must be the last of them; it is left in f.yielded.
func (f *fn) block(stmts []syntax.Stmt) {
	for i, s := range stmts {
		f.stmt(s)
		if f.yielded != nil && i < len(stmts)-1 {
			f.errorf(diag.MisplacedYield, f.yielded.at, "pl.yield_ must be the last statement of its block")
			f.yielded = nil
		}
	}
}

// takeYield is what the block that was just checked yields; nil if nothing.
func (f *fn) takeYield() *yielded {
	y := f.yielded
	f.yielded = nil
	return y
}

func (f *fn) noYield() {
	if y := f.takeYield(); y != nil {
		f.errorf(diag.MisplacedYield, y.at, "pl.yield_ stands in a loop with init_values or in an arm of an if")
	}
}

func (f *fn) stmt(s syntax.Stmt) {
	if f.f != nil {
		f.b.Span = s.Span()
	}
	switch s := s.(type) {
	case *syntax.ExprStmt:
		f.exprStmt(s)
	case *syntax.Assign:
		f.assign(s)
	case *syntax.AnnAssign:
		f.annAssign(s)
	case *syntax.AugAssign:
		f.augAssign(s)
	case *syntax.Return:
		f.returnStmt(s)
	case *syntax.If:
		f.ifStmt(s)
	case *syntax.For:
		f.forStmt(s)
	case *syntax.While:
		f.whileStmt(s)
	case *syntax.With:
		f.withStmt(s)
	case *syntax.Assert:
		f.assertStmt(s)
	case *syntax.Pass, *syntax.BadStmt, *syntax.Break, *syntax.Continue:
	case *syntax.Import, *syntax.FromImport:
		f.errorf(diag.NotInLanguage, s.Span(), "import inside a function is not in the kernel language").Help("imports stand at the top of the file")
	case *syntax.Global:
		f.errorf(diag.NotInLanguage, s.At, "global is not in the kernel language").Help("module constants can be read anyway; pass what changes as a parameter")
	case *syntax.FuncDef:
		f.errorf(diag.NotInLanguage, s.Name.At, "a function inside a function is not in the kernel language").
			Help("move %s to the top level, as @pl.jit.inline", s.Name.Text)
		f.env.set(s.Name.Text, bad{}, s.Name.At)
	case *syntax.ClassDef:
		f.errorf(diag.NotInLanguage, s.Name.At, "a class inside a function is not in the kernel language").
			Help("move %s to the top level, as @pl.program", s.Name.Text)
	}
}

// exprStmt: calls for their effect. A pure expression whose value nobody takes is a mistake.
func (f *fn) exprStmt(s *syntax.ExprStmt) {
	switch x := syntax.Unparen(s.X).(type) {
	case *syntax.Str, *syntax.Ellipsis:
		return // docstrings and empty bodies
	case *syntax.Call:
		before := f.mark()
		v := f.call(x)
		f.gaveUp = f.gaveUp || isBad(v)
		if y := f.yielded; y != nil && y.at == x.At {
			if len(y.vals) > 0 {
				f.yielded.names = nil
			}
			return
		}
		f.unusedCall(x, v, before)
		return
	}
	before := f.mark()
	if v := f.expr(s.X); !isBad(v) && f.f != nil {
		f.unusedValue(s.X, before)
	}
}

// mark is a point of the op list, for seeing what an expression emitted.
func (f *fn) mark() int {
	if f.f == nil {
		return 0
	}
	return len(f.b.Block.Ops)
}

// effects reports whether anything since mark does more than compute.
func (f *fn) effects(mark int) bool {
	for _, op := range f.b.Block.Ops[mark:] {
		if !op.Kind.Pure() && op.Kind != ir.Load && op.Kind != ir.Read && op.Kind != ir.RemoteLoad {
			return true
		}
	}
	return false
}

func (f *fn) unusedCall(x *syntax.Call, v value, before int) {
	if f.f == nil || isBad(v) {
		return
	}
	if val, ok := v.(*ir.Value); ok && !f.effects(before) && val.Def != nil && val.Def.Kind != ir.CreateTensor {
		f.unusedValue(x, before)
	}
}

func (f *fn) unusedValue(x syntax.Expr, before int) {
	if f.effects(before) {
		return
	}
	f.errorf(diag.UnusedResult, x.Span(), "the result of this is not used, and it does nothing else").
		Help("give it a name, or store it: pl.store(..., [0, ...], y)")
}

func (f *fn) assertStmt(s *syntax.Assert) {
	v := f.expr(s.Cond)
	b, ok := asBool(v)
	switch {
	case isBad(v):
	case !ok:
		f.errorf(diag.NotInLanguage, s.At, "assert on a value that is known only at run time is not in the kernel language").
			Help("pl.static_assert checks constants while compiling")
	case !b:
		f.staticFailure(s.Cond.Span(), s.Msg)
	}
}

func (f *fn) staticFailure(at source.Span, msg syntax.Expr) {
	text := "assertion failed: " + strings.Join(strings.Fields(at.Text()), " ")
	if msg != nil {
		if m, ok := f.expr(msg).(string); ok {
			text = m
		}
	}
	f.errorf(diag.StaticAssert, at, "%s", text)
}

// assign checks `a = b = value`.
func (f *fn) assign(s *syntax.Assign) {
	if call := yieldCall(f, s.Value); call != nil {
		f.yieldStmt(s.Targets[0], call)
		return
	}
	if f.allocation(s) {
		return
	}
	v := f.expr(s.Value)
	for _, t := range s.Targets {
		f.bind(t, v, s.Value.Span())
	}
}

func (f *fn) annAssign(s *syntax.AnnAssign) {
	if s.Value == nil {
		f.errorf(diag.NotInLanguage, s.At, "a declaration without a value is not in the kernel language").Help("assign a value")
		return
	}
	if call := yieldCall(f, s.Value); call != nil {
		f.yieldStmt(s.Target, call)
		return
	}
	if f.allocation(&syntax.Assign{At: s.At, Targets: []syntax.Expr{s.Target}, Value: s.Value}) {
		return
	}
	a, ok := f.annotation(s.Annot)
	v := f.expr(s.Value)
	if ok {
		v = f.ascribe(v, a, s)
	} else {
		v = bad{}
	}
	f.bind(s.Target, v, s.Value.Span())
}

// ascribe checks a value against the annotation of its name. Integer scalars may be annotated as any
// integer type: sizes and ranks are INDEX here, which upstream calls INT32 or INT64.
func (f *fn) ascribe(v value, a annot, s *syntax.AnnAssign) value {
	if anyBad(v) || a.typ == nil || a.open != "" {
		return v
	}
	if sc, ok := a.typ.(*ir.Scalar); ok {
		if c := f.typedConst(v, sc.DType); c != nil && ir.DTypeOf(c.Type) != ir.INDEX && ir.DTypeOf(c.Type) != ir.FP32 {
			return c
		}
	}
	x := f.operand(v)
	if x == nil {
		if t, ok := a.typ.(*ir.Tuple); ok {
			if sq, isSeq := v.(seq); isSeq && len(sq.elts) == len(t.Elems) {
				return v
			}
		}
		f.errorf(diag.WrongKind, s.Value.Span(), "this is annotated as %s but is %s", typeText(a.typ), describe(v)).
			Note(s.Annot.Span(), "annotated here")
		return bad{}
	}
	got, want := ir.DTypeOf(x.Type), ir.DTypeOf(a.typ)
	_, gotScalar := x.Type.(*ir.Scalar)
	_, wantScalar := a.typ.(*ir.Scalar)
	if gotScalar && wantScalar && (got == want || got.IsInt() && want.IsInt()) {
		return v
	}
	if tile, isTile := a.typ.(*ir.Tensor); isTile { // upstream calls values tensors before it places them
		if t, ok := x.Type.(*ir.Tile); ok && t.DType == tile.DType && mayEqual(t.Storage(), tile.Dims) {
			return v
		}
		if t, ok := x.Type.(*ir.Tensor); ok && t.DType == tile.DType && mayEqual(t.Dims, tile.Dims) {
			return v
		}
	}
	if want, isTile := a.typ.(*ir.Tile); isTile {
		if t, ok := x.Type.(*ir.Tile); ok && t.DType == want.DType && (mayEqual(t.Dims, want.Dims) || mayEqual(t.Storage(), want.Dims)) {
			return v
		}
	}
	if ir.TypesEqual(x.Type, a.typ) {
		return v
	}
	f.errorf(diag.WrongKind, s.Value.Span(), "this is annotated as %s but is %s", typeText(a.typ), typeText(x.Type)).
		Note(s.Annot.Span(), "annotated here")
	return v
}

// mayEqual reports whether shapes are not known to differ.
func mayEqual(a, b []ir.Dim) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if n, ok := a[i].Sub(b[i]).Const(); ok && n != 0 {
			return false
		}
	}
	return true
}

func (f *fn) augAssign(s *syntax.AugAssign) {
	old := f.expr(s.Target)
	v := f.binary(s.Op, old, s.Target.Span(), s.Value, s.At)
	if mem, ok := old.(*ir.Value); ok && !isBad(v) {
		if _, isMem := mem.Type.(*ir.Tensor); isMem { // in place, as numpy does it
			f.storeWhole(mem, v, s.Target.Span(), s.Value.Span())
			return
		}
	}
	f.bind(s.Target, v, s.Value.Span())
}

// bind gives a target a value. at is where the value stands.
func (f *fn) bind(target syntax.Expr, v value, at source.Span) {
	switch t := target.(type) {
	case *syntax.Name:
		f.bindName(t, v)
	case *syntax.Paren:
		f.bind(t.X, v, at)
	case *syntax.Tuple:
		f.unpack(t.Elts, v, t.At, at)
	case *syntax.List:
		f.unpack(t.Elts, v, t.At, at)
	case *syntax.Index:
		f.assignIndex(t, v, at)
	case *syntax.Attr:
		f.errorf(diag.NotInLanguage, t.At, "assigning to an attribute is not in the kernel language").Help("use a variable")
	}
}

func (f *fn) bindName(t *syntax.Name, v value) {
	f.gaveUp = f.gaveUp || isBad(v)
	if x, ok := v.(*ir.Value); ok && f.f != nil {
		if x.Name == "" && x.Const == nil && t.Text != "_" {
			x.Name = t.Text
		}
		f.values[t.Text] = x
		f.outputRebound(t, x)
	}
	if _, ok := v.(none); ok && f.f != nil && !strings.HasPrefix(t.Text, "$") {
		f.errorf(diag.NoValue, t.At, "%s is given nothing: what stands on the right has no value", t.Text)
		v = bad{}
	}
	f.env.set(t.Text, v, t.At)
}

// outputRebound notes that the name of an output becomes a name for a value: if the output is then
// never written, that was meant to be a store.
func (f *fn) outputRebound(t *syntax.Name, x *ir.Value) {
	old, ok := f.env.local(t.Text)
	if !ok {
		return
	}
	p, ok := old.val.(*ir.Value)
	if !ok || p.Owner != f.f.Body || p == x || p.Name != t.Text {
		return
	}
	if i := paramIndex(f.f, p); i >= 0 && f.f.Dirs[i] != ir.In && root(x) != p {
		f.rebound[t.Text] = rebinding{t.At, typeText(x.Type)}
	}
}

func (f *fn) unpack(targets []syntax.Expr, v value, at, valueAt source.Span) {
	s, ok := v.(seq)
	if !ok || len(s.elts) != len(targets) {
		if !isBad(v) {
			if ok {
				f.errorf(diag.BadUnpack, at, "%d names for %d values", len(targets), len(s.elts)).Note(valueAt, "these values")
			} else {
				f.errorf(diag.BadUnpack, valueAt, "%s cannot be unpacked into %d names", describe(v), len(targets))
			}
		}
		for _, t := range targets {
			if n, ok := t.(*syntax.Name); ok {
				f.env.set(n.Text, bad{}, n.At)
			}
		}
		return
	}
	for i, t := range targets {
		f.bind(t, s.elts[i], valueAt)
	}
}

// returnStmt ends the function. Functions that are called return parameters: memory that they were
// given. Inline and golden functions return values too.
func (f *fn) returnStmt(s *syntax.Return) {
	if s.Value == nil {
		return
	}
	v := f.expr(s.Value)
	if _, ok := v.(none); ok {
		return // `return pld.system.notify(...)`
	}
	if anyBad(v) {
		return
	}
	list := []value{v}
	spans := []source.Span{s.Value.Span()}
	if sq, ok := v.(seq); ok {
		list = sq.elts
		spans = nil
	}
	for _, v := range list {
		if m, ok := v.(missing); ok {
			f.missingReturn(s, m)
			return
		}
	}
	var vals []*ir.Value
	for i, v := range list {
		at := s.Value.Span()
		if t, ok := syntax.Unparen(s.Value).(*syntax.Tuple); ok && i < len(t.Elts) {
			at = t.Elts[i].Span()
		} else if len(spans) > 0 {
			at = spans[0]
		}
		x := f.returnable(v, at)
		if x == nil {
			return
		}
		vals = append(vals, x)
	}
	f.b.Span = s.At
	f.b.Return(vals...)
}

func (f *fn) missingReturn(s *syntax.Return, m missing) {
	d := f.errorf(diag.BadReturn, s.At, "%s does not return a value on every path", f.in.decl.node.Name.Text)
	if len(m.notes) > 0 {
		d.Help("assign the result to a variable before the loop, and return it after")
	}
}

// returnable checks one returned value.
func (f *fn) returnable(v value, at source.Span) *ir.Value {
	x := f.operand(v)
	if x == nil {
		f.errorf(diag.BadReturn, at, "a function cannot return %s", describe(v))
		return nil
	}
	kind := f.f.Kind
	if _, mem := x.Type.(*ir.Tensor); mem {
		if x.Owner == f.f.Body || kind == ir.Golden {
			return x
		}
		d := f.errorf(diag.BadReturn, at, "%s returns memory that is not one of its parameters", f.in.decl.node.Name.Text)
		if r := root(x); r.Owner == f.f.Body {
			d.Help("return %s itself, and take the part at the call", valueName(r))
		} else {
			d.Help("let the caller make the tensor, and pass it as a pl.Out parameter")
		}
		return nil
	}
	if kind == ir.Inline || kind == ir.Golden {
		return x
	}
	d := f.errorf(diag.BadReturn, at, "%s returns parameters that it wrote, not %s", aFunction(kind), typeText(x.Type))
	if _, tile := x.Type.(*ir.Tile); tile {
		d.Help("store it into a pl.Out parameter and return that: return pl.store(t, [0, 0], y)")
	} else {
		d.Help("write it into a pl.Out parameter: y[0, 0] = value; or make the function @pl.jit.inline")
	}
	return nil
}
