package cpp

import (
	"ptoc/ir"
)

const alignment = 64

// placeTiles finds where tiles and created tensors live: where PlanMemory put them, or one after the
// other when it has not run.
func (e *fn) placeTiles() {
	e.arena = map[*ir.Value]ir.Dim{}
	if e.f.Arena != nil {
		e.own = *e.f.Arena
	}
	place := func(v *ir.Value) {
		switch {
		case e.regs[v]:
		case v.Arena != nil:
			e.arena[v] = *v.Arena
		case v.Def != nil && v.Def.Kind == ir.Reshape:
			if off, ok := e.arena[v.Def.Val("x")]; ok {
				e.arena[v] = off
			}
		default:
			if size, ok := storageBytes(v); ok {
				e.arena[v] = e.own
				e.own = e.own.Add(alignUp(size))
			}
		}
	}
	for _, p := range e.f.Params() {
		if _, ok := p.Type.(*ir.Tile); ok {
			fail(e.f.Span, "%s parameter %s: a kernel takes tensors and scalars, not %s", e.f.Name, p.Name, p.Type)
		}
	}
	e.f.Body.Walk(func(op *ir.Op) {
		if op.Kind != ir.For && op.Kind != ir.While {
			for _, r := range op.Results {
				place(r)
			}
			return
		}
		// A loop's results are its block arguments, after the last iteration.
		args := op.Regions[0].Args
		if op.Kind == ir.For {
			args = args[1:]
		}
		for i, a := range args {
			place(a)
			if off, ok := e.arena[a]; ok {
				e.arena[op.Results[i]] = off
			}
		}
	})
	e.g.need[e.f] = e.own.Add(e.calleeNeed())
}

// storageBytes is the room that v takes in the arena; false if it takes none.
func storageBytes(v *ir.Value) (ir.Dim, bool) {
	switch t := v.Type.(type) {
	case *ir.Tile:
		return ir.Product(t.Storage()).Scale(int64(t.DType.Size())), true
	case *ir.Tensor:
		if v.Def != nil && v.Def.Kind == ir.CreateTensor {
			return t.Bytes(), true
		}
	}
	return ir.Dim{}, false
}

func alignUp(d ir.Dim) ir.Dim {
	return d.Add(ir.ConstDim(alignment - 1)).Div(ir.ConstDim(alignment)).Scale(alignment)
}

// calleeNeed is the largest scratch of any callee, in this function's terms.
func (e *fn) calleeNeed() ir.Dim {
	most := ir.Dim{}
	e.f.Body.Walk(func(op *ir.Op) {
		if op.Kind != ir.Call {
			return
		}
		most = most.Max(e.entryDim(op, e.needOf(op)))
	})
	return most
}

// needOf is the scratch of a call's callee, in this function's terms.
func (e *fn) needOf(op *ir.Op) ir.Dim {
	callee, args := op.Callee(), op.Vals("args")
	bind, err := ir.BindDims(callee, args)
	if err != nil {
		fail(op.Span, "%v", err)
	}
	return e.g.need[callee].Subst(func(a ir.Atom) (ir.Dim, bool) {
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

// checkNeed makes sure that a callee's scratch fits where its size was only bounded when the arena was
// made.
func (e *fn) checkNeed(op *ir.Op) {
	need := e.needOf(op)
	exact := true
	need.Walk(func(a ir.Atom) { exact = exact && (a.Op == ir.AtomSym || isParam(e.f, a.Val)) })
	if !exact {
		n := e.dim(e.own.Add(need))
		e.w.line("if (%s > ctx->arena_bytes - (arena - ctx->arena)) return ptoc_fail(ctx, PTOC_NO_MEMORY, %d, %s);", n, e.site(op), n)
	}
}

// entryDim replaces what is known only while the kernel runs by what bounds it: a view's extents by those
// of the memory that it is cut from.
func (e *fn) entryDim(op *ir.Op, d ir.Dim) ir.Dim {
	var unknown *ir.Value
	bounded := d.Subst(func(a ir.Atom) (ir.Dim, bool) {
		if a.Op != ir.AtomVal || isParam(e.f, a.Val) {
			return ir.Dim{}, false
		}
		if b, ok := e.extentBound(a.Val); ok {
			return b, true
		}
		unknown = a.Val
		return ir.Dim{}, false
	})
	if unknown != nil {
		fail(op.Span, "the scratch memory of %s depends on %s, which is known only when the kernel runs", e.f.Name, unknown.Name)
	}
	return bounded
}

func isParam(f *ir.Func, v *ir.Value) bool { return v.Owner == f.Body }

// extentBound finds a slice that has v as extent; what it slices bounds v.
func (e *fn) extentBound(v *ir.Value) (ir.Dim, bool) {
	var found ir.Dim
	ok := false
	e.f.Body.Walk(func(op *ir.Op) {
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
