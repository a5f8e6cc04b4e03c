package check

import (
	"strconv"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// for, while and with, and the explicit forms that the printer writes.

func itoa(n int) string { return strconv.Itoa(n) }

// A loopHead is what stands in pl.range(...) and its siblings.
type loopHead struct {
	name              string
	kind              string
	call              *syntax.Call
	start, stop, step *ir.Value
	explicit          []carry
	stage             int64
}

func (f *fn) forStmt(s *syntax.For) {
	if f.f == nil {
		f.errorf(diag.NotInLanguage, s.At, "a loop cannot stand outside a function")
		return
	}
	call, name := f.loopCall(s)
	if call == nil {
		return
	}
	switch name {
	case "pl.while_":
		f.explicitWhile(s, call)
	case "pl.fused":
		f.fused(s, call)
	default:
		h := &loopHead{name: name, kind: strings.TrimPrefix(name, "pl."), call: call, stage: 1}
		if f.rangeArgs(h) && f.loopTargets(s, h) {
			f.countingLoop(s, h)
		} else {
			f.poison(assignedNames(s))
		}
	}
}

// poison gives names no meaning without further complaints.
func (f *fn) poison(ns []string) {
	for _, n := range ns {
		f.env.set(n, bad{}, source.Span{})
	}
}

// loopCall is the call that a for loop runs over.
func (f *fn) loopCall(s *syntax.For) (*syntax.Call, string) {
	if call, ok := syntax.Unparen(s.Iter).(*syntax.Call); ok {
		v := f.callee(call.Fn)
		if sp, ok := v.(special); ok {
			switch sp {
			case "pl.range", "pl.parallel", "pl.unroll", "pl.pipeline", "pl.spmd", "pl.while_", "pl.fused":
				return call, string(sp)
			}
		}
		if b, ok := v.(builtin); ok && (b == "range" || b == "enumerate" || b == "zip") {
			d := f.errorf(diag.NotInLanguage, call.Fn.Span(), "Python's %s is not in the kernel language", b).Help("use pl.range(...)")
			if b == "range" {
				d.Fix(call.Fn.Span(), "pl.range", "write pl.range")
			}
			f.poison(assignedNames(s))
			return nil, ""
		}
		if isBad(v) {
			f.poison(assignedNames(s))
			return nil, ""
		}
	} else if v := f.expr(s.Iter); isBad(v) {
		f.poison(assignedNames(s))
		return nil, ""
	}
	f.errorf(diag.NotInLanguage, s.Iter.Span(), "a for loop runs over pl.range, pl.parallel, pl.unroll, pl.pipeline or pl.spmd").
		Help("write for i in pl.range(n): and take the i-th element inside")
	f.poison(assignedNames(s))
	return nil, ""
}

// ignoredLoopArgs are upstream's scheduling hints.
var ignoredLoopArgs = map[string]bool{"chunk": true, "chunk_policy": true, "attrs": true, "name_hint": true, "sync_start": true,
	"optimizations": true, "allow_early_resolve": true, "deps": true, "predicate": true}

func (f *fn) rangeArgs(h *loopHead) bool {
	ok := true
	args := h.call.Args
	for _, k := range h.call.Keywords {
		switch {
		case k.Name.Text == "init_values":
			ok = f.initValues(h, k.Value) && ok
		case k.Name.Text == "stage" && h.kind == "pipeline":
			v := f.expr(k.Value)
			n, isInt := asInt(v)
			if !isInt || n < 1 {
				if !isBad(v) {
					f.errorf(diag.BadValue, k.Value.Span(), "stage must be a positive constant, got %s", describe(v))
				}
				ok = false
			}
			h.stage = n
		case k.Name.Text == "core_num" && h.kind == "spmd":
			args = append([]syntax.Expr{k.Value}, args...)
		case ignoredLoopArgs[k.Name.Text]:
		default:
			d := f.errorf(diag.UnknownKeyword, k.Name.At, "%s has no parameter %s", h.name, k.Name.Text)
			switch {
			case h.kind == "spmd":
				d.Help("write pl.spmd(n), or pl.spmd(core_num=n)")
			case h.kind != "pipeline":
				d.Help("start, stop and step are given by position")
			case diag.Nearest(k.Name.Text, []string{"stage"}) != "":
				d.Help("did you mean stage=?").Fix(k.Name.At, "stage", "write stage")
			default:
				d.Help("it takes stage=")
			}
			ok = false
		}
	}
	limit, numbers := 3, "1 to 3 numbers"
	if h.kind == "spmd" {
		limit, numbers = 1, "1 number"
	}
	if len(args) == 0 || len(args) > limit {
		f.errorf(diag.ArgumentCount, h.call.At, "%s takes %s, got %d", h.name, numbers, len(args))
		return false
	}
	var vals []*ir.Value
	for _, a := range args {
		v := f.loopBound(h, a)
		if v == nil {
			return false
		}
		vals = append(vals, v)
	}
	h.start, h.step = ir.Index(0), ir.Index(1)
	switch len(vals) {
	case 1:
		h.stop = vals[0]
	default:
		h.start, h.stop = vals[0], vals[1]
		if len(vals) == 3 {
			h.step = vals[2]
		}
	}
	return ok && f.stepOK(h, args) && f.tripCount(h)
}

func (f *fn) loopBound(h *loopHead, a syntax.Expr) *ir.Value {
	v := f.expr(a)
	if isBad(v) {
		return nil
	}
	x := f.operand(v)
	if x != nil {
		if s, ok := x.Type.(*ir.Scalar); ok && s.DType.IsInt() {
			return x
		}
	}
	f.errorf(diag.LoopBound, a.Span(), "%s counts integers, got %s", h.name, describe(v))
	return nil
}

func (f *fn) stepOK(h *loopHead, args []syntax.Expr) bool {
	if n, ok := h.step.ConstInt(); ok && n == 0 {
		f.errorf(diag.LoopBound, args[2].Span(), "the step of a loop must not be 0")
		return false
	}
	return true
}

// tripCount: an unrolled loop has constant bounds and not too many iterations.
func (f *fn) tripCount(h *loopHead) bool {
	if h.kind != "unroll" {
		return true
	}
	a, ok1 := h.start.ConstInt()
	b, ok2 := h.stop.ConstInt()
	st, ok3 := h.step.ConstInt()
	if !ok1 || !ok2 || !ok3 {
		f.errorf(diag.LoopBound, h.call.At, "pl.unroll needs constant bounds").Help("use pl.range")
		return false
	}
	n := (b - a + st - sign(st)) / st
	if n > 1024 {
		f.errorf(diag.LoopBound, h.call.At, "pl.unroll of %d iterations exceeds the maximum of 1024", n).Help("use pl.range")
		return false
	}
	return true
}

func sign(n int64) int64 {
	if n < 0 {
		return -1
	}
	return 1
}

// initValues reads init_values=(a, b).
func (f *fn) initValues(h *loopHead, x syntax.Expr) bool {
	v := f.expr(x)
	s, ok := v.(seq)
	if !ok {
		if !isBad(v) {
			f.errorf(diag.WrongKind, x.Span(), "init_values must be a tuple, got %s", describe(v)).Help("write (a,) for one value")
		}
		return false
	}
	for _, e := range s.elts {
		if f.operand(e) == nil {
			if !isBad(e) {
				f.errorf(diag.WrongKind, x.Span(), "a loop cannot carry %s", describe(e))
			}
			return false
		}
		h.explicit = append(h.explicit, carry{init: e, at: x.Span()})
	}
	return true
}

// loopTargets reads `i` or `i, (a, b)`.
func (f *fn) loopTargets(s *syntax.For, h *loopHead) bool {
	target := syntax.Unparen(s.Target)
	if len(h.explicit) == 0 {
		if _, ok := target.(*syntax.Name); ok {
			return true
		}
		f.errorf(diag.BadUnpack, s.Target.Span(), "a loop over %s has one counter", h.name).
			Help("carried values need init_values=")
		return false
	}
	t, ok := target.(*syntax.Tuple)
	if ok && len(t.Elts) == 2 {
		if _, ok := t.Elts[0].(*syntax.Name); ok && f.carryNames(t.Elts[1], h.explicit) {
			return true
		}
	}
	f.errorf(diag.BadUnpack, s.Target.Span(), "a loop with %d init_values is written `for i, (%s) in ...`", len(h.explicit), carryHint(len(h.explicit)))
	return false
}

func carryHint(n int) string {
	if n == 1 {
		return "a,"
	}
	out := []string{}
	for i := 0; i < n; i++ {
		out = append(out, string(rune('a'+i%26)))
	}
	return strings.Join(out, ", ")
}

// carryNames gives explicit carries their names.
func (f *fn) carryNames(x syntax.Expr, carries []carry) bool {
	t, ok := syntax.Unparen(x).(*syntax.Tuple)
	if !ok || len(t.Elts) != len(carries) {
		return false
	}
	for i, e := range t.Elts {
		n, ok := e.(*syntax.Name)
		if !ok {
			return false
		}
		carries[i].name, carries[i].at = n.Text, n.At
	}
	return true
}

func (f *fn) countingLoop(s *syntax.For, h *loopHead) {
	counter, _ := syntax.Unparen(s.Target).(*syntax.Name)
	if counter == nil {
		counter = syntax.Unparen(s.Target).(*syntax.Tuple).Elts[0].(*syntax.Name)
	}
	l := &loop{node: s, body: s.Body.Stmts, explicit: h.explicit, unused: names{counter.Text: true}}
	if brk := breakFlag(s.Body.Stmts); brk != "" {
		f.breakingLoop(l, s, h, counter, brk)
		return
	}
	l.kind, l.counter = ir.For, counter
	l.set = func(op *ir.Op) {
		op.Set("start", h.start).Set("stop", h.stop).Set("step", h.step)
		if h.kind != "range" {
			op.SetAttr("kind", ir.LoopKind.Of(h.kind))
		}
		if h.stage != 1 {
			op.SetAttr("stage", h.stage)
		}
	}
	f.run(l)
	f.counterAfter(counter)
}

// counterAfter: a counter ends with its loop.
func (f *fn) counterAfter(counter *syntax.Name) {
	f.env.set(counter.Text, missing{why: "the counter of a loop that is over",
		notes: []missingNote{{counter.At, "the loop"}}}, counter.At)
}

// breakingLoop is a counting loop with a break: a while loop that counts.
func (f *fn) breakingLoop(l *loop, s *syntax.For, h *loopHead, counter *syntax.Name, brk string) {
	if h.kind != "range" {
		f.errorf(diag.BadBreak, s.Iter.Span(), "break or return out of a loop over %s: its iterations %s", h.name, whyAll(h.kind)).Help("use pl.range")
		f.poison(assignedNames(s))
		return
	}
	if len(h.explicit) > 0 {
		f.errorf(diag.BadBreak, s.Iter.Span(), "break or return out of a loop with init_values").
			Help("leave init_values out: names that the body rebinds are carried by themselves")
		f.poison(assignedNames(s))
		return
	}
	hidden := "$count" + brk[4:]
	f.env.set(hidden, simplify(h.start), counter.At)
	l.kind, l.extra = ir.While, []string{hidden, brk}
	l.set = func(*ir.Op) {}
	l.head = func() {
		i := f.mustLookup(hidden)
		more := f.stillCounting(i, h)
		f.cond(f.and(f.not(f.operand(f.mustLookup(brk))), more), s.Iter.Span())
		f.env.set(counter.Text, i, counter.At)
	}
	l.tail = func() {
		next := f.arith(ir.Add, f.operand(f.mustLookup(hidden)), h.step)
		f.env.set(hidden, next, counter.At)
	}
	f.run(l)
	f.counterAfter(counter)
	delete(f.env.names, hidden)
}

// whyAll says why no iteration of a loop can keep the next from running.
func whyAll(kind string) string {
	if kind == "parallel" || kind == "spmd" {
		return "may run in any order"
	}
	return "are laid out before they run"
}

func (f *fn) mustLookup(name string) value {
	b, ok := f.env.lookup(name)
	if !ok {
		return bad{}
	}
	return b.val
}

// stillCounting is i < stop, or i > stop for a loop that counts down; a step whose sign is known only
// at run time needs both.
func (f *fn) stillCounting(i value, h *loopHead) *ir.Value {
	x := f.operand(i)
	up := func() *ir.Value { return f.compareOp("LT", x, h.stop) }
	down := func() *ir.Value { return f.compareOp("GT", x, h.stop) }
	if n, ok := h.step.ConstInt(); ok {
		if n > 0 {
			return up()
		}
		return down()
	}
	return f.or(f.and(f.compareOp("GT", h.step, ir.Index(0)), up()), f.and(f.compareOp("LT", h.step, ir.Index(0)), down()))
}

// cond leaves the while loop when c is false.
func (f *fn) cond(c *ir.Value, at source.Span) {
	if c == nil {
		return
	}
	f.b.Span = at
	f.b.Cond(c)
}

func (f *fn) whileStmt(s *syntax.While) {
	if f.f == nil {
		f.errorf(diag.NotInLanguage, s.At, "a loop cannot stand outside a function")
		return
	}
	brk := breakFlag(s.Body.Stmts)
	l := &loop{node: s, body: s.Body.Stmts, kind: ir.While, set: func(*ir.Op) {}, unused: names{}}
	if brk != "" {
		l.extra = []string{brk}
	}
	l.head = func() {
		c := s.Cond
		if brk != "" {
			c = &syntax.Binary{At: c.Span(), Op: syntax.And, OpAt: c.Span(), X: &syntax.Unary{At: c.Span(), Op: syntax.Not,
				X: &syntax.Name{At: c.Span(), Text: brk}}, Y: c}
		}
		v := f.condition(c)
		if isBad(v) {
			v = true
		}
		f.cond(f.operand(v), s.Cond.Span())
	}
	f.run(l)
}

// withStmt: upstream's scopes run in place; pl.spmd is a loop; comm_domain is the printer's.
func (f *fn) withStmt(s *syntax.With) {
	for _, it := range s.Items {
		call, ok := syntax.Unparen(it.Context).(*syntax.Call)
		var sp special
		if ok {
			v := f.callee(call.Fn)
			sp, ok = v.(special)
			if isBad(v) {
				f.block(s.Body.Stmts)
				return
			}
		}
		if !ok {
			f.errorf(diag.NotInLanguage, it.Context.Span(), "with takes pl.at, pl.scope, pl.spmd and their like, not %s", it.Context.Span().Text())
			f.block(s.Body.Stmts)
			return
		}
		switch sp {
		case "pl.at":
			f.atScope(call)
		case "pl.scope", "pl.manual_scope", "pl.cluster", "pl.auto_scope", "pl.incore", "pl.auto_incore":
		case "pl.spmd":
			f.spmdBlock(s, call)
			return
		case "pld.comm_domain":
			f.commDomain(s, call)
			return
		default:
			f.errorf(diag.NotInLanguage, it.Context.Span(), "%s is not a scope", sp).Help("scopes are pl.at, pl.scope, pl.manual_scope, pl.cluster and pl.spmd")
		}
		if it.As != nil {
			f.bind(it.As, taskID{}, it.As.Span())
		}
	}
	f.block(s.Body.Stmts)
}

// atScope checks what matters of pl.at: where it may stand.
func (f *fn) atScope(call *syntax.Call) {
	level := keyword(call, "level")
	if level == nil && len(call.Args) > 0 {
		level = call.Args[0]
	}
	if level == nil {
		f.errorf(diag.ArgumentCount, call.At, "pl.at needs level=").Help("write pl.at(level=pl.Level.CORE_GROUP)")
		return
	}
	if v := f.expr(level); isBad(v) {
		return
	}
	if role := keyword(call, "role"); role != nil && strings.HasSuffix(syntax.Dotted(role), "SubWorker") {
		f.errorf(diag.NotHere, role.Span(), "SubWorker scopes are not here: there is no Python process that could run them")
	}
}

func (f *fn) spmdBlock(s *syntax.With, call *syntax.Call) {
	h := &loopHead{name: "pl.spmd", kind: "spmd", call: call, stage: 1}
	if !f.rangeArgs(h) {
		f.poison(assignedNames(s))
		return
	}
	loop := &syntax.For{At: s.At, Target: &syntax.Name{At: call.At, Text: "$block"}, Iter: call, Body: s.Body}
	f.flow.head[loop] = names{}
	f.flow.after[loop] = names{}
	for _, n := range assignedNames(s.Body.Stmts...) {
		f.flow.head[loop][n] = true
	}
	f.countingLoop(loop, h)
	if items := s.Items[0]; items.As != nil {
		f.bind(items.As, taskID{}, items.As.Span())
	}
	delete(f.env.names, "$block")
}
