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
)

// event is one step of a rank. Accesses of one op to one allocation between two synchronisations are
// one event: nothing can tell them apart.
type event struct {
	kind kind
	rank int
	pos  int // in its rank's trace
	seq  int // in the run
	op   *ir.Op
	path *place
	call int // which kernel of its rank

	cell  sim.Cell
	value int32 // of a notify; what a wait expects
	set   bool
	eq    bool

	mem    *sim.Alloc
	ranges []sim.Range
	put    bool // a put: later accesses of its rank are ordered behind it only from landed on
	landed int
	// done is the position of what releases the access: its own, for accesses to local memory; the
	// next notify of the same kernel, for writes to peers; never, if there is none.
	done int

	acq   *event  // the last acquire of the rank at or before this
	clock []int32 // acquires: how many events of each rank must have happened
	hist  uint64  // notifies: of their rank
	ghost bool    // would have happened, had the waits before it returned
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
	order []*event // notifies, waits and meetings in the order of the run
	isSet map[cellKey]bool
	seq   int
	state []rankState

	stuck  []*event // the waits in which a run ended
	ghosts bool
	full   bool // the trace was longer than maxEvents
}

// rankState is what the recorder knows of a rank while it runs.
type rankState struct {
	path    *place
	call    int
	kernel  *ir.Func
	open    map[accessKey]*event // accesses since the last synchronisation
	flying  []*event             // writes to peers that are not released yet
	lost    []*event             // writes to peers that no notify of their kernel has released
	lastAcq *event
	clock   []int32
	hist    uint64 // a hash of all that it did, read and acquired
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
		isSet: map[cellKey]bool{}, state: make([]rankState, ranks)}
	for r := range t.state {
		t.state[r] = rankState{call: -1, open: map[accessKey]*event{}, clock: make([]int32, ranks)}
	}
	return t
}

func (t *trace) add(r int, e event) *event {
	s := &t.state[r]
	e.rank, e.pos, e.seq, e.path, e.call, e.acq, e.ghost = r, len(t.ranks[r]), t.seq, s.path, s.call, s.lastAcq, t.ghosts
	e.done = e.pos
	if t.seq++; t.seq > maxEvents {
		t.full = true
	}
	p := &e
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
	s.lost = append(s.lost, s.flying...)
	s.flying, s.path = nil, nil
	clear(s.open)
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
	s := &t.state[a.Device]
	key := accessKey{a.Op, a.Mem, k}
	remote := k != read && a.Mem.Window && a.Mem.Device != a.Device
	put := remote && a.Op.Kind == ir.Put
	if e := s.open[key]; e != nil && e.path == s.path && !put {
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
		e.done, e.landed = never, never // until a release is known
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

// released ends the flight of the rank's writes to peers.
func (t *trace) released(r, at int) {
	s := &t.state[r]
	for _, w := range s.flying {
		w.done = at
		w.landed = min(w.landed, at)
	}
	s.flying = s.flying[:0]
	clear(s.open)
}

// fenced orders the rank's own later accesses behind what is in flight; peers do not know of it.
func (t *trace) fenced(r int) {
	s := &t.state[r]
	for _, w := range s.flying {
		w.landed = min(w.landed, len(t.ranks[r]))
	}
	clear(s.open)
}

func (t *trace) notified(r int, c sim.Cell, op *ir.Op, value int32, set bool) *event {
	e := t.add(r, event{kind: notify, op: op, cell: c, value: value, set: set})
	t.released(r, e.pos)
	s := &t.state[r]
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
	clear(t.state[b.Device].open)
	if !t.ghosts {
		t.waits[b.Cell] = append(t.waits[b.Cell], e)
		t.order = append(t.order, e)
		t.acquired(e)
	}
	return e
}

// acquired gives an acquire its clock, as far as the run has come.
func (t *trace) acquired(e *event) {
	s := &t.state[e.rank]
	e.clock = slices.Clone(s.clock)
	e.clock[e.rank] = int32(e.pos + 1)
	t.advance(e)
	s.lastAcq, e.acq, s.clock = e, e, e.clock
	s.hist = mix(mix(s.hist, cellHash(e.cell)), 5)
	for _, n := range e.clock {
		s.hist = mix(s.hist, uint64(n))
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// gathered notes that the host has waited for all ranks.
func (t *trace) gathered() {
	all := make([]int32, len(t.ranks))
	for r := range t.ranks {
		all[r] = int32(len(t.ranks[r]) + 1)
	}
	for r := range t.ranks {
		e := t.add(r, event{kind: meet})
		t.state[r].flying = append(t.state[r].flying, t.state[r].lost...)
		t.state[r].lost = nil
		t.released(r, e.pos)
		e.clock = slices.Clone(all)
		t.order = append(t.order, e)
		t.state[r].lastAcq, e.acq, t.state[r].clock = e, e, e.clock
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
