package verify

import (
	"math"
	"slices"
)

// Happens-before, for every schedule at once.
//
// A rank's trace does not depend on the schedule as long as nothing races: control flow and operands are
// functions of the inputs. So what can differ is only which notifies have arrived when a wait returns. A
// notify N *must* have happened before a wait W returns if, without N and everything that N itself
// must precede, the cell could not have reached what W expects. These are the edges of the order; program
// order gives the others. Since which notifies may precede W depends on the order, it is computed
// again until nothing is added. The result is a lower bound: two actions that it orders are ordered in
// every execution.
//
// For a cell that is only added to this is arithmetic. For a cell that is set, it is arithmetic from each set that
// may have been the last one. Sets must be ordered with every other write of their cell, else that is reported.

// order is the happens-before relation over the traces of a run.
type order struct {
	r      *run
	writes map[cell][]*action // the notifies of each cell, in the executor's order
	waits  map[cell][]*action
	isSet  map[cell]bool // cells that some notify sets
	all    []*action     // notifies, waits and collectives in the executor's order
	joins  []*action     // what acquires: waits, collectives, forks and joins of blocks, in the executor's order

	findings []Finding
	found    map[faultKey]bool
	answer   Verdict
	judged   bool
}

// clock says how many actions of each strand must have happened.
type clock []int32

func (r *run) order() *order {
	if r.ord != nil {
		return r.ord
	}
	o := &order{r: r, writes: map[cell][]*action{}, waits: map[cell][]*action{}, isSet: map[cell]bool{}}
	r.ord = o
	for _, rk := range r.ranks {
		o.index(rk)
	}
	slices.SortFunc(o.all, func(a, b *action) int { return a.seq - b.seq })
	slices.SortFunc(o.joins, func(a, b *action) int { return a.seq - b.seq })
	for _, a := range o.all {
		switch a.kind {
		case actNotify:
			o.writes[a.cell] = append(o.writes[a.cell], a)
			o.isSet[a.cell] = o.isSet[a.cell] || a.set
		case actWait:
			o.waits[a.cell] = append(o.waits[a.cell], a)
		}
	}
	for _, w := range r.stuck {
		if w.kind == actWait {
			o.waits[w.cell] = append(o.waits[w.cell], w)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, a := range o.joins {
			changed = o.advance(a) || changed
		}
	}
	return o
}

// index gives actions their positions and links them to the last acquire before them.
func (o *order) index(rk *rankState) {
	era := 0
	for i, a := range rk.trace {
		a.pos, a.era = i, era
		if a.ghost {
			continue
		}
		if a.prev != nil {
			a.acq = a.prev.acq
		}
		switch a.kind {
		case actWait, actCollective, actFork, actJoin:
			if o.r.isStuck(a) {
				continue // it never returns
			}
			a.acq = a
			a.clock = make(clock, len(o.r.ticks))
			o.joins = append(o.joins, a)
			if a.kind == actWait || a.kind == actCollective {
				o.all = append(o.all, a)
			}
		case actNotify:
			era++
			o.all = append(o.all, a)
		}
	}
}

func (r *run) isStuck(a *action) bool { return slices.Contains(r.stuck, a) }

// before reports whether a must happen before b.
func (o *order) before(a, b *action) bool {
	if a.strand == b.strand {
		return a.tick < b.tick
	}
	return b.acq != nil && int(b.acq.clock[a.strand]) > a.tick
}

// unordered reports whether a and b may happen in either order, or at once.
func (o *order) unordered(a, b *action) bool { return !o.before(a, b) && !o.before(b, a) }

// prior is the last acquire that a's strand knew of just before a.
func (a *action) prior() *action {
	if a.prev == nil {
		return nil
	}
	return a.prev.acq
}

// advance computes an acquire's clock again; true if it grew.
func (o *order) advance(a *action) bool {
	if a.clock == nil {
		return false
	}
	next := slices.Clone(a.clock)
	if p := a.prior(); p != nil {
		next.join(p.clock)
	}
	next[a.strand] = int32(a.tick + 1)
	switch a.kind {
	case actFork:
	case actJoin:
		for _, e := range a.ends {
			next.join(e.acq.clock)
			next[e.strand] = max(next[e.strand], int32(e.tick+1))
		}
	case actCollective:
		for _, b := range a.meet.arrived {
			if b != a {
				o.acquire(next, b)
			}
		}
	default:
		for _, n := range o.required(a) {
			o.acquire(next, n)
		}
		o.whicheverCame(next, a)
	}
	if slices.Equal(next, a.clock) {
		return false
	}
	a.clock = next
	return true
}

// acquire makes c include n and everything that n released.
func (o *order) acquire(c clock, n *action) {
	if p := n.prior(); p != nil {
		c.join(p.clock)
	}
	c[n.strand] = max(c[n.strand], int32(n.tick+1))
}

// whicheverCame adds what must have happened before a wait although it could have taken its credits from
// different notifies: an event, if all notifies that do not need it are too few.
func (o *order) whicheverCame(c clock, w *action) {
	if o.isSet[w.cell] && w.eq {
		return
	}
	cands := o.candidates(w)
	if oneSender(cands, w.strand) || !w.eq && o.most(w, cands, nothing) <= w.value {
		return // the first ones are required, or all of them
	}
	for k := range c {
		if k == w.strand {
			continue
		}
		for _, n := range cands {
			if p := o.needs(n, k); p > c[k] && o.falseWithout(w, cands, func(m *action) bool { return o.needs(m, k) >= p }) {
				c[k] = p
			}
		}
	}
}

// oneSender reports whether no more than one strand but the owner wrote a cell.
func oneSender(ns []*action, owner int) bool {
	sender := owner
	for _, n := range ns {
		if n.strand != owner && sender != owner && n.strand != sender {
			return false
		}
		if n.strand != owner {
			sender = n.strand
		}
	}
	return true
}

// needs is how many actions of strand k must have happened when n has.
func (o *order) needs(n *action, k int) int32 {
	if n.strand == k {
		return int32(n.tick + 1)
	}
	if p := n.prior(); p != nil {
		return p.clock[k]
	}
	return 0
}

func (c clock) join(d clock) {
	for i := range c {
		c[i] = max(c[i], d[i])
	}
}

// required are the notifies of other strands that must have happened before w returns.
func (o *order) required(w *action) []*action {
	if o.isSet[w.cell] && w.eq {
		return o.requiredLevel(w)
	}
	var out []*action
	cands := o.candidates(w)
	got := map[int]bool{} // a strand's later notifies imply its earlier ones
	for i := len(cands) - 1; i >= 0; i-- {
		n := cands[i]
		if n.strand == w.strand || n.value == 0 || n.value < 0 && !w.eq || got[n.strand] || n.rank == w.rank && w.prev != nil && o.before(n, w.prev) {
			continue
		}
		if o.falseWithout(w, cands, func(c *action) bool { return c == n || o.before(n, c) }) {
			out = append(out, n)
			got[n.strand] = true
		}
	}
	return out
}

// candidates are the notifies of w's cell that can happen before w returns.
func (o *order) candidates(w *action) []*action {
	var out []*action
	for _, n := range o.writes[w.cell] {
		if !o.before(w, n) {
			out = append(out, n)
		}
	}
	return out
}

// falseWithout reports whether w cannot return if what the function names has not happened: its cell holds too little, or, where
// it waits for one value of a cell that is only added to, too much.
func (o *order) falseWithout(w *action, cands []*action, missing func(*action) bool) bool {
	return o.most(w, cands, missing) < w.value || w.eq && !o.isSet[w.cell] && o.least(w, cands, missing) > w.value
}

// most is the most that w's cell can hold when w looks, if what the function names has not happened. Credits
// that are taken back count only where that must have happened.
func (o *order) most(w *action, cands []*action, missing func(*action) bool) int64 {
	if o.isSet[w.cell] {
		return o.mostOfSets(w, cands, missing)
	}
	total := int64(0)
	for _, c := range cands {
		if (c.value > 0 || o.before(c, w)) && !missing(c) {
			total += c.value
		}
	}
	return total
}

// least is the least that w's cell, which is only added to, can hold when w looks.
func (o *order) least(w *action, cands []*action, missing func(*action) bool) int64 {
	total := int64(0)
	for _, c := range cands {
		if (c.value < 0 || o.before(c, w)) && !missing(c) {
			total += c.value
		}
	}
	return total
}

func nothing(*action) bool { return false }

// mostOfSets is most of a cell that is set: the set that came last, whichever that can be, and the adds that
// can have come after it.
func (o *order) mostOfSets(w *action, cands []*action, missing func(*action) bool) int64 {
	var live []*action // what no set that must have happened has overwritten
	last := []*action{nil}
	for _, c := range cands {
		if c.set && o.before(c, w) {
			last = last[:0] // not what the cell held at first
		}
	}
	for _, c := range cands {
		if !missing(c) && !slices.ContainsFunc(cands, func(s *action) bool { return s.set && o.before(s, w) && o.before(c, s) }) {
			live = append(live, c)
			if c.set {
				last = append(last, c)
			}
		}
	}
	most := int64(math.MinInt64)
	for _, s := range last {
		total := int64(0)
		if s != nil {
			total = s.value
		}
		for _, c := range live {
			switch {
			case c.set, s != nil && o.before(c, s):
			case c.value > 0, o.before(c, w) && (s == nil || o.before(s, c)):
				total += c.value
			}
		}
		most = max(most, total)
	}
	return most
}

// A level is a value that a cell which is set holds for a while: after write by (nil: at first).
type level struct {
	by    *action
	value int64
}

// levels are the values that w may find in its cell, oldest first. The writes are taken in the executor's
// order, which is theirs in every schedule if they are ordered.
func (o *order) levels(w *action) []level {
	out := []level{{nil, 0}}
	v := int64(0)
	for _, n := range o.writes[w.cell] {
		if n.set {
			v = n.value
		} else {
			v += n.value
		}
		switch {
		case o.before(w, n):
			return out
		case o.before(n, w):
			out = out[:0] // what was there before is overwritten
		}
		out = append(out, level{n, v})
	}
	return out
}

func (a *action) accepts(v int64) bool {
	if a.eq {
		return v == a.value
	}
	return v >= a.value
}

// requiredLevel is for waits for one value of a cell that is set: the oldest value that satisfies w must have
// been written.
func (o *order) requiredLevel(w *action) []*action {
	for _, l := range o.levels(w) {
		if w.accepts(l.value) {
			if l.by == nil || l.by.strand == w.strand {
				return nil
			}
			return []*action{l.by}
		}
	}
	return nil
}
