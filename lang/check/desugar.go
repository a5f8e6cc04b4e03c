package check

import (
	"fmt"
	"strings"

	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// desugar removes break, continue and early returns, and turns elif into nested ifs:
//
//	if c:                 if c:
//	    return a              $ret = a
//	rest                  else:
//	                          rest
//
// Where control cannot be told apart by nesting, a flag guards the rest: $next1 ends this iteration
// (or the function), $brk1 leaves the loop, $done1 says that the loop was left by return. Assigning a
// flag costs nothing: flags that nobody reads are never carried. The checker adds "not $brk" to the
// condition of a loop whose body sets one (breakFlag).
//
// values says that returns hand on values: then what follows a branch that returns on some paths only
// is repeated in both arms.
func desugar(stmts []syntax.Stmt, values bool, list *diag.List) []syntax.Stmt {
	d := &desugarer{list: list, values: values, known: map[syntax.Stmt]exit{}}
	d.plain, d.arity = onlyLastReturn(stmts), returnArity(stmts)
	top := d.enter()
	top.function = true
	out, _, _ := d.seq(stmts, top)
	if top.guarded {
		out = append([]syntax.Stmt{assignFlag(top.next, false, source.Span{})}, out...)
	}
	if d.valueAt.IsValid() {
		out = append(out, &syntax.Return{At: d.valueAt, Value: d.result(d.valueAt)})
	}
	return out
}

// retName is the hidden name of what the function returns. The elements of a tuple have names of their own
// ($ret0, $ret1), so that loops carry them and branches merge them like any value.
const retName = "$ret"

func isResult(name string) bool { return strings.HasPrefix(name, retName) }

func isResultRef(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Name:
		return isResult(x.Text)
	case *syntax.Tuple:
		return len(x.Elts) > 0 && isResultRef(x.Elts[0])
	}
	return false
}

// returnArity is the number of values in the tuples that are returned; 0 if no return spells one out.
func returnArity(stmts []syntax.Stmt) int {
	n := 0
	walkStmts(stmts, func(s syntax.Stmt) {
		if r, ok := s.(*syntax.Return); ok {
			if t, ok := syntax.Unparen(r.Value).(*syntax.Tuple); ok && n == 0 {
				n = len(t.Elts)
			}
		}
	})
	return n
}

// result is what is returned, by its hidden names.
func (d *desugarer) result(at source.Span) syntax.Expr {
	if d.arity == 0 {
		return &syntax.Name{At: at, Text: retName}
	}
	return &syntax.Tuple{At: at, Elts: d.resultNames(at)}
}

func (d *desugarer) resultNames(at source.Span) []syntax.Expr {
	out := make([]syntax.Expr, d.arity)
	for i := range out {
		out[i] = &syntax.Name{At: at, Text: retName + itoa(i)}
	}
	return out
}

// setResult gives the hidden names their values.
func (d *desugarer) setResult(x syntax.Expr, at source.Span) (out []syntax.Stmt) {
	assign := func(target, v syntax.Expr) {
		out = append(out, &syntax.Assign{At: at, Targets: []syntax.Expr{target}, Value: v})
	}
	switch t, isTuple := syntax.Unparen(x).(*syntax.Tuple); {
	case d.arity == 0:
		assign(&syntax.Name{At: x.Span(), Text: retName}, x)
	case isTuple && len(t.Elts) == d.arity:
		for i, e := range t.Elts {
			assign(&syntax.Name{At: e.Span(), Text: retName + itoa(i)}, e)
		}
	default:
		assign(&syntax.Tuple{At: x.Span(), Elts: d.resultNames(x.Span())}, x)
	}
	return out
}

type desugarer struct {
	list     *diag.List
	values   bool
	known    map[syntax.Stmt]exit
	n        int
	repeated int         // statements that were repeated in both arms of branches
	plain    bool        // the only return is the last statement: leave it alone
	arity    int         // see returnArity
	valueAt  source.Span // a return with a value that was rewritten
}

// A level is a function body or a loop body.
type level struct {
	function bool
	next     string // flag: skip the rest
	brk      string // flag: leave the loop
	done     string // flag: the loop was left by a return
	guarded  bool   // next is read
	breaks   bool
	returns  bool
	retValue bool
}

func (d *desugarer) enter() *level {
	d.n++
	return &level{next: fmt.Sprintf("$next%d", d.n), brk: fmt.Sprintf("$brk%d", d.n), done: fmt.Sprintf("$done%d", d.n)}
}

func onlyLastReturn(stmts []syntax.Stmt) bool {
	n := 0
	walkStmts(stmts, func(s syntax.Stmt) {
		if _, ok := s.(*syntax.Return); ok {
			n++
		}
	})
	if n == 0 {
		return true
	}
	_, last := stmts[len(stmts)-1].(*syntax.Return)
	return n == 1 && last
}

// seq rewrites a list of statements. may says that it may end by leaving the level, always that it
// always does.
func (d *desugarer) seq(stmts []syntax.Stmt, l *level) (out []syntax.Stmt, may, always bool) {
	for i, s := range stmts {
		rest := stmts[i+1:]
		switch s := s.(type) {
		case *syntax.Return, *syntax.Break, *syntax.Continue:
			d.unreachable(rest)
			return append(out, d.leave(s, l)...), true, true
		case *syntax.If:
			joined, jMay, jAlways, taken := d.branch(s, rest, l)
			out = append(out, joined...)
			if taken {
				return out, jMay, jAlways
			}
		case *syntax.With:
			body, bMay, bAlways := d.seq(s.Body.Stmts, l)
			out = append(out, &syntax.With{At: s.At, Items: s.Items, Body: syntax.Block{At: s.Body.At, Stmts: body}})
			if bMay {
				guard, gAlways := d.guard(rest, l, s.At)
				return append(out, guard...), true, bAlways || gAlways
			}
		case *syntax.For, *syntax.While:
			before, loop, after := d.loop(s)
			out = append(append(out, before...), loop)
			if after != nil {
				tail, tMay, tAlways := d.seq(append(after, rest...), l)
				return append(out, tail...), tMay, tAlways
			}
		default:
			out = append(out, s)
		}
	}
	return out, false, false
}

func (d *desugarer) unreachable(rest []syntax.Stmt) {
	if len(rest) > 0 {
		d.list.Warnf(diag.Unreachable, rest[0].Span(), "this is never reached")
	}
}

// leave is what a return, break or continue becomes.
func (d *desugarer) leave(s syntax.Stmt, l *level) []syntax.Stmt {
	at := s.Span()
	next := assignFlag(l.next, true, at)
	switch s := s.(type) {
	case *syntax.Continue:
		return []syntax.Stmt{next}
	case *syntax.Break:
		l.breaks = true
		return []syntax.Stmt{assignFlag(l.brk, true, at), next}
	case *syntax.Return:
		if d.plain {
			return []syntax.Stmt{s}
		}
		var out []syntax.Stmt
		if s.Value != nil {
			if !isResultRef(s.Value) {
				out = d.setResult(s.Value, at)
			}
			d.valueAt = at
			l.retValue = true
		}
		if !l.function {
			l.breaks, l.returns = true, true
			out = append(out, assignFlag(l.done, true, at), assignFlag(l.brk, true, at))
		}
		return append(out, next)
	}
	return nil
}

func assignFlag(name string, v bool, at source.Span) syntax.Stmt {
	return &syntax.Assign{At: at, Targets: []syntax.Expr{&syntax.Name{At: at, Text: name}}, Value: &syntax.Bool{At: at, Value: v}}
}

// branch rewrites an if and, when its arms may leave the level, what follows it (taken).
func (d *desugarer) branch(s *syntax.If, rest []syntax.Stmt, l *level) (out []syntax.Stmt, may, always, taken bool) {
	then, els := s.Body.Stmts, elseOf(s)
	tMay, tAlways := d.exits(then)
	eMay, eAlways := d.exits(els)
	taken = tMay || eMay
	switch {
	case !taken:
	case tAlways && eAlways:
		d.unreachable(rest)
	case tAlways:
		els = concat(els, rest)
	case eAlways:
		then = concat(then, rest)
	case l.function && d.values && d.repeated < 100: // a value needs a path of its own
		d.repeated += len(rest)
		then, els = concat(then, rest), concat(els, rest)
	default:
		then, _, _ = d.seq(then, l)
		els, _, _ = d.seq(els, l)
		guard, gAlways := d.guard(rest, l, s.At)
		return append([]syntax.Stmt{ifElse(s, then, els)}, guard...), true, gAlways, true
	}
	then, _, tAlways = d.seq(then, l)
	els, _, eAlways = d.seq(els, l)
	return []syntax.Stmt{ifElse(s, then, els)}, taken, tAlways && eAlways, taken
}

func ifElse(s *syntax.If, then, els []syntax.Stmt) syntax.Stmt {
	n := &syntax.If{At: s.At, Cond: s.Cond, Body: syntax.Block{At: s.Body.At, Stmts: then}}
	if len(els) > 0 {
		n.Else = &syntax.Block{At: els[0].Span(), Stmts: els}
	}
	return n
}

// exits reports whether statements may, and whether they always do, leave the level that they stand in.
func (d *desugarer) exits(stmts []syntax.Stmt) (may, always bool) {
	for _, s := range stmts {
		m, a := d.exit1(s)
		may = may || m
		if a {
			return true, true
		}
	}
	return may, false
}

func (d *desugarer) exit1(s syntax.Stmt) (may, always bool) {
	if e, ok := d.known[s]; ok {
		return e.may, e.always
	}
	switch s := s.(type) {
	case *syntax.Return, *syntax.Break, *syntax.Continue:
		return true, true
	case *syntax.If:
		tMay, tAlways := d.exits(s.Body.Stmts)
		eMay, eAlways := d.exits(elseOf(s))
		may, always = tMay || eMay, tAlways && eAlways
	case *syntax.With:
		may, always = d.exits(s.Body.Stmts)
	case *syntax.For, *syntax.While:
		walkStmts([]syntax.Stmt{s}, func(s syntax.Stmt) {
			_, isReturn := s.(*syntax.Return)
			may = may || isReturn
		})
	default:
		return false, false
	}
	d.known[s] = exit{may, always}
	return may, always
}

type exit struct{ may, always bool }

func concat(a, b []syntax.Stmt) []syntax.Stmt { return append(append([]syntax.Stmt(nil), a...), b...) }

// guard runs rest only if the level has not been left.
func (d *desugarer) guard(rest []syntax.Stmt, l *level, at source.Span) (out []syntax.Stmt, always bool) {
	if len(rest) == 0 {
		return nil, false
	}
	body, _, always := d.seq(rest, l)
	l.guarded = true
	return []syntax.Stmt{&syntax.If{At: at, Cond: &syntax.Unary{At: at, Op: syntax.Not, X: &syntax.Name{At: at, Text: l.next}},
		Body: syntax.Block{At: at, Stmts: body}}}, always
}

// elseOf is the else arm; the first elif becomes an if in it.
func elseOf(s *syntax.If) []syntax.Stmt {
	if len(s.Elifs) > 0 {
		e := s.Elifs[0]
		return []syntax.Stmt{&syntax.If{At: e.Cond.Span().To(e.Body.At), Cond: e.Cond, Body: e.Body, Elifs: s.Elifs[1:], Else: s.Else}}
	}
	if s.Else != nil {
		return s.Else.Stmts
	}
	return nil
}

// loop rewrites a loop. before initialises its flags; after, if not nil, returns from the function
// when the loop was left by a return.
func (d *desugarer) loop(s syntax.Stmt) (before []syntax.Stmt, loop syntax.Stmt, after []syntax.Stmt) {
	l := d.enter()
	at := s.Span()
	rewrite := func(b syntax.Block) syntax.Block {
		body, _, _ := d.seq(b.Stmts, l)
		if l.guarded {
			body = append([]syntax.Stmt{assignFlag(l.next, false, at)}, body...)
		}
		return syntax.Block{At: b.At, Stmts: body}
	}
	switch s := s.(type) {
	case *syntax.For:
		loop = &syntax.For{At: s.At, Target: s.Target, Iter: s.Iter, Body: rewrite(s.Body)}
	case *syntax.While:
		loop = &syntax.While{At: s.At, Cond: s.Cond, Body: rewrite(s.Body)}
	}
	if l.breaks {
		before = append(before, assignFlag(l.brk, false, at))
	}
	if l.returns {
		before = append(before, assignFlag(l.done, false, at))
		ret := &syntax.Return{At: at}
		if l.retValue {
			ret.Value = d.result(at)
		}
		after = []syntax.Stmt{&syntax.If{At: at, Cond: &syntax.Name{At: at, Text: l.done}, Body: syntax.Block{At: at, Stmts: []syntax.Stmt{ret}}}}
	}
	return before, loop, after
}

// breakFlag is the flag that leaves the loop; "" if nothing in its body sets one.
func breakFlag(body []syntax.Stmt) string {
	flag := ""
	var visit func([]syntax.Stmt)
	visit = func(stmts []syntax.Stmt) {
		for _, s := range stmts {
			switch s := s.(type) {
			case *syntax.Assign:
				if n, ok := s.Targets[0].(*syntax.Name); ok && len(n.Text) > 4 && n.Text[:4] == "$brk" {
					if b, ok := s.Value.(*syntax.Bool); ok && b.Value {
						flag = n.Text
					}
				}
			case *syntax.If:
				visit(s.Body.Stmts)
				if s.Else != nil {
					visit(s.Else.Stmts)
				}
			case *syntax.With:
				visit(s.Body.Stmts)
			}
		}
	}
	visit(body)
	return flag
}

// walkStmts calls fn for every statement, those of inner functions excepted.
func walkStmts(stmts []syntax.Stmt, fn func(syntax.Stmt)) {
	for _, s := range stmts {
		fn(s)
		switch s := s.(type) {
		case *syntax.If:
			walkStmts(s.Body.Stmts, fn)
			for _, e := range s.Elifs {
				walkStmts(e.Body.Stmts, fn)
			}
			if s.Else != nil {
				walkStmts(s.Else.Stmts, fn)
			}
		case *syntax.For:
			walkStmts(s.Body.Stmts, fn)
		case *syntax.While:
			walkStmts(s.Body.Stmts, fn)
		case *syntax.With:
			walkStmts(s.Body.Stmts, fn)
		}
	}
}
