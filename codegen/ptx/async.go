package ptx

import (
	"fmt"

	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/target"
	"ptoc/ir"
)

// Loads of whole tiles into shared memory are asynchronous copies: none waits for the one before, and no register
// is needed on the way. Each load is a group of its own; a barrier waits for the groups that the accesses behind it
// need, and leaves later ones in flight.

// flight is an access by copies that may still be under way.
type flight struct {
	place
	access
}

// flights says of each how many groups have been committed since, at least: on some path there may have been
// more, but waiting for all but so many is always enough.
type flights map[flight]int

// join is what may be under way where two paths meet.
func (f flights) join(o flights) {
	for x, age := range o {
		if mine, ok := f[x]; !ok || age < mine {
			f[x] = age
		}
	}
}

// clash is how many groups may stay in flight at most before what follows; ok: it needs one that is.
func (f flights) clash(next hazards) (keep int, ok bool) {
	for x, age := range f {
		if next.clash(hazards{x.place: x.access}) && (!ok || age < keep) {
			keep, ok = age, true
		}
	}
	return keep, ok
}

// copiesTiles reports whether f, or what it calls, loads tiles into shared memory.
func (g *gen) copiesTiles(f *ir.Func) bool {
	found := false
	f.Body.Walk(func(op *ir.Op) {
		if op.Kind == ir.Call {
			found = found || g.copiesTiles(op.Callee())
		}
		found = found || g.loadsTile(f, op)
	})
	return found
}

// loadsTile reports whether op, of f, loads a tile that is not for registers.
func (g *gen) loadsTile(f *ir.Func, op *ir.Op) bool {
	return target.IsLoad(op) && !g.registers(f).Rows[op.Result()]
}

// asynchronous reports whether a nest is a copy from global to shared memory, 16 bytes at a time.
func (e *fn) asynchronous(n *nest, lanes int64) bool {
	if !e.kernel.async || n.op == nil || !target.IsLoad(n.op) || len(n.outs) != 1 {
		return false
	}
	from, to := n.ins[0], n.outs[0]
	return from.root != arenaRoot && to.root == arenaRoot && from.dt == to.dt && lanes*int64(to.dt.Size()) == 16
}

func (e *fn) copyAsync(from, to val) {
	e.asm(types.Void, "cp.async.cg.shared.global [$0], [$1], 16;", "l,l", to, from)
}

// commit makes this thread's copies since the last commit a group. Where the kernel finds the addresses odd it is
// empty, and counts all the same.
func (e *fn) commit(from, to *memory) {
	e.asm(types.Void, "cp.async.commit_group;", "")
	for x := range e.flying {
		e.flying[x]++
	}
	e.flying[flight{from.at(), reads}] = 0
	e.flying[flight{to.at(), writes}] = 0
}

// await waits for this thread's copies, except for those of the last keep groups. What has arrived is there for
// other threads after a barrier.
func (e *fn) await(keep int) {
	e.asm(types.Void, fmt.Sprintf("cp.async.wait_group %d;", keep), "")
	for x, age := range e.flying {
		if age >= keep {
			e.pending[x.place] |= x.access
			delete(e.flying, x)
		}
	}
}

// land waits for all copies.
func (e *fn) land() {
	if len(e.flying) > 0 {
		e.await(0)
	}
}

// landStrangers ends, before a loop, the copies whose tiles its body touches and does not load again: else each turn
// would wait for them.
func (e *fn) landStrangers(body *ir.Block) {
	if len(e.flying) == 0 {
		return
	}
	touched, again := hazards{}, hazards{}
	body.Walk(func(op *ir.Op) {
		if e.g.loadsTile(e.f, op) {
			again[e.tileAt(op.Result())] |= writes
		}
		for _, v := range op.Operands() {
			if _, tile := v.Type.(*ir.Tile); tile && e.Memory(v) {
				touched[e.tileAt(v)] |= reads
			}
		}
	})
	stranger := func(x flight, _ int) bool {
		return x.access == writes && again[x.place] == 0 && touched.clash(hazards{x.place: writes})
	}
	if e.landIf(stranger) {
		e.barrier()
	}
}

// landIf waits for the copies that which asks for; some: there are any.
func (e *fn) landIf(which func(x flight, age int) bool) (some bool) {
	keep := 0
	for x, age := range e.flying {
		if which(x, age) && (!some || age < keep) {
			keep, some = age, true
		}
	}
	if some {
		e.await(keep)
	}
	return some
}

// landAhead ends, at the end of a loop's body, the copies that its beginning does not know of.
func (e *fn) landAhead(known flights) {
	e.landIf(func(x flight, age int) bool {
		least, ok := known[x]
		return !ok || age < least
	})
}

// prepare lets one barrier serve the copies at the head of ops and a product behind them that is not of what they
// load: it would need a barrier of its own, and wait for them there.
func (e *fn) prepare(ops []*ir.Op) {
	if !e.kernel.async || !e.g.loadsTile(e.f, ops[0]) {
		return
	}
	next := hazards{}
	for _, op := range ops {
		switch {
		case e.g.loadsTile(e.f, op):
			next[e.tileAt(op.Result())] |= writes
		case op.Kind == ir.MatMul || op.Kind == ir.MatMulAcc:
			product := hazards{}
			for _, v := range op.Operands() {
				if e.Memory(v) {
					product[e.tileAt(v)] |= reads
				}
			}
			if !next.clash(product) {
				if e.Memory(op.Result()) {
					product[e.tileAt(op.Result())] |= writes
				}
				next.join(product)
				e.separate(next)
			}
			return
		case !ir.IsPure(op):
			return
		}
	}
}
