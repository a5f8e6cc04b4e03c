package dynamic

import (
	"fmt"
	"slices"

	"ptoc/lang/diag"
	"ptoc/runtime/sim"
	"ptoc/verify"
)

// What is said of blocks.

// inBlock is " in block 2", with the blocks around it; "" outside of blocks.
func inBlock(b *sim.Block) string {
	text := ""
	for ; b != nil; b = b.Loop.In {
		text += fmt.Sprintf(" in %s %d", verify.BlockName(b.Loop.Op), b.Index)
	}
	return text
}

// who does e where another event comes into it: the rank, or the block if the other is in a block beside it.
func (e *event) who(other *event) string {
	if x, _ := apart(e, other); x != nil && e.rank == other.rank {
		return fmt.Sprintf("%s %d of rank %d", verify.BlockName(x.Loop.Op), x.Index, e.rank)
	}
	return fmt.Sprintf("rank %d", e.rank)
}

// blocks reports that a in x and b in y access the same bytes.
func (r *report) blocks(a, b *event, x, y *sim.Block, c race) {
	does, _ := verb(a.kind)
	bDoes, doing := verb(b.kind)
	name, whose := verify.BlockName(x.Loop.Op), ""
	if a.remote() {
		whose = fmt.Sprintf("rank %d's ", a.mem.Device)
	}
	f := r.find(diag.BlockRace, a.op, a.path, "%s %d of rank %d %s %s%s while %s %d may be %s it", name, x.Index, a.rank, does, whose, rangeName(a.mem, c.at), name, y.Index, doing)
	f.Note(b.op.Span, "%s %d %s it here%s", name, y.Index, bDoes, r.when(b))
	verify.ExplainBlocks(f.Diagnostic, x.Loop.Op)
	f.Timeline = r.o.t.timeline(c.a, c.b)
}

// iterations reports waits of pl.parallel iterations for what others do: none of them need have run before. (Blocks
// of pl.spmd may need blocks before them.)
func (r *report) iterations() {
	t := r.o.t
	at := map[need]*event{}
	var needs []need
	for _, w := range t.order {
		for b := w.block; b != nil && w.kind == wait; b = b.Loop.In {
			if !isParallel(b.Loop) {
				continue
			}
			if other := t.otherIteration(w, b); other != nil {
				r.find(diag.NotResident, w.op, w.path, "iteration %d of rank %d waits for %s, which iteration %d notifies: iterations of pl.parallel come in any order",
					b.Index, w.rank, w.condition(), other.Index).
					Help("write pl.spmd, whose blocks may wait for earlier ones, or pl.range")
				return
			}
			for _, n := range t.elsewhere(w, b) {
				if at[n] == nil {
					at[n] = w
					needs = append(needs, n)
				}
			}
		}
	}
	if c := verify.WaitInCircle(needs); c != nil {
		r.circle(c, at)
	}
}

type need = verify.IterationNeed[*sim.Loop]

func isParallel(l *sim.Loop) bool { return l.Op.Enum("kind").Is("parallel") }

// circle reports iterations of several ranks that wait for each other in some order.
func (r *report) circle(c []need, at map[need]*event) {
	rank := func(l *sim.Loop) int { return r.o.t.forks[l].fork.rank }
	n := c[len(c)-1]
	w := at[n]
	f := r.find(diag.NotResident, w.op, w.path, "iteration %d of rank %d waits for iteration %d of rank %d, which may come after one that waits for rank %d: iterations of pl.parallel come in any order",
		n.Iter, w.rank, n.Needs, rank(n.Of), w.rank)
	for _, m := range c[:len(c)-1] {
		f.Note(at[m].op.Span, "iteration %d of rank %d waits here for iteration %d of rank %d", m.Iter, at[m].rank, m.Needs, rank(m.Of))
	}
	f.Help("notify in one loop and wait in a second one; or write pl.range, whose iterations run one after the other")
}

// otherIteration is an iteration that must have done something when a wait in b, another one of its loop, returns; nil if there
// is none.
func (t *trace) otherIteration(w *event, b *sim.Block) *sim.Block {
	for _, k := range t.forks[b.Loop].kids {
		if k.block != b && k.id >= 0 && int(w.clock.of(k.id)) > k.first {
			return k.block
		}
	}
	return nil
}

// elsewhere are the iterations of other ranks that must have done something when a wait in iteration b returns.
func (t *trace) elsewhere(w *event, b *sim.Block) []need {
	var out []need
	for l, f := range t.forks {
		if f.fork == nil || f.fork.rank == w.rank || !isParallel(l) {
			continue
		}
		for _, k := range f.kids {
			if k.id >= 0 && int(w.clock.of(k.id)) > k.first {
				out = append(out, need{Loop: b.Loop, Iter: b.Index, Of: l, Needs: k.block.Index})
			}
		}
	}
	slices.SortFunc(out, func(a, b need) int {
		if c := t.forks[a.Of].fork.seq - t.forks[b.Of].fork.seq; c != 0 {
			return c
		}
		return int(a.Needs - b.Needs)
	})
	return out
}
