package dynamic

import (
	"slices"

	"ptoc/runtime/sim"
)

// A strand is what runs in program order: the kernels of a rank, or one block of a loop whose iterations are
// apart. Blocks are forked where their loop begins and joined where it ends; between the two nothing but
// notifies and waits orders them. The simulator runs them one after the other, which is one of their orders.
//
// Clocks count the events of each strand by its number. After the join a number is free again for what comes after it,
// in the strand that joined, so that there are as many as strands at one time. A block that does nothing that others can
// see gets none.
type strand struct {
	id    int // -1: no event yet
	up    *strand
	block *sim.Block // nil: the kernels of a rank
	loop  *forked    // that runs in it
	free  []int      // numbers of strands that it has joined

	first   int // blocks: how many events had their number before
	last    *event
	lastAcq *event
	clock   clock
	open    map[accessKey]*event // accesses since the last synchronisation
	flying  []*event             // writes to peers that are not released yet
}

// forked is a loop whose blocks run.
type forked struct {
	fork *event // nil: no block has done anything yet
	kids []*strand
}

// clock says how many events of each strand must have happened; what it does not reach is 0.
type clock []int32

func (c clock) of(strand int) int32 {
	if strand < len(c) {
		return c[strand]
	}
	return 0
}

// with is a copy of c that reaches n strands.
func (c clock) with(n int) clock {
	out := make(clock, max(n, len(c)))
	copy(out, c)
	return out
}

// raise makes c know n events of a strand; true if it did not.
func (c clock) raise(strand int, n int32) bool {
	if c[strand] >= n {
		return false
	}
	c[strand] = n
	return true
}

// join adds what d knows; true if that is more. Nothing knows of strands that began after it.
func (c clock) join(d clock) (grew bool) {
	for i, n := range d[:min(len(c), len(d))] {
		if n > c[i] {
			c[i], grew = n, true
		}
	}
	return grew
}

func newStrand(id int, up *strand, b *sim.Block) *strand {
	return &strand{id: id, up: up, block: b, open: map[accessKey]*event{}}
}

// knows is the clock of what a rank does now.
func (t *trace) knows(r int) clock { return t.state[r].cur.numbered().clock }

// numbered is the innermost strand around s that has events.
func (s *strand) numbered() *strand {
	for s.id < 0 {
		s = s.up
	}
	return s
}

// block notes that a block of a rank begins, or that the last one of its loop is over.
func (t *trace) block(r int, b *sim.Block, over bool) {
	s := &t.state[r]
	if b.Index == 0 && !over {
		s.cur.loop = &forked{}
	} else {
		s.cur = s.cur.up
	}
	f := s.cur.loop
	if !over {
		s.cur = newStrand(-1, s.cur, b)
		f.kids = append(f.kids, s.cur)
		return
	}
	if f.fork != nil {
		t.join(r, f)
	}
}

// number gives a strand its number before its first event, and its loop the event that it begins with.
func (t *trace) number(r int, s *strand) {
	if s.id >= 0 {
		return
	}
	t.number(r, s.up)
	f := s.up.loop
	if f.fork == nil {
		f.fork = t.addTo(s.up, r, event{kind: fork})
		t.forks[s.block.Loop] = f
		t.synchronised(s.up, f.fork)
		s.up.untilLast() // whoever hears of the fork hears of it by a notify behind it
	}
	if n := len(s.up.free); n > 0 {
		s.id, s.up.free = s.up.free[n-1], s.up.free[:n-1]
	} else {
		s.id = len(t.ticks)
		t.ticks = append(t.ticks, 0)
	}
	s.first = t.ticks[s.id]
	s.last, s.lastAcq, s.clock = f.fork, f.fork, f.fork.clock
}

// join orders what follows a loop behind its blocks.
func (t *trace) join(r int, f *forked) {
	s := t.state[r].cur
	e := t.addTo(s, r, event{kind: join, of: f})
	for _, k := range f.kids {
		if k.id < 0 {
			continue
		}
		k.untilLast() // only a notify behind the join can tell of the end of the block
		s.flying = append(s.flying, k.flying...)
		k.open, k.flying = nil, nil
		s.free = append(append(s.free, k.id), k.free...)
	}
	t.synchronised(s, e)
}

// untilLast takes what is in flight to be released with the last event of its strand, which others hear of only by
// notifies that release it. If none comes the end of the kernel takes that back.
func (s *strand) untilLast() {
	for _, w := range s.flying {
		if w.strand == s.id {
			w.done = min(w.done, s.last.tick)
		}
	}
}

// synchronised gives a fork, join or wait its clock, as far as the run has come.
func (t *trace) synchronised(s *strand, e *event) {
	clear(s.open)
	e.clock = s.clock.with(len(t.ticks))
	e.clock[s.id] = int32(e.tick + 1)
	if t.clocks += len(e.clock); t.clocks > maxClocks {
		t.full = true
	}
	t.advance(e)
	s.lastAcq, e.acq, s.clock = e, e, e.clock
	if !t.ghosts {
		t.order = append(t.order, e)
	}
}

// maxClocks bounds the clocks of a trace: 256 MB.
const maxClocks = 64 << 20

// landing is how many events of a strand must have happened for a put to have arrived.
type landing struct{ strand, ticks int }

// lands notes that a strand has seen to it that a write has arrived.
func (w *event) lands(s *strand, ticks int) {
	if !slices.ContainsFunc(w.landings, func(l landing) bool { return l.strand == s.id }) {
		w.landings = append(w.landings, landing{s.id, ticks})
	}
}

// landed reports whether a put has certainly arrived when b happens.
func (w *event) landed(b *event) bool {
	return slices.ContainsFunc(w.landings, func(l landing) bool {
		return l.strand == b.strand && b.tick >= l.ticks || b.acq != nil && int(b.acq.clock.of(l.strand)) >= l.ticks
	})
}

// apart are the blocks of one run of a loop in which two events are; nil if they are not in two of them.
func apart(a, b *event) (x, y *sim.Block) {
	for x = a.block; x != nil; x = x.Loop.In {
		for y = b.block; y != nil; y = y.Loop.In {
			if x.Loop == y.Loop {
				if x.Index == y.Index {
					return nil, nil // the same one, and loops around it do not matter
				}
				return x, y
			}
		}
	}
	return nil, nil
}
