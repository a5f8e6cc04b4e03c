package lower

import "ptoc/ir"

// Scratch computes how much memory kernels need for tiles and created tensors; what they call takes its own
// behind theirs.
type Scratch struct {
	Own  func(f *ir.Func) ir.Dim // nil: what PlanMemory planned
	need map[*ir.Func]ir.Dim
}

// Of is the scratch of f, callees included, in terms of f's parameters and symbols.
func (s *Scratch) Of(f *ir.Func) ir.Dim {
	if n, ok := s.need[f]; ok {
		return n
	}
	most := ir.Dim{}
	f.Body.Walk(func(op *ir.Op) {
		if op.Kind == ir.Call {
			most = most.Max(atEntry(f, op, s.OfCallee(op)))
		}
	})
	n := s.own(f).Add(most)
	if s.need == nil {
		s.need = map[*ir.Func]ir.Dim{}
	}
	s.need[f] = n
	return n
}

func (s *Scratch) own(f *ir.Func) ir.Dim {
	switch {
	case s.Own != nil:
		return s.Own(f)
	case f.Arena != nil:
		return *f.Arena
	}
	return ir.Dim{}
}

// OfCallee is the scratch of a call's callee, in the caller's terms.
func (s *Scratch) OfCallee(op *ir.Op) ir.Dim {
	callee, args := op.Callee(), op.Vals("args")
	bind, _ := Bind(op)
	return s.Of(callee).Subst(func(a ir.Atom) (ir.Dim, bool) {
		if a.Op == ir.AtomVal {
			for i, p := range callee.Params() {
				if p == a.Val {
					return ir.DimOf(args[i]), true
				}
			}
		}
		return bind.Subst(a)
	})
}

// KnownAtEntry reports whether d depends on f's parameters and symbols only.
func KnownAtEntry(f *ir.Func, d ir.Dim) bool {
	ok := true
	d.Walk(func(a ir.Atom) { ok = ok && (a.Op == ir.AtomSym || IsParam(f, a.Val)) })
	return ok
}

// IsParam reports whether v is a parameter of f.
func IsParam(f *ir.Func, v *ir.Value) bool { return v.Owner == f.Body }

// atEntry replaces what is known only while the kernel runs by what bounds it: a view's extents by those
// of the memory that it is cut from.
func atEntry(f *ir.Func, op *ir.Op, d ir.Dim) ir.Dim {
	var unknown *ir.Value
	bounded := d.Subst(func(a ir.Atom) (ir.Dim, bool) {
		if a.Op != ir.AtomVal || IsParam(f, a.Val) {
			return ir.Dim{}, false
		}
		if b, ok := extentBound(f, a.Val); ok {
			return b, true
		}
		unknown = a.Val
		return ir.Dim{}, false
	})
	if unknown != nil {
		Fail(op.Span, "the scratch memory of %s depends on %s, which is known only when the kernel runs", f.Name, unknown.Name)
	}
	return bounded
}

// extentBound finds a slice that has v as extent; what it slices bounds v.
func extentBound(f *ir.Func, v *ir.Value) (ir.Dim, bool) {
	var found ir.Dim
	ok := false
	f.Body.Walk(func(op *ir.Op) {
		if ok || op.Kind != ir.Slice {
			return
		}
		for i, s := range op.Vals("shape") {
			if s == v {
				found = ir.ShapeOf(op.Val("x").Type)[i]
				ok = !found.HasValues()
				return
			}
		}
	})
	return found, ok
}
