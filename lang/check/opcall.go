package check

import (
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// opCall builds an op of the table from a call: arguments go to parameters as the row (and the
// spelling that was used) says.
func (f *fn) opCall(o opName, x *syntax.Call) value {
	c := &opCall{fn: f, op: ir.NewOp(o.kind, x.At), name: o.name, sp: o.sp, call: x,
		spans: argSpans{whole: x.At, of: map[string]source.Span{}, elts: map[string][]source.Span{}}}
	if !c.place() {
		return bad{}
	}
	given := c.given
	ok := true
	for i := range o.kind.Params {
		p := &o.kind.Params[i]
		if e, has := given[p.Name]; has {
			ok = c.argument(p, e) && ok
		}
	}
	if !ok || !f.legal(o.kind, "", x.At) {
		return bad{}
	}
	c.fixed()
	return c.finish()
}

type opCall struct {
	*fn
	op    *ir.Op
	name  string
	sp    *ir.Spelling
	call  *syntax.Call
	given map[string]syntax.Expr
	spans argSpans
}

// place matches arguments with parameters.
func (c *opCall) place() bool {
	c.given = map[string]syntax.Expr{}
	order := c.order()
	rest := c.call.Args
	for _, name := range order {
		if len(rest) == 0 {
			break
		}
		c.given[name] = rest[0]
		rest = rest[1:]
	}
	drop := c.dropped()
	for _, extra := range rest {
		if v := c.expr(extra); isBad(v) {
			return false
		} else if _, hint := v.(dotted); hint || len(drop) > 0 {
			continue // upstream's placements and scratch tiles
		}
		c.errorf(diag.ArgumentCount, extra.Span(), "%s takes %d arguments by position, got %d", c.name, len(order), len(c.call.Args)).
			Help("%s", c.usage())
		return false
	}
	ok := true
	for _, k := range c.call.Keywords {
		ok = c.keywordArg(k, drop) && ok
	}
	return ok && c.required()
}

// order lists the parameters that may be given by position.
func (c *opCall) order() []string {
	if c.sp != nil && c.sp.Order != nil {
		return c.sp.Order
	}
	var out []string
	for _, p := range c.op.Kind.Params {
		if !p.KwOnly && !c.isFixed(p.Name) {
			out = append(out, p.Name)
		}
	}
	return out
}

func (c *opCall) isFixed(name string) bool {
	if c.sp == nil {
		return false
	}
	_, ok := c.sp.Fixed[name]
	return ok
}

// dropped are parameters of upstream's that are accepted and ignored.
func (c *opCall) dropped() map[string]bool {
	out := map[string]bool{}
	add := func(s *ir.Spelling) {
		for _, n := range s.Drop {
			out[n] = true
		}
	}
	if c.sp != nil {
		add(c.sp)
		return out
	}
	for i := range c.op.Kind.Spell {
		if c.op.Kind.Spell[i].Fixed == nil {
			add(&c.op.Kind.Spell[i])
		}
	}
	return out
}

func (c *opCall) keywordArg(k *syntax.Keyword, drop map[string]bool) bool {
	name := k.Name.Text
	i := c.op.Kind.ParamIndex(name)
	if i >= 0 {
		name = c.op.Kind.Params[i].Name
	}
	switch {
	case i < 0 && drop[name]:
		return true
	case i < 0 || c.isFixed(name):
		d := c.errorf(diag.UnknownKeyword, k.Name.At, "%s has no parameter %s", c.name, name)
		if near := diag.Nearest(name, c.paramNames()); near != "" {
			d.Help("did you mean %s=?", near).Fix(k.Name.At, near, "write %s", near)
		} else {
			d.Help("%s", c.usage())
		}
		return false
	case c.given[name] != nil:
		c.errorf(diag.RepeatedParameter, k.Name.At, "%s is given %s twice", c.name, name).Note(c.given[name].Span(), "by position here")
		return false
	}
	c.given[name] = k.Value
	return true
}

func (c *opCall) paramNames() []string {
	var out []string
	for _, p := range c.op.Kind.Params {
		if !c.isFixed(p.Name) {
			out = append(out, p.Name)
		}
	}
	return out
}

// usage is the op's signature in words.
func (c *opCall) usage() string {
	var parts []string
	star := false
	for _, p := range c.op.Kind.Params {
		if c.isFixed(p.Name) {
			continue
		}
		if p.KwOnly && !star {
			star = true
			parts = append(parts, "*")
		}
		s := p.Name
		if p.Optional {
			s += "=..."
		}
		parts = append(parts, s)
	}
	return "its form is " + c.name + "(" + strings.Join(parts, ", ") + ")"
}

func (c *opCall) required() bool {
	for _, p := range c.op.Kind.Params {
		if !p.Optional && c.given[p.Name] == nil && !c.isFixed(p.Name) {
			at := c.call.At
			at.Start = max(at.End-1, at.Start)
			c.errorf(diag.MissingArgument, at, "%s needs %s", c.name, p.Name).Help("%s", c.usage())
			return false
		}
	}
	return true
}

// fixed sets what the spelling fixes.
func (c *opCall) fixed() {
	if c.sp == nil {
		return
	}
	for _, p := range c.op.Kind.Params {
		v, ok := c.sp.Fixed[p.Name]
		switch {
		case !ok:
		case p.Kind.IsAttr():
			c.op.SetAttr(p.Name, v)
		default:
			c.op.Set(p.Name, constant(v))
		}
	}
}

// argument evaluates one argument and gives it to its parameter.
func (c *opCall) argument(p *ir.Param, e syntax.Expr) bool {
	c.spans.of[p.Name] = e.Span()
	v := c.expr(e)
	if anyBad(v) {
		return false
	}
	if _, isNone := v.(none); isNone && p.Optional {
		return true
	}
	switch {
	case p.Kind.IsAttr():
		return c.attribute(p, v, e.Span())
	case p.Kind.IsList():
		return c.operands(p, v, e)
	}
	x := c.one(p, v, e.Span())
	if x == nil {
		return false
	}
	c.op.Set(p.Name, x)
	return true
}

// one is a single operand. Deduction checks what it must be; memory where a value is wanted is loaded
// here.
func (c *opCall) one(p *ir.Param, v value, at source.Span) *ir.Value {
	x := c.operand(v)
	if x == nil {
		c.errorf(diag.WrongKind, at, "%s %s must be %s, got %s", c.name, p.Name, wants[p.Kind], describe(v))
		return nil
	}
	if t, mem := x.Type.(*ir.Tensor); mem && (p.Kind == ir.PTile || p.Kind == ir.PData) {
		if c.op.Kind == ir.RemoteStore && t.Window {
			c.errorf(diag.WrongKind, at, "%s pushes a computed tile, got a pld.DistributedTensor", c.name).
				Help("memory is copied by pld.tensor.put(target, peer, src)")
			return nil
		}
		return c.load(x, at)
	}
	return x
}

var wants = map[ir.ParamKind]string{
	ir.PMem: "a tensor", ir.PTensor: "a tensor", ir.PWindow: "a pld.DistributedTensor", ir.PTile: "a tile",
	ir.PData: "a tile or a scalar", ir.PAny: "a tile or a tensor", ir.PInt: "an integer", ir.PBool: "a BOOL",
	ir.PScalar: "a scalar", ir.PArray: "a pl.Array", ir.PBuffer: "a window buffer", ir.PCtx: "a pld.CommCtx",
	ir.PInts: "a list of integers", ir.PValues: "a list of values", ir.AInt: "a constant integer", ir.AFloat: "a constant number",
	ir.ABool: "True or False", ir.AStr: "a string", ir.ADType: "an element type such as pl.FP32", ir.AFunc: "a function",
}

// operands is a list of operands.
func (c *opCall) operands(p *ir.Param, v value, e syntax.Expr) bool {
	s, ok := v.(seq)
	if !ok {
		if c.op.Kind == ir.AllocWindow {
			return c.byteCount(p, v, e.Span())
		}
		c.errorf(diag.WrongKind, e.Span(), "%s %s must be %s, got %s", c.name, p.Name, wants[p.Kind], describe(v)).
			Help("write it in brackets: [%s]", e.Span().Text())
		return false
	}
	spans := elementSpans(e, len(s.elts))
	vals := []*ir.Value{}
	for i, elt := range s.elts {
		x := c.operand(elt)
		if x == nil {
			c.errorf(diag.WrongKind, spans[i], "%s %s must be %s, got %s", c.name, p.Name, wants[p.Kind], describe(elt))
			return false
		}
		vals = append(vals, x)
	}
	c.spans.elts[p.Name] = spans
	c.op.Set(p.Name, vals...)
	return true
}

// byteCount: alloc_window_buffer(bytes) allocates that many INT8 elements.
func (c *opCall) byteCount(p *ir.Param, v value, at source.Span) bool {
	x := c.operand(v)
	if x == nil {
		c.errorf(diag.WrongKind, at, "%s takes a number of bytes or a shape, got %s", c.name, describe(v))
		return false
	}
	if c.given["dtype"] != nil {
		c.errorf(diag.BadAlloc, c.given["dtype"].Span(), "dtype= is only valid when the first argument is a shape").
			Help("write the shape in brackets: %s([%s], dtype=...)", c.name, at.Text())
		return false
	}
	c.op.Set(p.Name, x)
	c.op.SetAttr("dtype", ir.INT8)
	return true
}

func elementSpans(e syntax.Expr, n int) []source.Span {
	var elts []syntax.Expr
	switch x := syntax.Unparen(e).(type) {
	case *syntax.List:
		elts = x.Elts
	case *syntax.Tuple:
		elts = x.Elts
	}
	out := make([]source.Span, n)
	for i := range out {
		out[i] = e.Span()
		if i < len(elts) {
			out[i] = elts[i].Span()
		}
	}
	return out
}

// attribute converts a compile-time value.
func (c *opCall) attribute(p *ir.Param, v value, at source.Span) bool {
	var a any
	switch p.Kind {
	case ir.AInt:
		if n, ok := asInt(v); ok {
			a = n
		}
	case ir.AFloat:
		if n, ok := asFloat(v); ok {
			a = n
		}
	case ir.ABool:
		if b, ok := asBool(v); ok {
			a = b
		}
	case ir.AStr:
		if s, ok := v.(string); ok {
			a = s
		}
	case ir.ADType:
		if d, ok := v.(ir.DType); ok {
			a = d
		}
	case ir.AEnum:
		if e, ok := enumValue(p.Enum, v); ok {
			a = e
		}
	}
	if a == nil {
		want := wants[p.Kind]
		if p.Kind == ir.AEnum {
			want = "a " + p.Enum.Name + " (" + strings.Join(p.Enum.Values, ", ") + ")"
		}
		c.errorf(diag.BadValue, at, "%s %s must be %s, got %s", c.name, p.Name, want, describe(v))
		return false
	}
	c.op.SetAttr(p.Name, a)
	return true
}

// enumValue accepts the value itself, and upstream's strings and small integers for modes and
// comparisons.
func enumValue(t *ir.EnumType, v value) (ir.Enum, bool) {
	switch v := v.(type) {
	case ir.Enum:
		return v, v.Type == t
	case string:
		for i, n := range t.Values {
			if n == v && t == ir.RoundMode {
				return ir.Enum{Type: t, Value: i}, true
			}
		}
	case int64:
		if t == ir.CmpType && v >= 0 && int(v) < len(t.Values) {
			return ir.Enum{Type: t, Value: int(v)}, true
		}
	}
	return ir.Enum{}, false
}

// finish deduces the result, notes what is written, and gives the expression its value.
func (c *opCall) finish() value {
	f, k := c.fn, c.op.Kind
	if !c.wanted() || !c.rules() {
		return bad{}
	}
	f.b.Span = c.call.At
	b := f.b.Add(k)
	for i, p := range k.Params {
		switch a := c.op.Args[i]; {
		case a.Attr != nil:
			b.SetAttr(p.Name, a.Attr)
		case a.Vals != nil:
			b.Set(p.Name, a.Vals...)
		}
	}
	if k.Scalar != "" && k.Pure() {
		v, err := b.Value()
		return f.result(v, err, c.spans)
	}
	op, err := b.Done()
	if err != nil {
		f.declared(f.typeError(err, c.spans), c.op.Operands())
		return bad{}
	}
	for _, e := range k.Effects {
		switch e.Kind {
		case ir.Writes, ir.RemoteWrites, ir.Signals:
			if m := op.Val(e.Mem); m != nil {
				if _, mem := m.Type.(*ir.Tensor); mem {
					f.writes(m, c.spans.at(e.Mem, -1))
				}
			}
		}
	}
	switch {
	case k.Returns != "":
		return op.Val(k.Returns)
	case len(op.Results) > 0:
		return op.Result()
	}
	return none{}
}

// wanted checks the shape that a row_expand_ or col_expand_ spelling asks of its second operand.
func (c *opCall) wanted() bool {
	if c.sp == nil || c.sp.Want == "" {
		return true
	}
	p := c.op.Kind.Params[1].Name
	dims := ir.ShapeOf(c.op.Val(p).Type)
	n := len(dims)
	switch {
	case dims == nil:
	case c.sp.Want == "row" && (n < 1 || !dims[n-1].Is(1)):
		c.errorf(diag.ShapeMismatch, c.spans.at(p, -1), "%s %s must have one column, got %s", c.name, p, typeText(c.op.Val(p).Type)).
			Help("a value per row has shape [R, 1]: pl.row_sum and its like make one")
		return false
	case c.sp.Want == "col" && n >= 2 && !dims[n-2].Is(1):
		c.errorf(diag.ShapeMismatch, c.spans.at(p, -1), "%s %s must have one row, got %s", c.name, p, typeText(c.op.Val(p).Type)).
			Help("a value per column has shape [1, C]: pl.col_sum and its like make one")
		return false
	}
	return true
}

// rules of single ops that their rows cannot say.
func (c *opCall) rules() bool {
	if c.op.Kind == ir.AllocWindow && len(c.op.Vals("shape")) > 0 && c.op.DTypeAttr("dtype") == ir.NoDType {
		c.errorf(diag.BadAlloc, c.spans.at("shape", -1), "%s with a shape requires dtype=", c.name).
			Help("write %s([...], dtype=pl.FP32), or give one number of bytes", c.name)
		return false
	}
	if n, ok := c.op.Val("peer").ConstInt(); ok && n < 0 {
		// A warning: what passes make of a branch that is never taken reads back.
		c.list.Warnf(diag.BadWindow, c.spans.at("peer", -1), "%s peer must not be negative, got %d", c.name, n).
			Help("ranks count from 0; the one before me is (me - 1 + n) %% n")
	}
	return true
}
