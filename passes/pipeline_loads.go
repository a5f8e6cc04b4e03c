package passes

import (
	"slices"

	"ptoc/codegen/lower"
	"ptoc/codegen/target"
	"ptoc/ir"
	"ptoc/ir/prove"
	"ptoc/lang/diag"
)

// pipelineLoads begins the loads of the next turns of a loop before the product of the turn at hand, on machines
// where loads run by themselves.
//
// Before:                                        After:
//
//	for k, (acc,) in pl.range(0, 256, 32, ...):    t, u = fused(a[:, 0:32]), fused(b[0:32, :])
//	    t = fused(a[:, k:k+32])                    for k, (acc, t, u) in pl.pipeline(0, 192, 64, ...):
//	    u = fused(b[k:k+32, :])                        v, w = fused(a[:, k+32:k+64]), fused(b[k+32:k+64, :])
//	    acc = pl.matmul_acc(acc, t, u)                 acc = pl.matmul_acc(acc, t, u)
//	    pl.yield_(acc)                                 t, u = fused(a[:, k+64:k+96]), fused(b[k+64:k+96, :])
//	                                                   acc = pl.matmul_acc(acc, v, w)
//	                                                   pl.yield_(acc, t, u)
//	                                               the last two turns
//
// A turn has its tiles in places of its own, and comes after as many turns as there are places, written out: no
// tile is copied, and what the product reads is at constant addresses. pl.pipeline(stage=F) asks for F places, other
// loops have two; fewer where the kernel's tiles would not fit shared memory. No load runs that did not run before.
// What it makes are pl.pipeline loops with stage 1, which it leaves alone.
func pipelineLoads(m *ir.Module, c *Context) {
	t := target.Of(c.Target)
	if t.Stages < 2 {
		return
	}
	s := &stager{m: m, c: c, t: t}
	for i, f := range m.Funcs {
		if !lower.Compiles(f) {
			continue
		}
		for _, loop := range innerFirst(f.Body, nil) {
			c.poll()
			s.stage(i, loop)
		}
	}
}

// innerFirst lists the counting loops of a block.
func innerFirst(b *ir.Block, out []*ir.Op) []*ir.Op {
	for _, op := range b.Ops {
		for _, r := range op.Regions {
			out = innerFirst(r, out)
		}
		if op.Kind == ir.For {
			out = append(out, op)
		}
	}
	return out
}

// stager chooses how far loads run ahead.
type stager struct {
	m    *ir.Module
	c    *Context
	t    *target.Target
	fits []bool // functions whose tiles fit shared memory; nil: nobody has looked yet
}

// stage rewrites a loop of function i with the most places that fit.
func (s *stager) stage(i int, loop *ir.Op) {
	f := s.m.Funcs[i]
	p := findPipelined(f, loop, s.t.Stages)
	if p == nil {
		return
	}
	if s.fits == nil {
		s.fits = s.fit(ir.CloneModule(s.m))
	}
	at := ordinal(f, loop)
	for n := min(p.stages, s.t.Shared/p.bytes()); n >= 2 && s.fits[i]; n-- {
		trial := ir.CloneModule(s.m)
		g := trial.Funcs[i]
		findPipelined(g, nth(g, at), s.t.Stages).rewrite(n)
		dropUnused(g)
		if ir.Retype(g) != nil {
			return // a turn is seen to be out of bounds, once it is written out: that is for it to find when it runs
		}
		if s.noWorse(s.fit(trial)) {
			p.rewrite(n)
			tidy(f)
			return
		}
	}
}

// fit plans the memory of m, which is for that only, and says which kernels' tiles fit.
func (s *stager) fit(m *ir.Module) []bool {
	planMemory(m, &Context{Diags: &diag.List{}, Target: s.c.Target, ctx: s.c.ctx})
	var need lower.Scratch
	fits := make([]bool, len(m.Funcs))
	for i, f := range m.Funcs {
		fits[i] = lower.Compiles(f) && bytesNeeded(&need, f) <= s.t.Shared
	}
	return fits
}

// bytesNeeded is the scratch of f; more than there is if that is known only when it runs.
func bytesNeeded(need *lower.Scratch, f *ir.Func) int64 {
	d, err := scratchOf(need, f)
	if n, ok := d.Const(); ok && err == nil {
		return n
	}
	return 1 << 62
}

func scratchOf(need *lower.Scratch, f *ir.Func) (d ir.Dim, err error) {
	defer lower.Catch(&err)
	return need.Of(f), nil
}

func (s *stager) noWorse(fits []bool) bool {
	for i, before := range s.fits {
		if before && !fits[i] {
			return false
		}
	}
	return true
}

// ordinal is op's number in its function, nth the op of that number in a copy.
func ordinal(f *ir.Func, op *ir.Op) int {
	n, found := 0, -1
	f.Walk(func(o *ir.Op) {
		if o == op {
			found = n
		}
		n++
	})
	return found
}

func nth(f *ir.Func, at int) (op *ir.Op) {
	n := 0
	f.Walk(func(o *ir.Op) {
		if n == at {
			op = o
		}
		n++
	})
	return op
}

// pipelined is a loop whose loads may run ahead.
type pipelined struct {
	f      *ir.Func
	loop   *ir.Op
	step   int64
	stages int64           // places for the tiles of a turn
	loads  []*ir.Op        // of tiles that a product reads
	ahead  map[*ir.Op]bool // the loads, and what of the body they depend on
	facts  *prove.Facts    // once there are such loads
}

// bytes is what the tiles of a turn take: more places than that leaves room for need not be tried.
func (p *pipelined) bytes() int64 {
	sum := int64(0)
	for _, l := range p.loads {
		n, _ := ir.Product(ir.ShapeOf(l.Result().Type)).Const()
		sum += n * int64(ir.DTypeOf(l.Result().Type).Size())
	}
	return max(sum, 1)
}

// findPipelined is nil if the loads of a loop must stay where they are.
func findPipelined(f *ir.Func, loop *ir.Op, usual int64) *pipelined {
	p := &pipelined{f: f, loop: loop, ahead: map[*ir.Op]bool{}}
	p.step, _ = loop.Val("step").ConstInt()
	p.stages = p.asked(usual)
	if n, known := trips(loop); known {
		p.stages = min(p.stages, n)
	}
	if p.stages < 2 || p.step <= 0 || !p.findLoads() {
		return nil
	}
	if p.facts = prove.For(f); !p.undisturbed() {
		return nil
	}
	return p
}

const (
	// longTurn is how many ops a turn may have that is written out without having been asked for.
	longTurn = 256
	// mostPlaces hide any latency, and mostOps is how many ops as many turns as there are places may have together,
	// half of them around other loops: large numbers, and loops in each other, take minutes to compile otherwise.
	mostPlaces, mostOps = 16, 1024
)

// asked is how many places the program asks for, as far as that is reasonable; 0: none. A loop around other loops
// waits for its loads in the inner ones, so that it would mostly grow.
func (p *pipelined) asked(usual int64) int64 {
	ops, inner := int64(0), false
	p.loop.Regions[0].Walk(func(op *ir.Op) {
		ops++
		inner = inner || op.Kind == ir.For || op.Kind == ir.While
	})
	switch kind := p.loop.Enum("kind"); {
	case kind.Is("pipeline"):
		most := int64(mostOps)
		if inner {
			most /= 2
		}
		return min(p.loop.Int("stage"), mostPlaces, most/max(ops, 1))
	case (kind.Is("range") || kind.Is("parallel")) && !inner && ops <= longTurn:
		return usual
	}
	return 0
}

// findLoads finds the loads of what products read. All of them must be able to run ahead: a product waits for the
// last.
func (p *pipelined) findLoads() bool {
	loads := slices.DeleteFunc(slices.Clone(p.loop.Regions[0].Ops), func(op *ir.Op) bool { return !target.IsLoad(op) })
	if len(loads) == 0 {
		return false
	}
	uses := ir.Uses(p.f)
	for _, op := range loads {
		if !feedsProduct(op.Result(), uses) {
			continue
		}
		if !p.mayRunAhead(op) {
			return false
		}
		p.loads = append(p.loads, op)
	}
	return len(p.loads) > 0
}

func feedsProduct(v *ir.Value, uses map[*ir.Value][]ir.Use) bool {
	for _, u := range uses[v] {
		switch u.Op.Kind {
		case ir.MatMul, ir.MatMulAcc:
			if v == u.Op.Val("lhs") || v == u.Op.Val("rhs") {
				return true
			}
		case ir.Reshape:
			if feedsProduct(u.Op.Result(), uses) {
				return true
			}
		}
	}
	return false
}

// mayRunAhead: a load of a whole tile, from where only the counter and what stands before the loop decide.
func (p *pipelined) mayRunAhead(load *ir.Op) bool {
	for _, d := range ir.ShapeOf(load.Result().Type) {
		if _, ok := d.Const(); !ok {
			return false
		}
	}
	from := load.Vals("ins")[0]
	root, _ := ir.Root(from)
	if !lower.IsParam(p.f, root) || !p.dependsOnCounter(from) {
		return false
	}
	for _, v := range load.Operands() {
		if !p.dependsOnCounter(v) {
			return false
		}
	}
	p.ahead[load] = true
	return true
}

// dependsOnCounter notes what of the body v depends on, and reports whether that can be computed in front of it.
func (p *pipelined) dependsOnCounter(v *ir.Value) bool {
	body := p.loop.Regions[0]
	if v.IsConst() || v == body.Args[0] {
		return true
	}
	if v.Owner == body {
		return false
	}
	op := v.Def
	if op == nil || !target.Within(body, v) || p.ahead[op] {
		return true
	}
	if !op.Kind.Pure() || len(op.Regions) > 0 {
		return false
	}
	for _, x := range op.Operands() {
		if !p.dependsOnCounter(x) {
			return false
		}
	}
	p.ahead[op] = true
	return true
}

// undisturbed: nothing in a turn orders ranks, or writes what the loads read; and of two faults the same one stays
// the first, because either the loads or the rest cannot fail.
func (p *pipelined) undisturbed() bool {
	from := map[*ir.Value]bool{}
	for _, l := range p.loads {
		root, _ := ir.Root(l.Vals("ins")[0])
		from[root] = true
	}
	loadsFail, restFails := false, false
	for _, op := range p.loop.Regions[0].Ops {
		for _, e := range ir.EffectsOf(op) {
			switch e.Kind {
			case ir.Signals, ir.Waits, ir.Fences, ir.Blocks:
				return false
			case ir.Writes, ir.RemoteWrites:
				if from[e.Mem] {
					return false
				}
			}
		}
		if p.ahead[op] {
			loadsFail = loadsFail || !p.neverFails(op)
		} else {
			restFails = restFails || !p.neverFails(op)
		}
	}
	return !loadsFail || !restFails
}

// neverFails is false where it is not known.
func (p *pipelined) neverFails(op *ir.Op) bool {
	for _, v := range op.Results {
		if t, ok := v.Type.(*ir.Tile); ok && !ir.DimsEqual(t.Dims, t.Storage()) {
			return false // its extents are checked
		}
	}
	switch op.Kind {
	case ir.Yield, ir.MatMul, ir.MatMulAcc, ir.Transpose, ir.Sum, ir.Prod, ir.Amax, ir.Amin, ir.Rank, ir.NRanks, ir.GetCommCtx:
		return true
	case ir.Slice:
		dims, shape := ir.ShapeOf(op.Val("x").Type), op.Vals("shape")
		for i, o := range op.Vals("offsets") {
			if !p.facts.Within(ir.DimOf(o), ir.DimOf(shape[i]), dims[i]) {
				return false
			}
		}
		return true
	case ir.Fused, ir.If, ir.For:
		if op.Kind == ir.For {
			if n, known := op.Val("step").ConstInt(); !known || n == 0 {
				return false
			}
		}
		for _, r := range op.Regions {
			if slices.ContainsFunc(r.Ops, func(in *ir.Op) bool { return !p.neverFails(in) }) {
				return false
			}
		}
		return true
	}
	return op.Kind.Map == ir.Elementwise && op.Kind.Scalar != "" && !mayFail(op)
}
