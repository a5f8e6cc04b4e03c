package check

import (
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/syntax"
)

// What the printer writes and few people do: explicit yields and while loops, fused loops,
// communication domains, the arena.

// yieldCall is the call if x is pl.yield_(...).
func yieldCall(f *fn, x syntax.Expr) *syntax.Call {
	if call, ok := syntax.Unparen(x).(*syntax.Call); ok {
		if p, ok := f.pathOf(call.Fn); ok && p == "pl.yield_" {
			return call
		}
	}
	return nil
}

// yieldStmt reads `a, b = pl.yield_(x, y)`.
func (f *fn) yieldStmt(target syntax.Expr, call *syntax.Call) {
	y := &yielded{at: call.At}
	switch t := syntax.Unparen(target).(type) {
	case *syntax.Name:
		y.names = []*syntax.Name{t}
	case *syntax.Tuple:
		for _, e := range t.Elts {
			n, ok := e.(*syntax.Name)
			if !ok {
				f.errorf(diag.MisplacedYield, e.Span(), "pl.yield_ assigns to names")
				return
			}
			y.names = append(y.names, n)
		}
	default:
		f.errorf(diag.MisplacedYield, target.Span(), "pl.yield_ assigns to names")
		return
	}
	f.yieldValues(y, call)
	f.yielded = y
}

func (f *fn) yieldValues(y *yielded, call *syntax.Call) {
	for _, a := range call.Args {
		v := f.expr(a)
		if f.operand(v) == nil && !isBad(v) {
			f.errorf(diag.MisplacedYield, a.Span(), "pl.yield_ cannot hand on %s", describe(v))
			v = bad{}
		}
		y.vals, y.valAts = append(y.vals, v), append(y.valAts, a.Span())
	}
}

// explicitWhile reads `for (a,) in pl.while_(init_values=(x,)):` with pl.cond inside.
func (f *fn) explicitWhile(s *syntax.For, call *syntax.Call) {
	h := &loopHead{name: "pl.while_", call: call}
	ok := len(call.Args) == 0
	for _, k := range call.Keywords {
		if k.Name.Text != "init_values" {
			ok = false
		} else if !f.initValues(h, k.Value) {
			f.poison(assignedNames(s))
			return
		}
	}
	if n, isName := syntax.Unparen(s.Target).(*syntax.Name); ok && isName {
		ok = len(h.explicit) == 0 && n.Text == "_"
	} else {
		ok = ok && f.carryNames(s.Target, h.explicit)
	}
	if !ok {
		f.errorf(diag.BadUnpack, s.At, "an explicit while loop is written `for (a,) in pl.while_(init_values=(x,)):`").Help("or write while cond:")
		f.poison(assignedNames(s))
		return
	}
	conds := 0
	for _, st := range s.Body.Stmts {
		if x, ok := st.(*syntax.ExprStmt); ok {
			if c, ok := x.X.(*syntax.Call); ok && syntax.Dotted(c.Fn) == "pl.cond" {
				conds++
			}
		}
	}
	if conds != 1 {
		f.errorf(diag.BadUnpack, call.At, "a pl.while_ loop has one pl.cond(...) in its body, this has %d", conds)
		f.poison(assignedNames(s))
		return
	}
	f.run(&loop{node: s, body: s.Body.Stmts, explicit: h.explicit, kind: ir.While, set: func(*ir.Op) {}, unused: names{"_": true}})
}

// fused reads the loops that FuseTileOps makes.
func (f *fn) fused(s *syntax.For, call *syntax.Call) {
	op := ir.NewOp(ir.Fused, s.At)
	if !f.fusedArgs(op, call) {
		f.poison(assignedNames(s))
		return
	}
	region := &ir.Block{Parent: op}
	op.Regions = []*ir.Block{region}
	base, outer := f.env, f.b.Block
	f.env, f.b.Block = base.clone(), region
	f.fusedElements(s, op, region)
	f.block(s.Body.Stmts)
	y := f.takeYield()
	if y == nil {
		y = &yielded{}
	}
	ends, _ := f.operandList(seq{elts: y.vals})
	f.yieldInto(region, ends, s.At)
	f.env, f.b.Block = base, outer
	f.b.Span = s.At
	f.b.Insert(op)
	var labels []string
	for _, n := range y.names {
		labels = append(labels, n.Text)
	}
	if err := f.b.Finish(op, labels...); err != nil {
		f.typeError(err, argSpans{whole: call.At})
		return
	}
	for _, v := range op.Vals("outs") {
		f.writes(v, call.At)
	}
	for i, r := range op.Results {
		if i < len(labels) {
			f.env.set(labels[i], r, y.names[i].At)
			f.values[labels[i]] = r
		}
	}
}

func (f *fn) fusedArgs(op *ir.Op, call *syntax.Call) bool {
	for _, k := range call.Keywords {
		v := f.expr(k.Value)
		if anyBad(v) {
			return false
		}
		if b, ok := asBool(v); ok && k.Name.Text == "stream" {
			op.SetAttr("stream", b)
			continue
		}
		vals, ok := f.operandList(v)
		if i := op.Kind.ParamIndex(k.Name.Text); !ok || i < 0 || !op.Kind.Params[i].Kind.IsList() {
			f.errorf(diag.UnknownKeyword, k.At, "pl.fused takes ins=, outs=, shape=, cap= and stream=")
			return false
		}
		op.Set(k.Name.Text, vals...)
	}
	return true
}

// fusedElements names the elements of ins: `for (a, b) in pl.fused(...)`.
func (f *fn) fusedElements(s *syntax.For, op *ir.Op, region *ir.Block) {
	elements := make([]carry, len(op.Vals("ins")))
	name, single := syntax.Unparen(s.Target).(*syntax.Name)
	if !(single && name.Text == "_" && len(elements) == 0) && !f.carryNames(s.Target, elements) {
		f.errorf(diag.BadUnpack, s.Target.Span(), "pl.fused has %d ins", len(elements))
	}
	for i, v := range op.Vals("ins") {
		a := f.f.NewBlockArg(region, elements[i].name, &ir.Scalar{DType: ir.DTypeOf(v.Type)})
		f.env.set(elements[i].name, a, elements[i].at)
	}
}

// operandList makes operands of a sequence.
func (f *fn) operandList(v value) ([]*ir.Value, bool) {
	s, ok := v.(seq)
	if !ok {
		return nil, false
	}
	out := []*ir.Value{}
	for _, e := range s.elts {
		x := f.operand(e)
		if x == nil {
			return nil, false
		}
		out = append(out, x)
	}
	return out, true
}

// commDomain reads `with pld.comm_domain("name", [0, 1]):`. What its body defines stays visible.
func (f *fn) commDomain(s *syntax.With, call *syntax.Call) {
	op := ir.NewOp(ir.CommDomain, s.At)
	if len(call.Args) < 1 || len(call.Args) > 2 {
		f.errorf(diag.ArgumentCount, call.At, "pld.comm_domain takes a name and a list of devices")
		return
	}
	name, ok := f.expr(call.Args[0]).(string)
	if !ok {
		f.errorf(diag.BadValue, call.Args[0].Span(), "pld.comm_domain needs a name")
		return
	}
	op.SetAttr("name", name)
	if len(call.Args) == 2 {
		v := f.expr(call.Args[1])
		devs, ok := f.operandList(v)
		if !ok {
			f.errorf(diag.BadValue, call.Args[1].Span(), "pld.comm_domain needs a list of devices, got %s", describe(v))
			return
		}
		op.Set("devices", devs...)
	}
	region := &ir.Block{Parent: op}
	op.Regions = []*ir.Block{region}
	outer := f.b.Block
	f.b.Block = region
	f.block(s.Body.Stmts)
	f.noYield()
	f.b.Block = outer
	f.b.Span = s.At
	f.b.Insert(op)
}

// funcAttr reads pl.func_attr({...}): what PlanMemory decided. Other attributes are hints.
func (f *fn) funcAttr(call *syntax.Call) value {
	if len(call.Args) != 1 {
		f.errorf(diag.ArgumentCount, call.At, "pl.func_attr takes one dictionary")
		return bad{}
	}
	d, ok := syntax.Unparen(call.Args[0]).(*syntax.Dict)
	if !ok {
		f.errorf(diag.WrongKind, call.Args[0].Span(), "pl.func_attr takes a dictionary")
		return bad{}
	}
	for i, k := range d.Keys {
		key, isStr := k.(*syntax.Str)
		if !isStr {
			f.errorf(diag.WrongKind, k.Span(), "attributes are named by strings")
			return bad{}
		}
		switch key.Value {
		case "arena_bytes":
			if n, ok := f.size(d.Values[i]); ok && f.f != nil {
				f.f.Arena = &n
			}
		case "arena":
			f.readArena(d.Values[i])
		}
	}
	return none{}
}

// size is a number of bytes in terms of symbols and scalars, which no op of the function computes.
func (f *fn) size(x syntax.Expr) (ir.Dim, bool) {
	had := len(f.b.Block.Ops)
	v := f.expr(x)
	f.b.Block.Ops = f.b.Block.Ops[:had]
	if scalar, ok := v.(*ir.Value); ok && ir.DTypeOf(scalar.Type) == ir.INDEX {
		return ir.DimOf(scalar), true
	}
	return asDim(v)
}

func (f *fn) readArena(x syntax.Expr) {
	d, ok := x.(*syntax.Dict)
	if !ok {
		return
	}
	f.arena = map[string]ir.Dim{}
	for i, k := range d.Keys {
		if key, ok := k.(*syntax.Str); ok {
			if n, ok := f.size(d.Values[i]); ok {
				f.arena[key.Value] = n
			}
		}
	}
}

// setArena gives tiles the offsets that pl.func_attr names.
func (f *fn) setArena() {
	for _, name := range sortedKeys(f.arena) {
		v := f.values[name]
		if v == nil {
			f.errorf(diag.UndefinedName, f.in.decl.node.Name.At, "pl.func_attr places %s, which is not defined", name)
			continue
		}
		d := f.arena[name]
		v.Arena = &d
	}
}
