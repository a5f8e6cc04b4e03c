package verify

import (
	"fmt"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// Blocks: the iterations of pl.spmd and pl.parallel (ir.IterationsApart). Each is a strand of its own: the loop forks
// them, its end joins them, and only notifies and waits order what two of them do. The executor runs them one after the
// other, which is one of their orders.

// BlockName is what one iteration of a loop is called.
func BlockName(loop *ir.Op) string {
	if loop.Enum("kind").Is("spmd") {
		return "block"
	}
	return "iteration"
}

func kindOf(loop *ir.Op) string { return ir.LoopKind.Values[loop.Enum("kind").Value] }

// ExplainBlocks adds to a finding what can be done about blocks that are in each other's way.
func ExplainBlocks(d *diag.Diagnostic, loop *ir.Op) {
	name := BlockName(loop)
	d.Note(source.Span{}, "nothing orders two %ss of pl.%s but a notify of one that the other waits for", name, kindOf(loop))
	d.Help("give each %s a part of its own, or let one notify the other between the two; or write pl.range, whose iterations run one after the other", name)
}

// strand is what runs in program order: the dispatches of a rank, or one block.
type strand struct {
	id    int // -1: no action yet
	first int // blocks: how many actions the number's earlier strands have done
	up    *strand
	blk   *block // nil: the dispatches of a rank
	free  []int  // numbers of strands that it has joined
	last  *action
}

// block is one block of a loop.
type block struct {
	loop *ir.Op
	idx  int64
	of   *forked
	up   *block // around the loop
}

// forked is one run of a loop with its blocks.
type forked struct {
	fork *action // nil: no block has done anything yet
	kids []*strand
}

// inBlock is " in block 2", with the blocks around it; "" outside of blocks.
func (b *block) inBlock() string {
	text := ""
	for ; b != nil; b = b.up {
		text += fmt.Sprintf(" in %s %d", BlockName(b.loop), b.idx)
	}
	return text
}

// fork begins the blocks of a loop, of which there are n; nil where they are not apart.
func (r *run) fork(fr *frame, loop *ir.Op, n uint64) *forked {
	if fr.rk == nil || n < 2 || !ir.IterationsApart(loop) {
		return nil
	}
	return &forked{}
}

// enter begins block i.
func (f *forked) enter(rk *rankState, loop *ir.Op, i int64) {
	if f == nil {
		return
	}
	up := rk.strand
	if i > 0 {
		up = up.up
	}
	rk.strand = &strand{id: -1, up: up, blk: &block{loop: loop, idx: i, of: f, up: up.blk}}
	f.kids = append(f.kids, rk.strand)
}

// leave ends the last block: what follows comes after all of them.
func (r *run) leave(f *forked, rk *rankState, loop *ir.Op) {
	if f == nil {
		return
	}
	rk.strand = rk.strand.up
	if f.fork == nil {
		return
	}
	a := r.record(rk, &action{kind: actJoin, op: loop})
	for _, k := range f.kids {
		if k.id >= 0 {
			a.ends = append(a.ends, k.last)
			s := rk.strand
			s.free = append(append(s.free, k.id), k.free...)
		}
	}
}

// number gives a strand its number before its first action, and its loop the action that it begins with. After the join
// a number is free again for what comes after it, in the strand that joined.
func (r *run) number(rk *rankState, s *strand) {
	if s.id >= 0 {
		return
	}
	r.number(rk, s.up)
	if f := s.blk.of; f.fork == nil {
		f.fork = r.append(rk, s.up, &action{kind: actFork, op: s.blk.loop})
	}
	if free := s.up.free; len(free) > 0 {
		s.id, s.up.free = free[len(free)-1], free[:len(free)-1]
	} else {
		s.id = len(r.ticks)
		r.ticks = append(r.ticks, 0)
	}
	s.first, s.last = r.ticks[s.id], s.blk.of.fork
}

// apart are the blocks of one run of a loop in which two actions are; nil if they are not in two of them.
func apart(a, b *action) (x, y *block) {
	for x = a.blk; x != nil; x = x.up {
		for y = b.blk; y != nil; y = y.up {
			if x.of == y.of {
				if x.idx == y.idx {
					return nil, nil
				}
				return x, y
			}
		}
	}
	return nil, nil
}

// who does a where another action comes into it: the rank, or the block if the other is in a block beside it.
func (a *action) who(other *action) string {
	if x, _ := apart(a, other); x != nil {
		return fmt.Sprintf("%s %d of rank %d", BlockName(x.loop), x.idx, a.rank)
	}
	return fmt.Sprintf("rank %d", a.rank)
}

// blocks reports that a in x and b in y access the same bytes.
func (o *order) blocks(a, b *action, x, y *block, at span) {
	verbs := map[bool][2]string{false: {"reads", "reading"}, true: {"writes", "writing"}}
	name, whose := BlockName(x.loop), ""
	if a.remote() {
		whose = fmt.Sprintf("rank %d's ", a.acc.device)
	}
	f := o.find(diag.BlockRace, a, "%s %d of rank %d %s %s%s while %s %d may be %s it", name, x.idx, a.rank, verbs[a.acc.write][0],
		whose, a.acc.mem.spanName(at), name, y.idx, verbs[b.acc.write][1])
	f.Note(b.span(), "%s %d %s it here%s", name, y.idx, verbs[b.acc.write][0], b.when(o.r))
	ExplainBlocks(f.Diagnostic, x.loop)
	first, second := a, b
	if a.seq > b.seq {
		first, second = b, a
	}
	f.Timeline = o.timeline(first, second)
}
