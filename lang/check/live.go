package check

import (
	"ptoc/lang/syntax"
)

// A flow says which names are still needed where, so that branches and loops hand on no others.
type flow struct {
	after map[syntax.Stmt]names // If, For, While: read after it
	head  map[syntax.Stmt]names // For, While: read in a later iteration or after it
}

type names map[string]bool

func (n names) clone() names {
	out := make(names, len(n))
	for k := range n {
		out[k] = true
	}
	return out
}

// addAll reports whether n grew.
func (n names) addAll(m names) bool {
	before := len(n)
	for k := range m {
		n[k] = true
	}
	return len(n) > before
}

func liveness(stmts []syntax.Stmt) *flow {
	f := &flow{after: map[syntax.Stmt]names{}, head: map[syntax.Stmt]names{}}
	f.block(stmts, names{})
	return f
}

// block computes, backwards, what is live before stmts; live is what is live after, and is changed.
func (f *flow) block(stmts []syntax.Stmt, live names) names {
	for i := len(stmts) - 1; i >= 0; i-- {
		live = f.stmt(stmts[i], live)
	}
	return live
}

func (f *flow) stmt(s syntax.Stmt, live names) names {
	switch s := s.(type) {
	case *syntax.If:
		f.note(f.after, s, live)
		then := f.block(s.Body.Stmts, live.clone())
		if s.Else != nil {
			live = f.block(s.Else.Stmts, live)
		}
		live.addAll(then)
		uses(s.Cond, live)
	case *syntax.For:
		live = f.loop(s, s.Body.Stmts, live, func(in names) { kill(s.Target, in) })
		uses(s.Iter, live)
	case *syntax.While:
		live = f.loop(s, s.Body.Stmts, live, func(in names) { uses(s.Cond, in) })
		uses(s.Cond, live)
	case *syntax.With:
		live = f.block(s.Body.Stmts, live)
		for _, it := range s.Items {
			if it.As != nil {
				kill(it.As, live)
			}
			uses(it.Context, live)
		}
	case *syntax.Return:
		live = names{}
		uses(s.Value, live)
	case *syntax.Assign:
		for _, t := range s.Targets {
			kill(t, live)
		}
		uses(s.Value, live)
	case *syntax.AnnAssign:
		kill(s.Target, live)
		uses(s.Annot, live)
		uses(s.Value, live)
	case *syntax.AugAssign:
		uses(s.Target, live)
		uses(s.Value, live)
	case *syntax.ExprStmt:
		uses(s.X, live)
	case *syntax.Assert:
		uses(s.Cond, live)
	}
	return live
}

func (f *flow) loop(s syntax.Stmt, body []syntax.Stmt, live names, enter func(names)) names {
	f.note(f.after, s, live)
	head := live.clone()
	if brk := breakFlag(body); brk != "" {
		head[brk] = true // the loop's condition reads it
	}
	for {
		in := f.block(body, head.clone())
		enter(in)
		if !head.addAll(in) {
			break
		}
	}
	f.note(f.head, s, head)
	return head
}

func (f *flow) note(m map[syntax.Stmt]names, s syntax.Stmt, live names) {
	if old := m[s]; old != nil {
		old.addAll(live)
		return
	}
	m[s] = live.clone()
}

// kill removes the names that a target binds; subscripts in it are uses.
func kill(target syntax.Expr, live names) {
	switch t := target.(type) {
	case *syntax.Name:
		delete(live, t.Text)
	case *syntax.Tuple:
		for _, e := range t.Elts {
			kill(e, live)
		}
	case *syntax.List:
		for _, e := range t.Elts {
			kill(e, live)
		}
	case *syntax.Paren:
		kill(t.X, live)
	case nil:
	default:
		uses(t, live)
	}
}

// uses adds the names that an expression reads.
func uses(x syntax.Expr, live names) {
	eachName(x, func(n *syntax.Name) { live[n.Text] = true })
}

// eachName calls fn for every name that an expression reads.
func eachName(x syntax.Expr, fn func(*syntax.Name)) {
	each := func(xs []syntax.Expr) {
		for _, e := range xs {
			eachName(e, fn)
		}
	}
	switch x := x.(type) {
	case *syntax.Name:
		fn(x)
	case *syntax.Attr:
		eachName(x.X, fn)
	case *syntax.Call:
		eachName(x.Fn, fn)
		each(x.Args)
		for _, k := range x.Keywords {
			eachName(k.Value, fn)
		}
	case *syntax.Index:
		eachName(x.X, fn)
		each(x.Items)
	case *syntax.Slice:
		each([]syntax.Expr{x.Lo, x.Hi, x.Step})
	case *syntax.Tuple:
		each(x.Elts)
	case *syntax.List:
		each(x.Elts)
	case *syntax.Dict:
		each(x.Keys)
		each(x.Values)
	case *syntax.Unary:
		eachName(x.X, fn)
	case *syntax.Binary:
		eachName(x.X, fn)
		eachName(x.Y, fn)
	case *syntax.Compare:
		eachName(x.X, fn)
		each(x.Rest)
	case *syntax.Cond:
		each([]syntax.Expr{x.If, x.Then, x.Else})
	case *syntax.Paren:
		eachName(x.X, fn)
	}
}

// assignedNames are the names that statements bind, in order, each once. `a[i] = v` counts, since an
// array is rebound by it.
func assignedNames(stmts ...syntax.Stmt) []string {
	var out []string
	seen := map[string]bool{}
	var target func(x syntax.Expr)
	target = func(x syntax.Expr) {
		switch x := x.(type) {
		case *syntax.Name:
			if !seen[x.Text] {
				seen[x.Text] = true
				out = append(out, x.Text)
			}
		case *syntax.Tuple:
			for _, e := range x.Elts {
				target(e)
			}
		case *syntax.List:
			for _, e := range x.Elts {
				target(e)
			}
		case *syntax.Paren:
			target(x.X)
		case *syntax.Index:
			target(x.X)
		}
	}
	walkStmts(stmts, func(s syntax.Stmt) {
		switch s := s.(type) {
		case *syntax.Assign:
			for _, t := range s.Targets {
				target(t)
			}
		case *syntax.AnnAssign:
			target(s.Target)
		case *syntax.AugAssign:
			target(s.Target)
		case *syntax.For:
			target(s.Target)
		case *syntax.With:
			for _, it := range s.Items {
				target(it.As)
			}
		}
	})
	return out
}
