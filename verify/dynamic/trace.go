package dynamic

import (
	"context"
	"fmt"
	"slices"

	"ptoc/ir"
	"ptoc/runtime/sim"
)

type kind uint8

const (
	begin kind = iota // of a kernel
	end
	notify
	wait
	read
	write
	update // an atomic read and write
	meet   // the host has waited for all ranks
	fork   // of the blocks of a loop
	join
)

// event is one step of a rank. Accesses of one op to one allocation between two synchronisations are
// one event: nothing can tell them apart.
type event struct {
	kind   kind
	rank   int
	pos    int // in its rank's trace
	seq    int // in the run
	strand int
	tick   int        // in its strand
	prev   *event     // in its strand; of a block's first: the fork
	block  *sim.Block // nil: none
	op     *ir.Op
	path   *place
	call   int // which kernel of its rank

	cell  sim.Cell
	value int32 // of a notify; what a wait expects
	set   bool
	eq    bool

	mem      *sim.Alloc
	ranges   []sim.Range
	put      bool // a put: later accesses of its rank are ordered behind it only where it has landed
	released bool // a notify has released it
	ghost    bool // would have happened, had the waits before it returned
	landings []landing
	// done is the tick of what releases the access: its own, for accesses to local memory; the
	// next notify of the same kernel, for writes to peers; never, if there is none. In and before blocks, where only
	// a notify can tell of a fork or of the end of a block, that will do.
	done int

	acq   *event  // the last acquire of the strand at or before this
	clock clock   // acquires: what must have happened
	of    *forked // join: what
	hist  uint64  // notifies: of their rank
}

const never = int(^uint32(0) >> 1)

// place is a chain of calls, innermost first.
type place struct {
	op *ir.Op
	up *place
}

// cellKey identifies a cell: allocations are unique pointers.
type cellKey = sim.Cell

// trace records a run.
type trace struct {
	ctx   context.Context // where it is done, settle and races stop half-way
	ranks [][]*event
	cells map[cellKey][]*event // notifies, in the order of the run
	waits map[cellKey][]*event
	order []*event // notifies, waits, meetings, forks and joins in the order of the run
	isSet map[cellKey]bool
	seq   int
	state []rankState

	ticks    []int // events of each strand
	forks    map[*sim.Loop]*forked
	clocks   int  // numbers in all clocks
	inBlocks bool // a block synchronises: the order of blocks in this run is only one of several

	stuck  []*event // the waits in which a run ended
	ghosts bool
	full   bool // the trace was longer than maxEvents or maxClocks
}

// rankState is what the recorder knows of a rank while it runs.
type rankState struct {
	path   *place
	call   int
	kernel *ir.Func
	main   *strand
	cur    *strand
	lost   []*event // writes to peers that no notify of their kernel has released
	hist   uint64   // a hash of all that it did, read and acquired
}

type accessKey struct {
	op   *ir.Op
	mem  *sim.Alloc
	kind kind
}

// maxEvents bounds a trace: some 300 MB.
const maxEvents = 2_000_000

func newTrace(ranks int) *trace {
	t := &trace{ctx: context.Background(), ranks: make([][]*event, ranks), cells: map[cellKey][]*event{}, waits: map[cellKey][]*event{},
		isSet: map[cellKey]bool{}, state: make([]rankState, ranks), ticks: make([]int, ranks), forks: map[*sim.Loop]*forked{}}
	for r := range t.state {
		s := newStrand(r, nil, nil)
		s.clock = make(clock, ranks)
		t.state[r] = rankState{call: -1, main: s, cur: s}
	}
	return t
}

func (t *trace) add(r int, e event) *event {
	s := t.state[r].cur
	t.number(r, s)
	return t.addTo(s, r, e)
}

func (t *trace) addTo(s *strand, r int, e event) *event {
	e.rank, e.pos, e.seq, e.path, e.call, e.ghost = r, len(t.ranks[r]), t.seq, t.state[r].path, t.state[r].call, t.ghosts
	e.strand, e.tick, e.prev, e.block, e.acq = s.id, t.ticks[s.id], s.last, s.block, s.lastAcq
	t.ticks[s.id]++
	e.done = e.tick
	if t.seq++; t.seq > maxEvents {
		t.full = true
	}
	p := &e
	s.last = p
	t.ranks[r] = append(t.ranks[r], p)
	return p
}

// kernel notes that a rank begins or ends a kernel.
func (t *trace) kernel(r int, f *ir.Func, ends bool) {
	s := &t.state[r]
	s.kernel = f
	if !ends {
		s.call++
		t.add(r, event{kind: begin})
		return
	}
	// What is still in flight is released by no notify of this kernel, only by the end of the run.
	for _, w := range s.main.flying {
		if !w.released {
			w.done = never
			s.lost = append(s.lost, w)
		}
	}
	s.main.flying, s.path = nil, nil
	clear(s.main.open)
	t.add(r, event{kind: end})
}

func (t *trace) called(r int, op *ir.Op, leaves bool) {
	s := &t.state[r]
	if leaves {
		s.path = s.path.up
	} else {
		s.path = &place{op, s.path}
	}
}

// access records an access to memory that other ranks can reach.
func (t *trace) access(k kind, a *sim.Access) *event {
	state := &t.state[a.Device]
	s := state.cur
	key := accessKey{a.Op, a.Mem, k}
	remote := k != read && a.Mem.Window && a.Mem.Device != a.Device
	put := remote && a.Op.Kind == ir.Put
	if e := s.open[key]; e != nil && e.path == state.path && !put {
		e.extend(a.Ranges)
		return e
	}
	e := t.add(a.Device, event{kind: k, op: a.Op, mem: a.Mem, ranges: slices.Clone(a.Ranges), put: put})
	if put {
		clear(s.open) // accesses before and after it differ
	} else {
		s.open[key] = e
	}
	if remote {
		e.done = never // until a release is known
		s.flying = append(s.flying, e)
	}
	return e
}

func (e *event) extend(rs []sim.Range) {
	for _, r := range rs {
		if n := len(e.ranges); n > 0 && e.ranges[n-1].Off+e.ranges[n-1].Len == r.Off {
			e.ranges[n-1].Len += r.Len
			continue
		}
		e.ranges = append(e.ranges, r)
	}
}

// releasedBy ends the flight of the writes to peers that a notify of a strand comes behind: its own, those of the blocks
// that it has joined, and those before the loops around it, which other blocks may still release for themselves.
func (t *trace) releasedBy(s *strand, e *event) {
	for _, w := range s.flying {
		if w.strand == s.id {
			w.done = min(w.done, e.tick)
		}
		w.released = true
		w.lands(s, e.tick+1)
	}
	s.flying = nil
	for u := s.up; u != nil; u = u.up {
		for _, w := range u.flying {
			w.released = true
			w.lands(s, e.tick+1)
		}
	}
	clear(s.open)
}

// fenced orders the strand's own later accesses behind what is in flight; peers do not know of it.
func (t *trace) fenced(r int) {
	s := t.state[r].cur
	for u := s; u != nil; u = u.up {
		for _, w := range u.flying {
			t.number(r, s)
			w.lands(s, t.ticks[s.id])
		}
	}
	clear(s.open)
}

func (t *trace) notified(r int, c sim.Cell, op *ir.Op, value int32, set bool) *event {
	e := t.add(r, event{kind: notify, op: op, cell: c, value: value, set: set})
	s := &t.state[r]
	t.releasedBy(s.cur, e)
	t.inBlocks = t.inBlocks || s.cur.block != nil
	s.hist = mix(mix(s.hist, cellHash(c)), uint64(uint32(value))<<1|uint64(b2i(set)))
	e.hist = s.hist
	if !t.ghosts {
		t.cells[c] = append(t.cells[c], e)
		t.order = append(t.order, e)
		t.isSet[c] = t.isSet[c] || set
	}
	return e
}

func (t *trace) waited(b sim.Blocked) *event {
	e := t.add(b.Device, event{kind: wait, op: b.Op, cell: b.Cell, value: b.Want, eq: b.Eq})
	s := &t.state[b.Device]
	if t.ghosts {
		clear(s.cur.open)
		return e
	}
	t.inBlocks = t.inBlocks || s.cur.block != nil
	t.waits[b.Cell] = append(t.waits[b.Cell], e)
	t.synchronised(s.cur, e)
	s.hist = mix(mix(s.hist, cellHash(e.cell)), 5)
	for _, n := range e.clock {
		s.hist = mix(s.hist, uint64(n))
	}
	return e
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// gathered notes that the host has waited for all ranks.
func (t *trace) gathered() {
	all := make(clock, len(t.ticks))
	for i, n := range t.ticks {
		all[i] = int32(n + 1)
	}
	for r := range t.ranks {
		e := t.add(r, event{kind: meet})
		s := &t.state[r]
		for _, w := range s.lost {
			w.done = int(all[w.strand]) - 1
			w.lands(s.main, e.tick+1)
		}
		s.lost = nil
		e.clock = all
		t.order = append(t.order, e)
		s.main.lastAcq, e.acq, s.main.clock = e, e, e.clock
	}
	for i := range t.ticks[len(t.ranks):] {
		t.ticks[len(t.ranks)+i]++ // so that nothing before it knows what is released only here
	}
}

// blocked records the waits in which the run is stuck.
func (t *trace) blocked(bs []sim.Blocked) {
	for _, b := range bs {
		e := t.add(b.Device, event{kind: wait, op: b.Op, cell: b.Cell, value: b.Want, eq: b.Eq})
		t.stuck = append(t.stuck, e)
		t.waits[b.Cell] = append(t.waits[b.Cell], e)
	}
}

// elementName is "data[0, 3]".
func elementName(m *sim.Alloc, off int64) string {
	if m.Shape == nil || m.Elem == 0 {
		return fmt.Sprintf("%s at byte %d", m.Name, off)
	}
	idx := make([]int64, len(m.Shape))
	at := off / m.Elem
	for i := len(m.Shape) - 1; i >= 0; i-- {
		n := max(m.Shape[i], 1)
		if i == 0 {
			n = at + 1
		}
		idx[i], at = at%n, at/n
	}
	return m.Name + bracket(idx)
}

func bracket(xs []int64) string {
	text := "["
	for i, x := range xs {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(x)
	}
	return text + "]"
}

// rangeName is "data[0, 0:64]" where the bytes are part of one row, else where they begin.
func rangeName(m *sim.Alloc, r sim.Range) string {
	if m.Elem == 0 || len(m.Shape) == 0 || r.Len <= m.Elem {
		return elementName(m, r.Off)
	}
	row := max(m.Shape[len(m.Shape)-1], 1) * m.Elem
	if r.Off/row == (r.Off+r.Len-1)/row {
		name := elementName(m, r.Off)
		return fmt.Sprintf("%s:%d]", name[:len(name)-1], (r.Off%row+r.Len+m.Elem-1)/m.Elem)
	}
	return fmt.Sprintf("%s from %s on (%d bytes)", m.Name, elementName(m, r.Off), r.Len)
}
