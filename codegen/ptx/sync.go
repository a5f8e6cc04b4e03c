package ptx

import (
	"github.com/llir/llvm/ir/types"
)

// hazards are the accesses since the last block barrier, by root: what one thread did and another may
// not touch yet.
type hazards map[any]access

type access uint8

const (
	reads access = 1 << iota
	writes
)

func (h hazards) clone() hazards {
	c := hazards{}
	c.join(h)
	return c
}

func (h hazards) join(o hazards) {
	for root, a := range o {
		h[root] |= a
	}
}

// clash: what happened before may not happen beside what follows.
func (h hazards) clash(next hazards) bool {
	for root, a := range next {
		if h[root]&writes != 0 || a&writes != 0 && h[root] != 0 {
			return true
		}
	}
	return false
}

// touch makes the following accesses safe: a barrier stands before them where they meet a write by
// another thread, or write what another thread may still read.
func (e *fn) touch(read, written []*memory) {
	next := hazards{}
	for _, m := range read {
		next[m.root] |= reads
	}
	for _, m := range written {
		next[m.root] |= writes
	}
	if e.pending.clash(next) {
		e.barrier()
	}
	e.pending.join(next)
	e.seen.join(next)
}

// settleLoop makes the end of a loop's body safe for its beginning.
func (e *fn) settleLoop() {
	if e.pending.clash(e.seen) {
		e.barrier()
	}
}

// barrier lets all threads of the block meet.
func (e *fn) barrier() {
	e.landed()
	e.b.NewCall(e.g.extern("llvm.nvvm.barrier0", types.Void))
	clear(e.pending)
}

// settle puts a barrier where anything is pending: before signals.
func (e *fn) settle() {
	if len(e.pending) > 0 {
		e.barrier()
	}
}

// anyThread is whether x is not 0 in any thread, after a barrier.
func (e *fn) anyThread(x val) val {
	e.landed()
	r := e.b.NewCall(e.g.extern("llvm.nvvm.barrier0.or", types.I32, types.I32), x)
	clear(e.pending)
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
