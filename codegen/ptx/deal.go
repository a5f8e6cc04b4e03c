package ptx

import (
	"maps"

	ll "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/abi"
	"ptoc/ir"
)

// How a function with a plan (grid.go) is emitted. What only block 0 does stands under one condition; before
// what others must not do before that, or block 0 not before them, all blocks of the rank meet. As within a
// block (sync.go), memory is told apart by its root.

// grid is what a kernel knows of the blocks of its rank.
type grid struct {
	block, blocks val    // i64: this one, and how many
	first         val    // i1: this is block 0
	common        val    // scratch that all blocks reach: slots for what is told
	told          int64  // bytes of them in use
	tensors       val    // and, behind them, created tensors
	dealt         *ir.Op // the loop that is being dealt
	apart         meeting
	compact       bool // created tensors of all blocks take no place among what is a block's own
}

// meeting is what blocks did since they met last: block 0 alone, and any of them.
type meeting struct{ alone, any hazards }

// commonRoot is that of created tensors which all blocks use: they may follow each other in one place.
const commonRoot = "common"

// share lets the function be one that all blocks go through; outer is where its created tensors begin among those
// of all blocks.
func (e *fn) share(p *plan, outer val) {
	e.plan, e.outer = p, outer
	if e.grid.compact {
		lo, hi, _ := e.g.extent(e.f)
		e.base, e.end = e.add(e.base, i64(-lo)), ir.ConstDim(hi)
	}
}

// shared emits ops from to to of a block that all blocks of the grid go through.
func (e *fn) shared(b *ir.Block, from, to int) {
	for i := from; i < to; i++ {
		op := b.Ops[i]
		switch {
		case e.plan.holds[op]:
			e.op(op)
		case e.plan.dealt[op]:
			e.before(op, e.accesses(op), true)
			e.grid.dealt = op
			e.alone(func() { e.op(op) })
		case op.Kind == ir.CreateTensor && e.plan.common[op.Result()]:
			e.createCommon(op)
		case e.plan.every[op]:
			e.before(op, e.accesses(op), true)
			e.alone(func() { e.op(op) })
		default:
			j := i + 1
			for j < to && e.ordinary(b.Ops[j]) {
				j++
			}
			e.byFirst(b, i, j)
			i = j - 1
		}
	}
}

// ordinary: block 0 does it.
func (e *fn) ordinary(op *ir.Op) bool {
	return !e.plan.holds[op] && !e.plan.dealt[op] && !e.plan.every[op]
}

// alone emits what concerns no other block.
func (e *fn) alone(body func()) {
	p := e.plan
	e.plan = nil
	body()
	e.plan = p
}

// byFirst emits ops that block 0 does. Their results are of no meaning in other blocks, unless they are told.
func (e *fn) byFirst(b *ir.Block, from, to int) {
	ops := b.Ops[from:to]
	next := hazards{}
	var tell []*ir.Value
	var slots []*memory
	for _, op := range ops {
		next.join(e.accesses(op))
		for _, r := range op.Results {
			if e.plan.told[r] {
				tell, slots = append(tell, r), append(slots, e.slot(r))
				next[slots[len(slots)-1].at()] |= writes
			}
		}
	}
	e.before(ops[0], next, false)
	before, others := e.order.clone(), e.b
	in, out := e.label("first"), e.label("all")
	others.NewCondBr(e.grid.first, in, out)
	e.at(in)
	e.alone(func() {
		for _, op := range ops {
			e.op(op)
		}
		for i, v := range tell {
			e.tell(v, slots[i])
		}
	})
	end := e.b
	end.NewBr(out)
	e.at(out)
	e.order.join(before)
	for _, v := range e.resultsUsed(ops, b.Ops[to:]) {
		e.only(v, out, end, others)
	}
	for i, v := range tell {
		e.before(ops[0], hazards{slots[i].at(): reads}, true)
		e.hear(v, slots[i])
	}
}

// resultsUsed are results of ops that later ones use, without those that are told.
func (e *fn) resultsUsed(ops, later []*ir.Op) (out []*ir.Value) {
	used := map[*ir.Value]bool{}
	for _, op := range later {
		for _, v := range free(op) {
			used[v] = true
		}
	}
	for _, op := range ops {
		for _, r := range op.Results {
			if used[r] && !e.plan.told[r] {
				out = append(out, r)
			}
		}
	}
	return out
}

// only gives a value that block 0 has made to what follows.
func (e *fn) only(v *ir.Value, out, end, others *ll.Block) {
	phi := func(x val) val { return out.NewPhi(incoming(x, end), incoming(constant.NewUndef(x.Type()), others)) }
	if _, array := v.Type.(*ir.Array); array {
		return // a variable of the kernel
	}
	if x, ok := e.vals[v]; ok {
		e.vals[v] = phi(x)
	}
	if m, ok := e.mems[v]; ok && m.ptr != nil {
		n := *m
		n.ptr = phi(m.ptr)
		e.mems[v] = &n
	}
	for i, x := range e.regs[v] {
		if i == 0 {
			e.regs[v] = append([]val(nil), e.regs[v]...)
		}
		e.regs[v][i] = phi(x)
	}
}

// createCommon makes a tensor that all blocks use; each fills its share of it with zeros.
func (e *fn) createCommon(op *ir.Op) {
	v := op.Result()
	e.checkSizes(op)
	m := e.created(v, e.grid.tensors, e.outer, commonRoot)
	e.mems[v] = m
	e.before(op, hazards{m.at(): writes}, true)
	e.touch(nil, []*memory{m})
	first, step := e.add(e.mul(e.grid.block, i64(Threads)), e.tid), e.mul(e.grid.blocks, i64(Threads))
	e.loop("each", first, e.dim(ir.Product(m.Dims)), step, func(i val) { e.put(m, i, e.zero(m.dt)) })
}

// accesses are what op does to memory that blocks share.
func (e *fn) accesses(op *ir.Op) hazards {
	h := hazards{}
	for _, m := range ir.EffectsOf(op) {
		a := reads
		switch m.Kind {
		case ir.Signals, ir.Waits, ir.Fences, ir.Blocks:
			h[anywhere] |= writes
			continue
		case ir.Writes, ir.RemoteWrites:
			a = writes
		case ir.Allocates:
			continue
		}
		if mem := e.mems[m.Mem]; mem != nil && mem.root != arenaRoot {
			h[mem.at()] |= a
		}
	}
	return h
}

// before lets the blocks meet where what follows could come upon what another one did: what any did, and if
// all go on, what block 0 did.
func (e *fn) before(op *ir.Op, next hazards, all bool) {
	m := &e.grid.apart
	if m.any.clash(next) || all && m.alone.clash(next) {
		e.meetBlocks(op)
	}
	if all {
		m.any.join(next)
	} else {
		m.alone.join(next)
	}
}

func (m meeting) clone() meeting { return meeting{maps.Clone(m.alone), maps.Clone(m.any)} }

func (m meeting) join(o meeting) {
	m.alone.join(o.alone)
	m.any.join(o.any)
}

// meetBlocks lets all blocks of the rank meet: what each did before, all see behind it. A block that waits here
// leaves when another one has failed.
func (e *fn) meetBlocks(op *ir.Op) {
	e.settle()
	field := func(name string) val { return e.offset(e.ctx, i64(abi.Offset[abi.GPUCtx](name))) }
	p := bytesIn(global)
	f := e.g.helper("ptoc_meet", types.I32, p, types.I64, p, p, types.I64, types.I32)
	site := e.site(op)
	e.ask(site, func() val {
		return e.b.NewCall(f, field("Met"), e.grid.blocks, e.pointerAt(field("Abort"), 0), e.pointerAt(field("Fault"), 0),
			e.load(types.I64, field("Patience"), 8), i32(int64(abi.LeftMeeting(site))))
	})
	e.grid.apart = meeting{hazards{}, hazards{}}
}

// meetAgain makes the end of a loop's body safe for its beginning.
func (e *fn) meetAgain(op *ir.Op) {
	if m := e.grid.apart; e.plan != nil && len(m.alone)+len(m.any) > 0 {
		e.meetBlocks(op)
	}
}
