package dynamic

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"ptoc/ir"
	"ptoc/runtime/sim"
)

// Policy says when a rank sees what others write, within what the memory model allows.
type Policy uint8

const (
	Eager       Policy = iota // at once
	OnWait                    // all of it whenever the rank waits for anything
	Random                    // a seed decides
	Adversarial               // as late as the model allows
)

var policyNames = [...]string{"eager", "on-wait", "random", "adversarial"}

func (p Policy) String() string { return policyNames[p] }

// memory is a sim.Memory that records every access and lets each rank see the others' writes as late as
// its policy says. Each rank has a copy of each window; a write goes to the writer's copy at once and
// is a message to the others. Cells have one value each, which a notify may reach later.
//
// Alloc.Data is memory as a machine without delays would have it: what the host reads.
type memory struct {
	sim.Sequential
	t      *trace
	policy Policy
	rng    *rand.Rand
	shadow map[*sim.Alloc]*shadow
	mail   []*event // notifies that have not reached their cell
	// steer, if set, decides when notifies of a cell arrive; nil: the policy does.
	held func(c sim.Cell) bool

	undefined map[int]*bits // outputs, by the id of their allocation: what has been written
	fault     func(f unwritten)
	reads     int // of cells, since a notify arrived
}

// unwritten is a read of memory that nobody wrote.
type unwritten struct {
	rank int
	op   *ir.Op
	path *place
	mem  *sim.Alloc
	at   sim.Range
}

// shadow is one window of one rank as the ranks see it.
type shadow struct {
	base    []byte // before the first write
	view    [][]byte
	pending [][]*message
}

// message is a write under way.
type message struct {
	by     *event
	ranges []sim.Range
	data   []byte
	atomic bool
}

func newMemory(t *trace, p Policy, seed uint64) *memory {
	return &memory{t: t, policy: p, rng: rand.New(rand.NewPCG(seed, 1)), shadow: map[*sim.Alloc]*shadow{}, undefined: map[int]*bits{}}
}

func (m *memory) weak(a *sim.Alloc) bool { return m.policy != Eager && a.Window }

// shared reports whether other ranks, or other blocks of this one, can reach what is accessed.
func (m *memory) shared(a *sim.Access) bool {
	if a.Mem.Window || a.Mem.ID >= 0 {
		return true
	}
	in := m.t.state[a.Device].cur.block
	return in != nil && in != a.Mem.In
}

func (m *memory) Read(a *sim.Access, dst []byte) {
	if m.t.ghosts {
		m.Sequential.Read(a, dst)
		return
	}
	m.checkWritten(a)
	if !m.shared(a) {
		m.Sequential.Read(a, dst)
		return
	}
	m.t.access(read, a)
	if m.weak(a.Mem) {
		gather(m.seen(a.Mem, a.Device), a.Ranges, dst)
	} else {
		m.Sequential.Read(a, dst)
	}
	if a.Mem.Window {
		m.readCells(a, dst)
	}
}

func (m *memory) Write(a *sim.Access, src []byte) {
	if m.t.ghosts {
		return
	}
	m.markWritten(a)
	if !m.shared(a) {
		m.Sequential.Write(a, src)
		return
	}
	e := m.t.access(write, a)
	if m.weak(a.Mem) {
		m.send(a, &message{by: e, ranges: slices.Clone(a.Ranges), data: slices.Clone(src)})
	}
	m.Sequential.Write(a, src)
}

func (m *memory) Update(a *sim.Access, change func(int64, []byte)) {
	if m.t.ghosts {
		return
	}
	m.checkWritten(a)
	m.markWritten(a)
	if !m.shared(a) {
		m.Sequential.Update(a, change)
		return
	}
	e := m.t.access(update, a)
	if m.weak(a.Mem) {
		m.prepare(a.Mem) // before the value changes
	}
	m.Sequential.Update(a, change)
	if m.weak(a.Mem) {
		now := make([]byte, a.Bytes())
		m.Sequential.Read(a, now)
		m.send(a, &message{by: e, ranges: slices.Clone(a.Ranges), data: now, atomic: true})
	}
}

func gather(from []byte, rs []sim.Range, dst []byte) {
	at := int64(0)
	for _, r := range rs {
		copy(dst[at:at+r.Len], from[r.Off:])
		at += r.Len
	}
}

func scatter(to []byte, rs []sim.Range, src []byte) {
	at := int64(0)
	for _, r := range rs {
		copy(to[r.Off:r.Off+r.Len], src[at:])
		at += r.Len
	}
}

func (m *memory) prepare(a *sim.Alloc) *shadow {
	s := m.shadow[a]
	if s == nil {
		n := len(m.t.ranks)
		s = &shadow{base: slices.Clone(a.Data), view: make([][]byte, n), pending: make([][]*message, n)}
		m.shadow[a] = s
	}
	return s
}

// seen is what a rank sees of an allocation, after everything that it must see has arrived.
func (m *memory) seen(a *sim.Alloc, r int) []byte {
	s := m.prepare(a)
	if s.view[r] == nil {
		s.view[r] = slices.Clone(s.base)
	}
	m.deliver(s, r)
	return s.view[r]
}

// send writes to the writer's own copy and to everybody else as a message.
func (m *memory) send(a *sim.Access, msg *message) {
	own := m.seen(a.Mem, a.Device)
	s := m.shadow[a.Mem]
	if msg.atomic {
		// It has seen all atomic updates before it.
		m.applyAll(s, a.Device, func(p *message) bool { return p.atomic })
	}
	scatter(own, msg.ranges, msg.data)
	for r := range s.pending {
		if r != a.Device {
			s.pending[r] = append(s.pending[r], msg)
		}
	}
}

// deliver applies the messages that rank r must see, and those that the policy lets it see.
func (m *memory) deliver(s *shadow, r int) {
	clock := m.t.knows(r)
	must := func(p *message) bool { return int(clock.of(p.by.strand)) > p.by.done }
	switch {
	case len(s.pending[r]) == 0:
	case m.policy == OnWait:
		last := m.t.state[r].cur.numbered().lastAcq
		m.applyAll(s, r, func(p *message) bool { return must(p) || last != nil && p.by.seq < last.seq })
	case m.policy == Random:
		m.applyAll(s, r, func(p *message) bool { return must(p) || m.rng.IntN(4) == 0 })
	default:
		m.applyAll(s, r, must)
	}
}

// applyAll applies the pending messages that are chosen, and those that come before them.
func (m *memory) applyAll(s *shadow, r int, chosen func(*message) bool) {
	var now, later []*message
	ps := s.pending[r]
	take := make([]bool, len(ps))
	for i := len(ps) - 1; i >= 0; i-- {
		take[i] = chosen(ps[i])
		for j := i + 1; j < len(ps) && !take[i]; j++ {
			take[i] = take[j] && overlap(ps[i].ranges, ps[j].ranges) && (before(ps[i].by, ps[j].by) || ps[i].atomic && ps[j].atomic)
		}
	}
	for i, p := range ps {
		if take[i] {
			now = append(now, p)
		} else {
			later = append(later, p)
		}
	}
	if len(now) == 0 {
		return
	}
	if m.policy == Random {
		m.shuffle(now)
	}
	if s.view[r] == nil {
		s.view[r] = slices.Clone(s.base)
	}
	for _, p := range now {
		scatter(s.view[r], p.ranges, p.data)
	}
	s.pending[r] = later
}

// shuffle changes the order of writes to the same bytes that nothing orders.
func (m *memory) shuffle(ps []*message) {
	if len(ps) > 64 { // only programs that race can tell
		return
	}
	for range len(ps) {
		i := m.rng.IntN(len(ps))
		for i+1 < len(ps) && m.rng.IntN(2) == 0 {
			a, b := ps[i], ps[i+1]
			if overlap(a.ranges, b.ranges) && (a.by.rank == b.by.rank || before(a.by, b.by) || a.atomic && b.atomic) {
				break
			}
			ps[i], ps[i+1] = b, a
			i++
		}
	}
}

func overlap(as, bs []sim.Range) bool {
	for _, a := range as {
		for _, b := range bs {
			if a.Off < b.Off+b.Len && b.Off < a.Off+a.Len {
				return true
			}
		}
	}
	return false
}

func (m *memory) Fence(r int, _ *ir.Op) {
	if !m.t.ghosts {
		m.t.fenced(r)
	}
}

// Cells.

func (m *memory) Notify(r int, c sim.Cell, op *ir.Op, value int32, set bool) {
	e := m.t.notified(r, c, op, value, set)
	switch {
	case m.t.ghosts:
	case c.Mem.Device != r && m.delays(c):
		m.mail = append(m.mail, e)
	default:
		m.arrive(e)
	}
}

// delays reports whether a notify of a cell takes its time. Only who reads the cell, or waits for one
// value, can tell.
func (m *memory) delays(c sim.Cell) bool {
	if m.held != nil {
		return m.held(c)
	}
	return m.policy == Adversarial || m.policy == Random
}

func (m *memory) arrive(e *event) {
	m.reads = 0
	m.Sequential.Notify(e.rank, e.cell, e.op, e.value, e.set)
}

// deliverMail lets the notifies arrive that are chosen, in their order for each cell and sender.
func (m *memory) deliverMail(chosen func(*event) bool) bool {
	any := false
	rest := m.mail[:0]
	var kept []*event
	for _, e := range m.mail {
		behind := slices.ContainsFunc(kept, func(k *event) bool { return k.cell == e.cell && before(k, e) })
		if !behind && chosen(e) {
			m.arrive(e)
			any = true
			continue
		}
		kept = append(kept, e)
		rest = append(rest, e)
	}
	m.mail = rest
	return any
}

// heads are the notifies under way that may arrive next.
func (m *memory) heads() []*event {
	var out []*event
	for i, e := range m.mail {
		if !slices.ContainsFunc(m.mail[:i], func(k *event) bool { return k.cell == e.cell && before(k, e) }) {
			out = append(out, e)
		}
	}
	return out
}

// forced lets arrive what rank r knows to have happened, in cells that are chosen.
func (m *memory) forced(r int, chosen func(sim.Cell) bool) {
	clock := m.t.knows(r)
	var last map[sim.Cell]*event
	for _, e := range m.mail {
		if int(clock.of(e.strand)) > e.tick && chosen(e.cell) {
			if last == nil {
				last = map[sim.Cell]*event{}
			}
			last[e.cell] = e
		}
	}
	if last == nil {
		return
	}
	m.deliverMail(func(e *event) bool {
		l := last[e.cell]
		return l != nil && (e == l || int(clock.of(e.strand)) > e.tick || before(e, l))
	})
}

func (m *memory) Acquire(b sim.Blocked) {
	m.t.waited(b)
	if !m.t.ghosts {
		m.forced(b.Device, func(c sim.Cell) bool { return c.Mem.Device == b.Device })
	}
}

func (m *memory) Peek(c sim.Cell) int32 {
	if m.held == nil && m.policy == Random && len(m.mail) > 0 {
		m.deliverMail(func(e *event) bool { return e.cell == c && m.rng.IntN(4) == 0 })
	}
	return m.Sequential.Peek(c)
}

// stuck lets something arrive if that is what all ranks wait for.
func (m *memory) stuck() bool {
	switch {
	case len(m.mail) == 0 || m.t.ghosts:
		return false
	case m.policy == Random && m.held == nil:
		first := m.mail[m.rng.IntN(len(m.mail))]
		return m.deliverMail(func(e *event) bool { return e == first }) || m.deliverMail(func(*event) bool { return true })
	}
	return m.deliverMail(func(*event) bool { return true })
}

// patience is how often cells are read in vain before what is under way arrives: nothing is for ever.
const patience = 200

// readCells puts the values of cells into what was read.
func (m *memory) readCells(a *sim.Access, dst []byte) {
	at := int64(0)
	for _, r := range a.Ranges {
		for off := r.Off &^ 3; off < r.Off+r.Len; off += 4 {
			c := sim.Cell{Mem: a.Mem, Off: off}
			_, known := m.t.cells[c]
			known = known || m.held != nil && m.held(c)
			if !known || off < r.Off || off+4 > r.Off+r.Len {
				continue
			}
			if m.reads++; m.held == nil && m.reads > patience {
				m.deliverMail(func(*event) bool { return true })
			}
			if a.Mem.Device != a.Device {
				m.forced(a.Device, func(x sim.Cell) bool { return x == c })
			}
			v := uint32(m.Peek(c))
			m.t.inBlocks = m.t.inBlocks || m.t.state[a.Device].cur.block != nil
			m.t.state[a.Device].hist = mix(m.t.state[a.Device].hist, mix(cellHash(c), uint64(v)+9))
			binary.LittleEndian.PutUint32(dst[at+off-r.Off:], v)
		}
		at += r.Len
	}
}

// checkWritten reports a read of memory that nobody wrote.
func (m *memory) checkWritten(a *sim.Access) {
	b := m.undefinedBits(a.Mem)
	if b == nil {
		return
	}
	for _, r := range a.Ranges {
		if !b.all(r) {
			s := &m.t.state[a.Device]
			m.fault(unwritten{a.Device, a.Op, s.path, a.Mem, r})
			b.set(r) // once
			return
		}
	}
}

func (m *memory) markWritten(a *sim.Access) {
	if b := m.undefinedBits(a.Mem); b != nil {
		for _, r := range a.Ranges {
			b.set(r)
		}
	}
}

func (m *memory) undefinedBits(a *sim.Alloc) *bits {
	if a.Device >= 0 {
		return nil
	}
	return m.undefined[a.ID]
}

// bits says which bytes were written.
type bits struct{ w []uint64 }

func newBits(n int) *bits { return &bits{make([]uint64, (n+63)/64)} }

func (b *bits) all(r sim.Range) bool {
	for i := r.Off; i < r.Off+r.Len; i++ {
		if b.w[i>>6]>>(i&63)&1 == 0 {
			return false
		}
	}
	return true
}

func (b *bits) set(r sim.Range) {
	for i := r.Off; i < r.Off+r.Len; i++ {
		b.w[i>>6] |= 1 << (i & 63)
	}
}
