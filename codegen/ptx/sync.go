package ptx

import (
	"maps"

	"github.com/llir/llvm/ir/types"

	"ptoc/ir"
)

// place is a part of memory that barriers keep apart from others: bytes [lo, hi) of the arena, or all of a root.
type place struct {
	root   any
	lo, hi int64 // hi = 0: all of it
}

// anywhere is what signals order: all of memory.
var anywhere = place{}

func (p place) meets(q place) bool {
	return p == anywhere || q == anywhere || p.root == q.root && (p.hi == 0 || q.hi == 0 || p.lo < q.hi && q.lo < p.hi)
}

// hazards are the accesses since the last block barrier, by place: what one thread did and another may
// not touch yet.
type hazards map[place]access

type access uint8

const (
	reads access = 1 << iota
	writes
)

func (h hazards) join(o hazards) {
	for p, a := range o {
		h[p] |= a
	}
}

// clash: what happened before may not happen beside what follows.
func (h hazards) clash(next hazards) bool {
	for p, a := range next {
		for q, b := range h {
			if (a|b)&writes != 0 && p.meets(q) {
				return true
			}
		}
	}
	return false
}

// order is what is known of the block's accesses at a place in the program.
type order struct {
	pending hazards // since the last block barrier
	flying  flights // copies that may be under way
	seen    hazards // since the enclosing loop's body began, until the first barrier in it
	met     bool    // there was one
}

func newOrder() order { return order{pending: hazards{}, flying: flights{}, seen: hazards{}} }

func (o order) clone() order {
	return order{maps.Clone(o.pending), maps.Clone(o.flying), maps.Clone(o.seen), o.met}
}

// join is what is known where two paths meet.
func (o *order) join(p order) {
	o.pending.join(p.pending)
	o.flying.join(p.flying)
	o.seen.join(p.seen)
	o.met = o.met && p.met
}

// beginTurns is called before a loop's head, endTurns with what it gave behind the loop, settleLoop where a turn
// ends.
func (e *fn) beginTurns(body *ir.Block) (before order) {
	e.landStrangers(body)
	before = e.order.clone()
	e.kernel.seen, e.kernel.met = hazards{}, false
	return before
}

func (e *fn) endTurns(before order) {
	// The loop may run not at all; what its turns leave in flight was in flight before.
	e.pending.join(before.pending)
	e.kernel.flying = before.flying
	if !before.met {
		before.seen.join(e.seen)
	}
	e.kernel.seen, e.kernel.met = before.seen, before.met
}

// settleLoop makes the end of a loop's body safe for its beginning, which knows of the copies that were in flight
// before the loop.
func (e *fn) settleLoop(before order) {
	e.landAhead(before.flying)
	if e.pending.clash(e.seen) {
		e.barrier()
	}
}

// touch makes the following accesses safe: a barrier stands before them where they meet a write by
// another thread, or write what another thread may still read.
func (e *fn) touch(read, written []*memory) {
	next := hazards{}
	for _, m := range read {
		next[m.at()] |= reads
	}
	for _, m := range written {
		next[m.at()] |= writes
	}
	e.separate(next)
	e.note(next)
}

func (e *fn) note(next hazards) {
	e.pending.join(next)
	if !e.met {
		e.seen.join(next)
	}
}

// separate puts what has happened before what follows, where these may not happen side by side.
func (e *fn) separate(next hazards) {
	if keep, ok := e.flying.clash(next); ok {
		e.await(keep)
	}
	if e.pending.clash(next) {
		e.barrier()
	}
}

// barrier lets all threads of the block meet.
func (e *fn) barrier() {
	e.b.NewCall(e.g.extern("llvm.nvvm.barrier0", types.Void))
	e.meet()
}

// meet: all threads have done what they did before.
func (e *fn) meet() {
	clear(e.pending)
	e.kernel.met = true
}

// settle puts a barrier where anything is pending or in flight: before signals.
func (e *fn) settle() {
	e.land()
	if len(e.pending) > 0 {
		e.barrier()
	} else if !e.met {
		e.seen[anywhere] = writes // of the turn before something may be pending
	}
}

// anyThread is whether x is not 0 in any thread, after a barrier.
func (e *fn) anyThread(x val) val {
	e.land()
	r := e.b.NewCall(e.g.extern("llvm.nvvm.barrier0.or", types.I32, types.I32), x)
	e.meet()
	return e.notZero(r)
}

// firstThread runs body in the block's first thread.
func (e *fn) firstThread(body func()) { e.when("first", e.isZero(e.tid), body) }

// scratchRoot keeps uses of the scratch variable apart.
const scratchRoot = "scratch"

func (e *fn) scratch() *memory {
	return &memory{ptr: e.typed(e.g.scratch, types.I8), root: scratchRoot}
}

// broadcast computes x in the first thread and gives it to all.
func (e *fn) broadcast(t types.Type, x func() val) val {
	s := e.scratch()
	e.touch(nil, []*memory{s})
	e.firstThread(func() { e.store(x(), s.ptr, 8) })
	e.touch([]*memory{s}, nil)
	return e.load(t, s.ptr, 8)
}
