package dynamic

import (
	"fmt"

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
	for _, w := range r.o.t.order {
		if b, other := r.o.t.otherIteration(w); b != nil {
			r.find(diag.NotResident, w.op, w.path, "iteration %d of rank %d waits for %s, which iteration %d notifies: iterations of pl.parallel come in any order",
				b.Index, w.rank, w.condition(), other.Index).
				Help("write pl.spmd, whose blocks may wait for earlier ones, or pl.range")
		}
	}
}

// otherIteration finds an iteration of pl.parallel that must have done something when a wait in another one, b, returns;
// nil if there is none.
func (t *trace) otherIteration(w *event) (b, other *sim.Block) {
	for b = w.block; b != nil && w.kind == wait; b = b.Loop.In {
		if !b.Loop.Op.Enum("kind").Is("parallel") {
			continue
		}
		for _, k := range t.forks[b.Loop].kids {
			if k.block != b && k.id >= 0 && int(w.clock.of(k.id)) > k.first {
				return b, k.block
			}
		}
	}
	return nil, nil
}
