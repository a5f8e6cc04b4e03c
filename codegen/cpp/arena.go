package cpp

import (
	"ptoc/codegen/lower"
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
			lower.Fail(e.f.Span, "%s parameter %s: a kernel takes tensors and scalars, not %s", e.f.Name, p.Name, p.Type)
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
	e.g.own[e.f] = e.own
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

// checkNeed makes sure that a callee's scratch fits where its size was only bounded when the arena was
// made.
func (e *fn) checkNeed(op *ir.Op) {
	if need := e.g.scratch.OfCallee(op); !lower.KnownAtEntry(e.f, need) {
		n := e.dim(e.own.Add(need))
		e.w.line("if (%s > ctx->arena_bytes - (arena - ctx->arena)) return ptoc_fail(ctx, PTOC_NO_MEMORY, %d, %s);", n, e.site(op), n)
	}
}
