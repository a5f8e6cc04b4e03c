package dynamic

import (
	"context"
	"fmt"
	"slices"

	"ptoc/runtime/sim"
	"ptoc/verify"
)

// All schedules that differ in something that can be observed.
//
// A program without races computes the same in every order of its data accesses, so only notifies,
// waits and reads of cells are ordered in different ways. Most cells are calm: they are only added to, only
// their owner takes credits back, and waits ask for "at least". What is done to a calm cell commutes with
// everything that other ranks can do, and never disables anything: it needs no alternatives (it is a
// persistent set of one step). If all cells are calm, one schedule stands for all.
//
// The others are wild: they are read as values, waited for by equality, set while somebody looks, or
// taken from by others. For these each notify is two steps, since it may be under way for a while, and
// every order of arrivals, reads and waits is followed. A run is repeated from the start for each alternative,
// and ends when it reaches a state that was seen before: same history of each rank (what it did, read and
// acquired), same cells, same notifies under way.

// Bounds of one exploration. One that is reached is said.
const (
	maxRuns      = 50_000
	maxDecisions = 20_000 // in one run: a program that polls a cell has runs without an end
)

// cellID names a cell in every run of a program.
type cellID struct {
	device, alloc int
	off           int64
}

func idOf(c sim.Cell) cellID { return cellID{c.Mem.Device, c.Mem.ID, c.Off} }

func (c cellID) compare(d cellID) int {
	for _, x := range [...]int64{int64(c.device - d.device), int64(c.alloc - d.alloc), c.off - d.off} {
		if x != 0 {
			return int(x)
		}
	}
	return 0
}

// exploration is what all schedules together showed.
type exploration struct {
	complete bool
	why      string // it is not complete
	states   int
	runs     int
	wild     map[cellID]string // why
	events   int               // of the one run, if it stands for all
	findings []verify.Finding
	visit    func(*outcome) // for tests: every complete run
	err      string
}

type explorer struct {
	*exploration
	p    *verify.Program
	s    verify.Scope
	in   Inputs
	seen map[uint64]bool
	work [][]byte
	ctx  context.Context
}

// explore runs the program in every schedule that matters.
func explore(p *verify.Program, s verify.Scope, in Inputs, visit func(*outcome)) *exploration {
	ctx, cancel := p.Limit()
	defer cancel()
	x := &explorer{exploration: &exploration{wild: map[cellID]string{}, visit: visit}, p: p, s: s, in: in, ctx: ctx}
	for x.round() {
	}
	return x.exploration
}

// round explores with the wild cells that are known; true if it found more of them.
func (x *explorer) round() bool {
	x.seen, x.work, x.complete = map[uint64]bool{}, [][]byte{nil}, true
	x.findings = nil
	known, leaves := len(x.wild), 0
	for len(x.work) > 0 {
		prefix := x.work[len(x.work)-1]
		x.work = x.work[:len(x.work)-1]
		o, st := x.run(prefix)
		if x.late() {
			return false
		}
		if st.endless {
			x.complete, x.why = false, fmt.Sprintf("the bound of %d steps on wild cells in one run is reached", maxDecisions)
			return false
		}
		if st.cut {
			continue
		}
		if o.err != nil && o.fail == nil {
			x.complete, x.err = false, o.text()
			return false
		}
		for c, why := range o.t.wild() {
			if x.wild[c] == "" {
				x.wild[c] = why
			}
		}
		if len(x.wild) > known {
			return true
		}
		leaves++
		x.leaf(o, st)
		if x.late() {
			return false
		}
		if hasErrors(x.findings) {
			return false
		}
		if known > 0 && o.t.inBlocks {
			x.complete, x.why = false, "blocks notify or wait in any order, of which only one is explored,"
			return false
		}
		if x.exhausted() {
			return false
		}
	}
	if leaves == 0 { // never, unless states are told apart wrongly: nothing was looked at
		x.complete, x.why = false, "no run came to its end"
	}
	return false
}

// exhausted reports whether a bound is reached.
func (x *explorer) exhausted() bool {
	switch {
	case len(x.work) == 0:
		return false
	case x.runs >= maxRuns:
		x.why = fmt.Sprintf("the bound of %d runs is reached", maxRuns)
	default:
		return false
	}
	x.complete = false
	return true
}

// late reports whether time is over: what the last run showed may be half of it.
func (x *explorer) late() bool {
	if x.ctx.Err() != nil && !hasErrors(x.findings) {
		x.complete, x.why = false, x.p.Ended()
		return true
	}
	return false
}

// leaf looks at a run that came to an end.
func (x *explorer) leaf(o *outcome, st *steering) {
	if x.visit != nil {
		x.visit(o)
	}
	k := token{explore: true, repeats: max(x.s.Repeats, 1), syms: x.s.Syms, choices: st.chosen, wild: x.wildList()}
	r := &report{o: o, module: x.p.Lowered, scope: x.s, layer: "schedules", replay: k.String()}
	r.all()
	if x.ctx.Err() != nil {
		return
	}
	x.findings = merge(x.findings, r.findings)
	if !hasErrors(r.findings) && len(o.t.stuck) == 0 {
		for _, f := range wrong(x.p, x.s, o, "schedules") {
			f.Replay = r.replay
			x.findings = merge(x.findings, []verify.Finding{f})
		}
	}
	x.events = 0
	for _, e := range o.t.order {
		if e.kind == notify || e.kind == wait {
			x.events++
		}
	}
}

func (x *explorer) wildList() []cellID {
	var out []cellID
	for c := range x.wild {
		out = append(out, c)
	}
	slices.SortFunc(out, cellID.compare)
	return out
}

// run is one run that begins with the given choices.
func (x *explorer) run(prefix []byte) (*outcome, *steering) {
	x.runs++
	st := &steering{prefix: prefix, pending: make([]bool, x.s.Ranks), wild: map[cellID]bool{}}
	for c := range x.wild {
		st.wild[c] = true
	}
	st.visit = func(key uint64) bool {
		if x.seen[key] {
			return false
		}
		x.seen[key] = true
		x.states++
		return true
	}
	st.branch = func(chosen []byte, n int) {
		for c := n - 1; c > 0; c-- {
			x.work = append(x.work, append(slices.Clone(chosen), byte(c)))
		}
	}
	return st.execute(x.ctx, x.p, x.s, x.in), st
}

// steering leads a run: through the choices of its prefix, and then by the first of each.
type steering struct {
	prefix  []byte
	chosen  []byte
	pending []bool // ranks that are about to touch a wild cell
	wild    map[cellID]bool
	visit   func(key uint64) bool // false: this state was seen before
	branch  func(chosen []byte, n int)
	m       *memory
	cut     bool
	endless bool
	steps   int
}

func (st *steering) execute(ctx context.Context, p *verify.Program, s verify.Scope, in Inputs) *outcome {
	pl := plan{ctx: ctx, policy: Eager, sched: st, point: st.point, held: func(c sim.Cell) bool { return st.wild[idOf(c)] }}
	pl.begin = func(m *memory) { st.m = m }
	pl.stuck = st.stuck
	return execute(p.Lowered, p.Entry, s, in, pl)
}

// point stops a rank before it touches a wild cell. A notify to another rank only sets out here.
func (st *steering) point(p sim.Point) bool {
	stop := false
	switch {
	case p.Mem != nil:
		for c := range st.wild {
			stop = stop || c.device == p.Mem.Device && c.alloc == p.Mem.ID
		}
	default:
		isWait := p.Cell.Mem.Device == p.Device // or a rank's notify of its own cell
		stop = isWait && st.wild[idOf(p.Cell)]
	}
	st.pending[p.Device] = stop
	return stop
}

func (st *steering) Pick(runnable []int, _ int) int {
	for _, r := range runnable {
		if !st.pending[r] {
			return r
		}
	}
	heads := st.m.heads()
	c := st.choose(len(runnable) + len(heads))
	switch {
	case c < 0:
		return sim.Halt
	case c < len(runnable):
		r := runnable[c]
		st.pending[r] = false
		st.m.t.state[r].hist = mix(st.m.t.state[r].hist, 13) // it gets on, even if it reads no wild cell
		return r
	}
	st.arrives(heads[c-len(runnable)])
	return sim.Again
}

func (st *steering) arrives(e *event) {
	st.m.deliverMail(func(x *event) bool { return x == e })
}

// stuck is asked when all ranks wait: something under way may help.
func (st *steering) stuck(m *memory) unstuck {
	heads := m.heads()
	if len(heads) == 0 {
		return stuckForEver
	}
	c := st.choose(len(heads))
	if c < 0 {
		return halted
	}
	st.arrives(heads[c])
	return goesOn
}

// choose takes one of n steps; -1 ends the run.
func (st *steering) choose(n int) int {
	if st.steps++; st.steps > maxDecisions {
		st.cut, st.endless = true, true
		return -1
	}
	if len(st.chosen) >= len(st.prefix) && st.visit != nil && !st.visit(st.key()) {
		st.cut = true
		return -1
	}
	if n == 1 {
		return 0
	}
	c := 0
	if i := len(st.chosen); i < len(st.prefix) {
		c = min(int(st.prefix[i]), n-1)
	} else if st.branch != nil {
		st.branch(st.chosen, min(n, 255))
	}
	st.chosen = append(st.chosen, byte(c))
	return c
}

// key identifies a state.
func (st *steering) key() uint64 {
	m := st.m
	h := uint64(1)
	for r := range m.t.state {
		h = mix(h, m.t.state[r].hist)
		if st.pending[r] {
			h = mix(h, 7)
		}
	}
	cells := make([]uint64, 0, len(st.wild))
	for c := range m.t.cells {
		if st.wild[idOf(c)] {
			cells = append(cells, mix(cellHash(c), uint64(uint32(m.Sequential.Peek(c)))))
		}
	}
	for _, e := range m.mail {
		cells = append(cells, mix(mix(cellHash(e.cell), e.hist), 3))
	}
	slices.Sort(cells)
	for _, c := range cells {
		h = mix(h, c)
	}
	return h
}

func mix(h, x uint64) uint64 {
	h = (h ^ x) * 0x9E3779B97F4A7C15
	h ^= h >> 29
	return h * 0xBF58476D1CE4E5B9
}

func cellHash(c sim.Cell) uint64 {
	return mix(mix(uint64(c.Mem.Device)+11, uint64(c.Mem.ID)), uint64(c.Off))
}

type scheduleLayer struct{ in Inputs }

func (scheduleLayer) Name() string { return "schedules" }

func (l scheduleLayer) Check(p *verify.Program, s verify.Scope) verify.Verdict {
	x := explored(p, s, l.in)
	v := verify.Verdict{States: x.states, Findings: x.findings}
	switch {
	case x.err != "":
		v.Reason = x.err
	case hasErrors(x.findings):
		v.Status = verify.Counterexample
	case !x.complete:
		v.Reason = fmt.Sprintf("%s after %s", x.why, plural(x.states, "state"))
		if len(x.wild) > 0 {
			v.Reason += "; " + x.reasons()
		}
	case len(x.wild) == 0:
		v.Status, v.States = verify.Proved, x.events+1
		v.Reason = fmt.Sprintf("one schedule stands for all: its %s commute with all that others can do", plural(x.events, "step"))
	default:
		v.Status = verify.Proved
		v.Reason = fmt.Sprintf("all schedules, in %s; %s", plural(x.runs, "run"), x.reasons())
	}
	if v.Status == verify.Proved {
		v.Given = given(p, l.in)
	}
	return v
}

// reasons says why there is more than one schedule.
func (x *exploration) reasons() string {
	seen := map[string]bool{}
	var out []string
	for _, why := range x.wild {
		if !seen[why] {
			seen[why] = true
			out = append(out, why)
		}
	}
	slices.Sort(out)
	if len(out) > 2 {
		out = append(out[:2], fmt.Sprintf("and %d more", len(out)-2))
	}
	return list(out)
}

// explored keeps the last exploration: the memory layer asks for it as well.
func explored(p *verify.Program, s verify.Scope, in Inputs) *exploration {
	if last.p != p || last.scope != s.String() {
		last.p, last.scope, last.x = p, s.String(), explore(p, s, in, nil)
	}
	return last.x
}

var last struct {
	p     *verify.Program
	scope string
	x     *exploration
}
