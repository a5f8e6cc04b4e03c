package ptx

import (
	"github.com/llir/llvm/ir/types"

	"ptoc/ir"
)

// Loads of whole tiles into shared memory are asynchronous copies: none waits for the one before, and no register
// is needed on the way. Every barrier waits for them first; nobody looks at a tile that was just written, or
// signals, without a barrier.

// isCopy reports whether a fused loop hands on what it reads.
func isCopy(op *ir.Op) bool {
	if op.Kind != ir.Fused {
		return false
	}
	body := op.Regions[0]
	return len(body.Ops) == 1 && len(body.Args) == 1 && body.Terminator().Vals("values")[0] == body.Args[0]
}

// copiesTiles reports whether f, or what it calls, loads tiles into shared memory.
func (g *gen) copiesTiles(f *ir.Func) bool {
	found := false
	f.Body.Walk(func(op *ir.Op) {
		switch {
		case op.Kind == ir.Call:
			found = found || g.copiesTiles(op.Callee())
		case isCopy(op) && len(op.Results) == 1:
			found = found || !g.registers(f)[op.Result()]
		}
	})
	return found
}

// asynchronous reports whether a nest is a copy from global to shared memory, 16 bytes at a time.
func (e *fn) asynchronous(n *nest, lanes int64) bool {
	if !e.kernel.async || n.op == nil || !isCopy(n.op) || len(n.outs) != 1 {
		return false
	}
	from, to := n.ins[0], n.outs[0]
	return from.root != arenaRoot && to.root == arenaRoot && from.dt == to.dt && lanes*int64(to.dt.Size()) == 16
}

func (e *fn) copyAsync(from, to val) {
	e.asm(types.Void, "cp.async.cg.shared.global [$0], [$1], 16;", "l,l", to, from)
}

// landed waits for this thread's asynchronous copies.
func (e *fn) landed() {
	if e.kernel.async {
		e.asm(types.Void, "cp.async.wait_all;", "")
	}
}
