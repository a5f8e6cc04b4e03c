package check

import (
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// call is what a call gives.
func (f *fn) call(x *syntax.Call) value {
	switch v := f.callee(x.Fn).(type) {
	case bad:
		return v
	case opName:
		if f.f == nil {
			f.errorf(diag.NotConstant, x.At, "%s cannot be computed outside a function", v.name)
			return bad{}
		}
		if v.kind == ir.AllocWindow {
			return f.strayAlloc(x)
		}
		return f.opCall(v, x)
	case special:
		if fn := specials[string(v)]; fn != nil {
			return fn(f, x)
		}
		f.errorf(diag.NotCallable, x.At, "%s stands in a with statement", v).Help("write `with %s(...):`", v)
		return bad{}
	case builtin:
		return f.builtinCall(v, x)
	case *decl:
		return f.callDecl(v, x)
	case dotted:
		for _, h := range hints {
			if string(v) == h {
				return v
			}
		}
		f.errorf(diag.NotCallable, x.Fn.Span(), "%s is not a function", v)
		return bad{}
	default:
		f.errorf(diag.NotCallable, x.Fn.Span(), "%s cannot be called", describe(v))
		return bad{}
	}
}

// callKinds says which functions may call which.
var callKinds = map[ir.FuncKind][]ir.FuncKind{
	ir.Host:   {ir.Chip, ir.InCore, ir.Inline},
	ir.Chip:   {ir.Chip, ir.InCore, ir.Inline},
	ir.InCore: {ir.InCore, ir.Inline},
	ir.Inline: {ir.Chip, ir.InCore, ir.Inline},
	ir.Golden: {ir.Inline},
}

func (f *fn) mayCall(d *decl, x *syntax.Call) bool {
	if f.f == nil {
		f.errorf(diag.NotConstant, x.At, "%s is not a constant: functions are called inside functions", d.name)
		return false
	}
	for _, k := range callKinds[f.f.Kind] {
		if k == d.kind {
			return true
		}
	}
	e := f.errorf(diag.BadCall, x.Fn.Span(), "%s cannot call %s, which is %s", aFunction(f.f.Kind), d.name, aFunction(d.kind)).
		Note(d.node.Name.At, "defined here")
	switch {
	case d.kind == ir.Host:
		e.Help("a host function is where a program starts: only the command line calls it")
	case d.kind == ir.Golden:
		e.Help("a golden function is a specification: it is not called")
	case f.f.Kind == ir.Golden:
		e.Help("a golden function says what is computed without the kernels; it may call @pl.jit.inline functions")
	default:
		e.Help("call it from a function of its own level")
	}
	return false
}

// A callArgs is a call with its arguments matched to the parameters of the callee.
type callArgs struct {
	exprs  map[string]syntax.Expr
	device syntax.Expr
}

func (f *fn) callDecl(d *decl, x *syntax.Call) value {
	if !f.mayCall(d, x) {
		return bad{}
	}
	f.isGeneric(d)
	args, ok := f.matchArgs(d, x)
	if !ok {
		return bad{}
	}
	vals := map[string]value{}
	spans := map[string]source.Span{}
	for _, p := range d.params {
		e := args.exprs[p.name]
		from := f
		if e == nil { // the default, in the callee's scope
			e = p.node.Default
			from = &fn{checker: f.checker, list: f.list, unit: d.unit, env: d.env}
		}
		vals[p.name], spans[p.name] = from.expr(e), e.Span()
		if e == p.node.Default && args.exprs[p.name] == nil {
			spans[p.name] = x.At
		}
		if anyBad(vals[p.name]) {
			ok = false
		}
	}
	if !ok {
		return bad{}
	}
	var b *bindings
	if d.generic {
		if b, ok = f.bindGeneric(d, vals, spans, x); !ok {
			return bad{}
		}
	}
	in := f.instantiate(d, b, x.At)
	if !in.done {
		f.recursion(d, x)
		return bad{}
	}
	if in.bad {
		return bad{}
	}
	return f.emitCall(in, args, vals, spans, x)
}

// matchArgs matches arguments with parameters by position and name.
func (f *fn) matchArgs(d *decl, x *syntax.Call) (callArgs, bool) {
	out := callArgs{exprs: map[string]syntax.Expr{}}
	if len(x.Args) > len(d.params) {
		f.errorf(diag.ArgumentCount, x.Args[len(d.params)].Span(), "%s takes %d arguments, got %d", d.name, len(d.params), len(x.Args)+len(x.Keywords)).
			Note(d.node.Name.At, "defined here: %s", d.usage())
		return out, false
	}
	for i, a := range x.Args {
		out.exprs[d.params[i].name] = a
	}
	for _, k := range x.Keywords {
		name := k.Name.Text
		switch {
		case d.has(name):
			if old := out.exprs[name]; old != nil {
				f.errorf(diag.RepeatedParameter, k.Name.At, "%s is given %s twice", d.name, name).Note(old.Span(), "by position here")
				return out, false
			}
			out.exprs[name] = k.Value
		case name == "device":
			out.device = k.Value
		default:
			var names []string
			for _, p := range d.params {
				names = append(names, p.name)
			}
			e := f.errorf(diag.UnknownKeyword, k.Name.At, "%s has no parameter %s", d.name, name).Note(d.node.Name.At, "defined here: %s", d.usage())
			if near := diag.Nearest(name, names); near != "" {
				e.Help("did you mean %s=?", near).Fix(k.Name.At, near, "write %s", near)
			}
			return out, false
		}
	}
	for _, p := range d.params {
		if out.exprs[p.name] == nil && p.node.Default == nil {
			at := x.At
			at.Start = max(at.End-1, at.Start)
			f.errorf(diag.MissingArgument, at, "%s needs an argument for %s", d.name, p.name).Note(d.node.Name.At, "defined here: %s", d.usage())
			return out, false
		}
	}
	return out, true
}

func (d *decl) has(name string) bool {
	for _, p := range d.params {
		if p.name == name {
			return true
		}
	}
	return false
}

func (d *decl) usage() string {
	var names []string
	for _, p := range d.params {
		names = append(names, p.name)
	}
	return d.name + "(" + strings.Join(names, ", ") + ")"
}

// bindGeneric finds the compile-time arguments and element types of a call.
func (f *fn) bindGeneric(d *decl, vals map[string]value, spans map[string]source.Span, x *syntax.Call) (*bindings, bool) {
	b := &bindings{consts: map[string]value{}, dtypes: map[string]ir.DType{}}
	from := map[string]source.Span{}
	for _, p := range d.params {
		v, at := vals[p.name], spans[p.name]
		switch {
		case p.annot.konst != "":
			c, ok := constArg(p.annot.konst, v)
			if !ok {
				f.errorf(diag.BadConstArg, at, "%s of %s must be a compile-time %s, got %s", p.name, d.name, p.annot.konst, describe(v)).
					Note(p.node.Name.At, "declared here")
				return nil, false
			}
			b.consts[p.name] = c
		case p.annot.open != "":
			dt := argDType(v)
			old, bound := b.dtypes[p.annot.open]
			if bound && old != dt && argFlexible(v) {
				continue
			}
			if bound && old != dt {
				f.errorf(diag.WrongDType, at, "%s of %s must have elements of %s, got %s", p.name, d.name, old, dt).
					Note(from[p.annot.open], "this makes %s %s", p.annot.open, old).Help("convert one of them with pl.cast")
				return nil, false
			}
			if dt == ir.NoDType {
				f.errorf(diag.WrongKind, at, "%s of %s must be %s, got %s", p.name, d.name, typeText(p.annot.typ), describe(v))
				return nil, false
			}
			b.dtypes[p.annot.open], from[p.annot.open] = dt, at
		}
	}
	return b, true
}

// argFlexible: constants take whatever type is wanted.
func argFlexible(v value) bool {
	_, isValue := v.(*ir.Value)
	return !isValue
}

func argDType(v value) ir.DType {
	if x, ok := v.(*ir.Value); ok {
		return ir.DTypeOf(x.Type)
	}
	if c := constant(v); c != nil {
		return ir.DTypeOf(c.Type)
	}
	return ir.NoDType
}

// constArg checks a compile-time argument of the kind that pl.Const names.
func constArg(kind string, v value) (value, bool) {
	switch kind {
	case "int":
		n, ok := asInt(v)
		return n, ok
	case "float":
		x, ok := asFloat(v)
		return x, ok
	case "bool":
		b, ok := asBool(v)
		return b, ok
	case "str":
		s, ok := v.(string)
		return s, ok
	}
	e, ok := v.(ir.Enum)
	return e, ok && e.Type.Name == kind
}

// recursion reports a cycle of calls.
func (f *fn) recursion(d *decl, x *syntax.Call) {
	i := len(f.busy) - 1
	for i > 0 && f.busy[i] != d {
		i--
	}
	var chain []string
	for _, b := range f.busy[max(i, 0):] {
		chain = append(chain, b.name)
	}
	chain = append(chain, d.name)
	f.errorf(diag.Recursion, x.Fn.Span(), "functions call each other in a cycle: %s", strings.Join(chain, " -> ")).
		Note(d.node.Name.At, "%s is defined here", d.name).Help("kernels have no stack: write a loop")
}

// emitCall converts the arguments and adds the call.
func (f *fn) emitCall(in *instance, args callArgs, vals map[string]value, spans map[string]source.Span, x *syntax.Call) value {
	d := in.decl
	at := argSpans{whole: x.At, of: map[string]source.Span{"device": x.At}, elts: map[string][]source.Span{}}
	var ops []*ir.Value
	for _, p := range d.params {
		if p.annot.konst != "" && d.generic {
			continue
		}
		v := f.convertArg(vals[p.name], in.fn.Params()[len(ops)], in, spans[p.name])
		if v == nil {
			return bad{}
		}
		ops = append(ops, v)
		at.elts["args"] = append(at.elts["args"], spans[p.name])
	}
	dev, ok := f.device(d, args, ops, x)
	if !ok || !f.callNeeds(in, x) {
		return bad{}
	}
	f.b.Span = x.At
	b := f.b.Add(ir.Call).SetAttr("callee", in.fn).Set("args", ops...)
	if dev != nil {
		b.Set("device", dev)
		at.of["device"] = deviceSpan(args, x)
	}
	op, err := b.Done()
	if err != nil {
		f.typeError(err, at).Note(d.node.Name.At, "%s is defined here", d.name)
		return bad{}
	}
	f.distinct(in, ops, at.elts["args"])
	for i := range ops {
		if _, mem := ops[i].Type.(*ir.Tensor); mem && (in.fn.Dirs[i] != ir.In || in.wrote[in.fn.Params()[i]]) {
			f.writes(ops[i], at.elts["args"][i])
		}
	}
	if in.failed {
		return bad{}
	}
	return callResult(op, in.fn, ops)
}

func deviceSpan(args callArgs, x *syntax.Call) source.Span {
	if args.device != nil {
		return args.device.Span()
	}
	return x.At
}

// callResult is the value of a call: parameters that the callee returns are the arguments, the others
// are results.
func callResult(op *ir.Op, callee *ir.Func, args []*ir.Value) value {
	ret := callee.Body.Terminator()
	if ret == nil || ret.Kind != ir.Return {
		return none{}
	}
	var out []value
	n := 0
	for _, v := range ret.Vals("values") {
		if i := paramIndex(callee, v); i >= 0 {
			if _, mem := v.Type.(*ir.Tensor); mem {
				out = append(out, args[i])
				continue
			}
		}
		if n < len(op.Results) {
			out = append(out, simplify(op.Results[n]))
			n++
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return seq{elts: out}
}

// convertArg makes an argument what the parameter takes.
func (f *fn) convertArg(v value, p *ir.Value, in *instance, at source.Span) *ir.Value {
	x := f.operand(v)
	if t, scalar := p.Type.(*ir.Scalar); scalar {
		if c := f.typedConst(v, t.DType); c != nil {
			return c
		}
		if x != nil {
			if from, ok := x.Type.(*ir.Scalar); ok {
				return f.narrowIndex(x, from.DType, t.DType, at)
			}
		}
		x = nil
	}
	if x == nil {
		f.errorf(diag.WrongKind, at, "%s of %s must be %s, got %s", p.Name, in.decl.name, typeText(p.Type), describe(v)).
			Note(in.decl.param(p.Name), "declared here")
		return nil
	}
	_, mem := x.Type.(*ir.Tensor)
	switch p.Type.(type) {
	case *ir.Tensor:
		return f.memoryArg(x, p, in, at)
	case *ir.Tile:
		if mem {
			return f.load(x, at)
		}
	}
	return x
}

// narrowIndex hands sizes and ranks, which are INDEX, to integer parameters of other types.
func (f *fn) narrowIndex(x *ir.Value, from, to ir.DType, at source.Span) *ir.Value {
	if from == ir.INDEX && to.IsInt() && to != ir.INDEX {
		f.b.Span = at
		if c, err := f.b.Cast(x, to); err == nil {
			return c
		}
	}
	return x
}

// memoryArg: memory is passed as it is, without gaps unless the callee is inlined.
func (f *fn) memoryArg(x, p *ir.Value, in *instance, at source.Span) *ir.Value {
	if _, mem := x.Type.(*ir.Tensor); !mem {
		d := f.errorf(diag.WrongKind, at, "%s of %s must be memory (%s), got %s", p.Name, in.decl.name, typeText(p.Type), describe(x)).
			Note(in.decl.param(p.Name), "declared here")
		if _, tile := x.Type.(*ir.Tile); tile {
			d.Help("store it first: t = pl.create_tensor([...], dtype=...), then pl.store(x, [0, 0], t)")
		}
		return nil
	}
	if in.decl.kind != ir.Inline && !contiguous(x) {
		f.errorf(diag.NotContiguous, at, "%s of %s must be contiguous memory; this view has gaps between its rows", p.Name, in.decl.name).
			Help("copy it: t = pl.create_tensor(...), t[:, :] = view, and pass t; or pass the whole and the offsets")
		return nil
	}
	return x
}

// device is the rank that a host function dispatches to.
func (f *fn) device(d *decl, args callArgs, ops []*ir.Value, x *syntax.Call) (*ir.Value, bool) {
	dispatch := d.kind == ir.Chip || d.kind == ir.InCore
	host := f.f.Kind == ir.Host || f.f.Kind == ir.Inline
	if args.device == nil {
		if f.f.Kind != ir.Host || !dispatch {
			return nil, true
		}
		for i, v := range ops {
			if t, ok := v.Type.(*ir.Tensor); ok && t.Window {
				at := x.At
				at.Start = max(at.End-1, at.Start)
				f.errorf(diag.BadDevice, at, "the call of %s passes the window %s, so it needs device=", d.name, d.params[min(i, len(d.params)-1)].name).
					Help("write %s(..., device=r) in a loop over the ranks", d.name)
				return nil, false
			}
		}
		return ir.Index(0), true
	}
	at := args.device.Span()
	if !host || !dispatch {
		e := f.errorf(diag.BadDevice, at, "'device' is only for calls of a host function to a chip or incore function")
		if host {
			e.Note(d.node.Name.At, "%s is %s", d.name, aFunction(d.kind))
		} else {
			e.Help("leave it out: the call runs on the rank that makes it")
		}
		return nil, false
	}
	v := f.expr(args.device)
	if isBad(v) {
		return nil, false
	}
	r := f.operand(v)
	if r != nil {
		if s, ok := r.Type.(*ir.Scalar); ok && s.DType.IsInt() {
			if n, isConst := r.ConstInt(); isConst && n < 0 {
				f.errorf(diag.BadDevice, at, "a device is a rank, counted from 0; got %d", n)
				return nil, false
			}
			return r, true
		}
	}
	f.errorf(diag.BadDevice, at, "device= takes a rank, an integer, got %s", describe(v))
	return nil, false
}

// callNeeds checks that what an inline function does is legal here.
func (f *fn) callNeeds(in *instance, x *syntax.Call) bool {
	if in.decl.kind != ir.Inline {
		if f.f.Kind == ir.Inline {
			f.in.needs = append(f.in.needs, need{ir.InHost | ir.Device, "a call of " + in.decl.name, x.At})
		}
		return true
	}
	for _, n := range in.needs {
		if f.f.Kind == ir.Inline {
			f.in.needs = append(f.in.needs, n)
			continue
		}
		if !n.where.Allows(f.f.Kind) {
			f.errorf(diag.WrongPlace, x.At, "%s cannot be inlined into %s: it contains %s", in.decl.name, aFunction(f.f.Kind), n.name).
				Note(n.at, "%s is possible only in %s", n.name, n.where)
			return false
		}
	}
	return true
}
