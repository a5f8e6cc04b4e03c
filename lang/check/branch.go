package check

import (
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// ifStmt checks a branch. On a condition that is known while compiling only the taken arm is checked,
// except where it is the literal True or False, which only the printer writes.
func (f *fn) ifStmt(s *syntax.If) {
	c := f.condition(s.Cond)
	if isBad(c) {
		c = ir.BoolValue(true) // check both arms all the same
	}
	_, literal := syntax.Unparen(s.Cond).(*syntax.Bool)
	if b, ok := asBool(c); ok && !literal && !isBad(c) {
		if b {
			f.inlineArm(s.Body.Stmts, s.Span())
		} else if s.Else != nil {
			f.inlineArm(s.Else.Stmts, s.Span())
		}
		return
	}
	if f.f == nil {
		f.errorf(diag.NotConstant, s.Cond.Span(), "this condition is not a constant")
		return
	}
	var els []syntax.Stmt
	if s.Else != nil {
		els = s.Else.Stmts
	}
	f.branch(s, f.operand(c), s.Body.Stmts, els)
}

// inlineArm checks the only arm that counts, in place.
func (f *fn) inlineArm(stmts []syntax.Stmt, at source.Span) {
	f.block(stmts)
	if y := f.takeYield(); y != nil {
		for i, n := range y.names {
			f.bindName(n, y.vals[i])
		}
	}
}

// condition is a BOOL.
func (f *fn) condition(x syntax.Expr) value {
	v := f.expr(x)
	if isBad(v) {
		return v
	}
	if f.isBool(v) {
		return v
	}
	f.notBool(x, v)
	return bad{}
}

func (f *fn) isBool(v value) bool {
	if _, ok := asBool(v); ok {
		return true
	}
	x, ok := v.(*ir.Value)
	if !ok {
		return false
	}
	s, ok := x.Type.(*ir.Scalar)
	return ok && s.DType == ir.BOOL
}

func (f *fn) notBool(x syntax.Expr, v value) {
	d := f.errorf(diag.NotBool, x.Span(), "a condition must be BOOL, got %s", describe(v))
	if c := f.operand(v); c != nil {
		if _, scalar := c.Type.(*ir.Scalar); scalar {
			d.Help("compare it: %s != 0", x.Span().Text())
		} else if ir.DTypeOf(c.Type) == ir.BOOL {
			d.Help("a branch takes one truth value; choose element by element with pl.sel")
		}
	}
}

// An arm is one side of a branch after checking.
type arm struct {
	region *ir.Block
	env    *env
	yield  *yielded
}

func (f *fn) branch(s *syntax.If, cond *ir.Value, then, els []syntax.Stmt) {
	op := ir.NewOp(ir.If, s.At).Set("cond", cond)
	a, b := f.arm(op, then), f.arm(op, els)
	merged := merger{then: a.region, els: b.region}
	f.mergeYields(&merged, s, a, b)
	explicit := map[string]bool{}
	for _, n := range merged.names {
		explicit[n] = true
	}
	after := f.flow.after[s]
	base := f.env
	f.env = base.clone()
	for _, name := range assignedNames(append(append([]syntax.Stmt(nil), then...), els...)...) {
		if !explicit[name] {
			f.mergeName(&merged, s, name, a, b, after[name])
		}
	}
	f.finishBranch(op, s, &merged, a, b, len(els) > 0)
}

func (f *fn) arm(op *ir.Op, stmts []syntax.Stmt) arm {
	region := &ir.Block{Parent: op}
	op.Regions = append(op.Regions, region)
	savedEnv, savedBlock := f.env, f.b.Block
	f.env, f.b.Block = f.env.clone(), region
	f.block(stmts)
	a := arm{region, f.env, f.takeYield()}
	f.env, f.b.Block = savedEnv, savedBlock
	return a
}

// A merger collects what a branch results in.
type merger struct {
	then, els *ir.Block
	names     []string
	ats       []source.Span
	x, y      []*ir.Value
	after     []func() // bindings that need no result
}

func (m *merger) add(name string, at source.Span, x, y *ir.Value) {
	m.names = append(m.names, name)
	m.ats = append(m.ats, at)
	m.x, m.y = append(m.x, x), append(m.y, y)
}

// mergeYields pairs explicit yields.
func (f *fn) mergeYields(m *merger, s *syntax.If, a, b arm) {
	switch {
	case a.yield == nil && b.yield == nil:
		return
	case a.yield == nil || b.yield == nil:
		y := a.yield
		if y == nil {
			y = b.yield
		}
		if len(y.vals) > 0 {
			f.errorf(diag.MisplacedYield, y.at, "one arm yields and the other does not").Help("end both arms with pl.yield_")
		}
		return
	case len(a.yield.vals) != len(b.yield.vals) || len(a.yield.names) != len(a.yield.vals) || len(b.yield.names) != len(b.yield.vals):
		f.errorf(diag.MisplacedYield, b.yield.at, "the arms yield %d and %d values", len(a.yield.vals), len(b.yield.vals)).
			Note(a.yield.at, "the other arm")
		return
	}
	for i, n := range a.yield.names {
		x, y := a.yield.vals[i], b.yield.vals[i]
		other := b.yield.names[i].Text
		name := n.Text
		f.pair(m, name, n.At, x, y, func(v value) {
			f.env.set(name, v, n.At)
			f.env.set(other, v, n.At)
		}, func(reason string) {
			f.errorf(diag.BranchType, b.yield.valAts[i], "%s %s", name, reason).Note(a.yield.valAts[i], "the other arm")
			f.env.set(name, bad{}, n.At)
		})
	}
}

// pair merges two values: the same one, compile-time values, or values that become a result.
func (f *fn) pair(m *merger, name string, at source.Span, x, y value, set func(value), fail func(reason string)) {
	switch {
	case isBad(x) || isBad(y):
		m.after = append(m.after, func() { set(bad{}) })
	case sameValue(x, y) && f.constKept(x):
		m.after = append(m.after, func() { set(x) })
	default:
		u, v, reason := f.unify(x, y, m.then, m.els)
		if reason != "" {
			m.after = append(m.after, func() { fail(reason) })
			return
		}
		if u == v && u.Const == nil {
			if _, mem := u.Type.(*ir.Tensor); mem {
				m.after = append(m.after, func() { set(u) })
				return
			}
		}
		m.add(name, at, u, v)
	}
}

// constKept: what is the same in both arms needs no result, unless a yield asks for one.
func (f *fn) constKept(v value) bool {
	if x, ok := v.(*ir.Value); ok {
		_, mem := x.Type.(*ir.Tensor)
		return mem
	}
	return true
}

// mergeName gives a name that the arms assign its meaning after the branch.
func (f *fn) mergeName(m *merger, s *syntax.If, name string, a, b arm, live bool) {
	x, xOK := a.env.lookup(name)
	y, yOK := b.env.lookup(name)
	set := func(v value) { f.env.set(name, v, x.at) }
	if xm, missed := x.val.(missing); missed && xOK {
		x.val, xOK = xm, false
	}
	if ym, missed := y.val.(missing); missed && yOK {
		y.val, yOK = ym, false
	}
	switch {
	case !xOK && !yOK:
		if v, ok := x.val.(missing); ok {
			set(v)
		}
	case !xOK || !yOK:
		f.mergeOneArm(m, s, name, x, y, a, b, xOK)
	case sameValue(x.val, y.val):
		m.after = append(m.after, func() { set(x.val) })
	case !live:
		m.after = append(m.after, func() { f.env.set(name, missing{why: "not used after this branch"}, s.At) })
	default:
		if tx, ok := x.val.(seq); ok {
			if ty, ok := y.val.(seq); ok && len(tx.elts) == len(ty.elts) {
				f.mergeSeq(m, name, x, y, tx, ty)
				return
			}
		}
		f.pair(m, name, x.at, x.val, y.val, set, func(reason string) {
			f.env.set(name, missing{why: reason, notes: []missingNote{{x.at, "one arm binds it here"}, {y.at, "the other here"}}}, s.At)
		})
	}
}

// mergeSeq merges tuples element by element.
func (f *fn) mergeSeq(m *merger, name string, x, y binding, tx, ty seq) {
	out := seq{elts: make([]value, len(tx.elts)), list: tx.list}
	for i := range tx.elts {
		set := func(v value) { out.elts[i] = v }
		if sameValue(tx.elts[i], ty.elts[i]) {
			out.elts[i] = tx.elts[i]
			continue
		}
		part := name + "." + itoa(i)
		f.pair(m, part, x.at, tx.elts[i], ty.elts[i], set, func(reason string) {
			out.elts[i] = missing{why: reason, notes: []missingNote{{x.at, "one arm binds it here"}, {y.at, "the other here"}}}
		})
		if n := len(m.names); n > 0 && m.names[n-1] == part {
			m.after = append(m.after, func() { out.elts[i] = f.env.names[part].val; delete(f.env.names, part) })
		}
	}
	m.after = append(m.after, func() { f.env.set(name, out, x.at) })
}

// mergeOneArm: a name that only one arm defines may not be used afterwards. A returned parameter is
// the same memory on every path, so the hidden name of the result is an exception.
func (f *fn) mergeOneArm(m *merger, s *syntax.If, name string, x, y binding, a, b arm, xOK bool) {
	have, which := x, "the first arm"
	if !xOK {
		have, which = y, "the other arm"
	}
	if isResult(name) {
		if onlyMemory(have.val) {
			m.after = append(m.after, func() { f.env.set(name, have.val, have.at) })
			return
		}
		// A path that has returned, but whose value is lost, must not get another one.
		if _, lost := map[bool]value{true: y.val, false: x.val}[xOK].(missing); !lost && f.fillReturn(m, name, have, a, b, xOK) {
			return
		}
	}
	why := missing{why: "defined on one path only", notes: []missingNote{{have.at, which + " defines it here"}}}
	for _, v := range []value{x.val, y.val} {
		if m, ok := v.(missing); ok {
			why = m // what went wrong inside of an arm is the nearer cause
		}
	}
	m.after = append(m.after, func() { f.env.set(name, why, s.At) })
}

// fillReturn gives the hidden name of the result a zero where a path has not returned yet: a flag says
// that nobody reads it.
func (f *fn) fillReturn(m *merger, name string, have binding, a, b arm, inFirst bool) bool {
	x := f.operand(have.val)
	if x == nil {
		return false
	}
	filled, from := b.region, a.region
	if !inFirst {
		filled, from = from, filled
	}
	outer := f.b.Block
	f.b.Block = filled
	zero := f.zero(x.Type, from)
	f.b.Block = outer
	if zero == nil {
		return false
	}
	if inFirst {
		m.add(name, have.at, x, zero)
	} else {
		m.add(name, have.at, zero, x)
	}
	return true
}

// zero is a value of type t; nil if there is none that can stand outside region.
func (f *fn) zero(t ir.Type, region *ir.Block) *ir.Value {
	switch t := t.(type) {
	case *ir.Scalar:
		if t.DType == ir.BOOL {
			return ir.BoolValue(false)
		}
		return f.typedConst(int64(0), t.DType)
	case *ir.Tile:
		if region != nil && innerValue(t, region) != nil {
			return nil
		}
		o := f.b.Add(ir.Full).Set("shape", f.b.Dims(t.Storage())...).SetAttr("dtype", t.DType).Set("value", ir.Index(0))
		if t.Cap != nil {
			o.Set("valid_shape", f.b.Dims(t.Dims)...)
		}
		if t.DType == ir.BOOL {
			return nil
		}
		if op, err := o.Done(); err == nil {
			return op.Result()
		}
	}
	return nil
}

func onlyMemory(v value) bool {
	if s, ok := v.(seq); ok {
		for _, e := range s.elts {
			if !onlyMemory(e) {
				return false
			}
		}
		return len(s.elts) > 0
	}
	_, ok := memory(v)
	return ok
}

// finishBranch adds the yields and the op, and binds the results.
func (f *fn) finishBranch(op *ir.Op, s *syntax.If, m *merger, a, b arm, hasElse bool) {
	f.yieldInto(a.region, m.x, s.At)
	if len(m.y) > 0 || len(b.region.Ops) > 0 {
		f.yieldInto(b.region, m.y, s.At)
	}
	for i := range m.x {
		if leak := innerValue(m.x[i].Type, a.region); leak != nil {
			f.errorf(diag.BranchType, m.ats[i], "the extents of %s depend on %s, which exists only in this arm", m.names[i], valueName(leak)).
				Help("compute %s before the branch", valueName(leak))
			f.env.set(m.names[i], bad{}, m.ats[i])
			return
		}
	}
	f.b.Span = s.At
	f.b.Insert(op)
	if err := f.b.Finish(op, m.names...); err != nil {
		f.errorf(diag.Internal, s.At, "if: %v", err)
		return
	}
	for i, name := range m.names {
		f.env.set(name, op.Results[i], m.ats[i])
		f.values[name] = op.Results[i]
	}
	for _, fn := range m.after {
		fn()
	}
}

func (f *fn) yieldInto(region *ir.Block, vals []*ir.Value, at source.Span) {
	b := &ir.Builder{Func: f.f, Block: region, Pos: -1, Span: at}
	b.Yield(vals...)
}

// innerValue is a value that a type mentions and that is defined inside region; nil if there is none.
func innerValue(t ir.Type, region *ir.Block) *ir.Value {
	var found *ir.Value
	ir.SubstType(t, func(a ir.Atom) (ir.Dim, bool) {
		if a.Op == ir.AtomVal && within(a.Val, region) {
			found = a.Val
		}
		return ir.Dim{}, false
	})
	return found
}

func within(v *ir.Value, region *ir.Block) bool {
	inside := false
	region.Walk(func(op *ir.Op) {
		for _, r := range op.Results {
			inside = inside || r == v
		}
		for _, r := range op.Regions {
			for _, a := range r.Args {
				inside = inside || a == v
			}
		}
	})
	for _, a := range region.Args {
		inside = inside || a == v
	}
	return inside
}
