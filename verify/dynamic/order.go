package dynamic

import "slices"

// What must have happened before what, whatever the schedule.
//
// A wait returns when its cell holds enough credits. An event must have come before it if, without that
// event and all notifies that can only come after it, the cell could not have held enough: only that does
// the wait acquire. It is less than what the run itself saw, where more credits may have been there by
// chance; and it may be more than what single notifies give: where a wait needs one of two notifies, it
// acquires what comes before both. Since which notifies may come before a wait depends on the order,
// settle repeats until nothing is added. Sets of a cell must be ordered with its other writes, else that is
// reported.

// before reports whether a must happen before b.
func before(a, b *event) bool {
	switch {
	case a.strand == b.strand:
		return a.tick < b.tick && !a.flies(b)
	case b.acq == nil:
		return false
	case a.rank == b.rank:
		return int(b.acq.clock.of(a.strand)) > a.tick && !a.flies(b)
	}
	return int(b.acq.clock.of(a.strand)) > a.done
}

// flies reports whether a is a put that may not have landed when its rank accesses memory in b.
func (a *event) flies(b *event) bool { return a.put && b.mem != nil && !a.landed(b) }

// prior is the last acquire that a's strand knew of just before a.
func (a *event) prior() *event {
	if a.prev == nil {
		return nil
	}
	return a.prev.acq
}

// settle computes the order anew, with all notifies of the run.
func (t *trace) settle() {
	for _, a := range t.order {
		if a.acquires() {
			clear(a.clock)
			a.clock[a.strand] = int32(a.tick + 1)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, a := range t.order {
			if a.acquires() && t.ctx.Err() == nil && t.advance(a) {
				changed = true
			}
		}
	}
}

// acquires: its clock follows from what others know. Of a meeting all is known at once.
func (a *event) acquires() bool { return a.kind == wait || a.kind == fork || a.kind == join }

// advance adds to an acquire's clock what follows from the others'; true if it grew.
func (t *trace) advance(a *event) (grew bool) {
	if p := a.prior(); p != nil {
		grew = a.clock.join(p.clock)
	}
	switch {
	case a.kind == join:
		for _, k := range a.of.kids {
			if e := k.last; k.id >= 0 {
				grew = a.clock.join(e.acq.clock) || grew
				grew = a.clock.raise(e.strand, int32(e.tick+1)) || grew
			}
		}
	case a.kind == fork:
	case t.isSet[a.cell]:
		grew = t.requiredOfSets(a) || grew
	default:
		grew = t.required(a) || grew
	}
	return grew
}

// knows is how many events of strand q must have happened when n has.
func (n *event) knows(q int) int32 {
	switch {
	case n.strand == q:
		return int32(n.tick + 1)
	case n.acq == nil:
		return 0
	}
	return n.acq.clock.of(q)
}

// required adds to the clock of a wait, for each strand, the longest beginning of its trace without the end of
// which the cell could not hold enough; for a wait for one value, without which it would hold too much, as well.
func (t *trace) required(w *event) (grew bool) {
	grew = t.requiredBy(w, 1)
	return w.eq && t.requiredBy(w, -1) || grew
}

// requiredBy looks at what raises the cell (sign 1) or lowers it (-1).
func (t *trace) requiredBy(w *event, sign int64) (grew bool) {
	base := int64(0)  // what has been there before the wait begins
	var open []*event // may have happened
	prior := w.prior()
	for _, n := range t.cells[w.cell] {
		switch {
		case n.strand == w.strand && n.tick < w.tick || n.strand != w.strand && prior != nil && int(prior.clock.of(n.strand)) > n.tick:
			base += int64(n.value)
		case n.strand == w.strand || before(w, n) || sign*int64(n.value) <= 0:
			// What goes the other way counts only where that must have happened.
		default:
			open = append(open, n)
		}
	}
	missing := sign * (int64(w.value) - base)
	if missing <= 0 {
		return false
	}
	for q := range w.clock {
		if q != w.strand {
			grew = w.clock.raise(q, longest(open, q, sign, missing)) || grew
		}
	}
	return grew
}

// longest is the largest k such that the notifies that can happen before q's k-th event give less than
// what is missing.
func longest(open []*event, q int, sign, missing int64) int32 {
	ks := make([]int32, len(open))
	for i, n := range open {
		ks[i] = n.knows(q)
	}
	slices.Sort(ks)
	ks = slices.Compact(ks)
	best := int32(0)
	for lo, hi := 0, len(ks); lo < hi; {
		mid := (lo + hi) / 2
		total := int64(0)
		for _, n := range open {
			if n.knows(q) < ks[mid] {
				total += sign * int64(n.value)
			}
		}
		if total < missing {
			best, lo = ks[mid], mid+1
		} else {
			hi = mid
		}
	}
	return best
}

// took are the last notifies of each strand that a wait needed.
func (t *trace) took(w *event) []*event {
	var out []*event
	for _, n := range slices.Backward(t.cells[w.cell]) {
		taken := slices.ContainsFunc(out, func(o *event) bool { return o.strand == n.strand })
		own := n.rank == w.rank && w.prev != nil && before(n, w.prev)
		if n.strand != w.strand && !own && !taken && int(w.clock.of(n.strand)) > n.tick {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *event) int { return a.strand - b.strand })
	return out
}

// requiredOfSets is required for a cell that is set: without the end of a trace, no set that may have been the last
// one, with the adds that may have come after it, could have given what the wait expects.
func (t *trace) requiredOfSets(w *event) (grew bool) {
	vs := t.values(w)
	for q := range w.clock {
		if q == w.strand {
			continue
		}
		var ks []int32
		for _, n := range vs.live {
			if k := n.knows(q); k > w.clock[q] {
				ks = append(ks, k)
			}
		}
		slices.Sort(ks)
		ks = slices.Compact(ks)
		for _, k := range slices.Backward(ks) {
			if !vs.accept(func(n *event) bool { return n.knows(q) >= k }) {
				grew = w.clock.raise(q, k) || grew
				break
			}
		}
	}
	return grew
}

// values are what a cell that is set can hold when a wait looks, whatever the schedule.
type values struct {
	w     *event
	live  []*event // writes that can have happened, and that no set which must have happened has overwritten
	fresh bool     // nothing has set the cell for certain: the zero of its window may still be there
}

func (t *trace) values(w *event) *values {
	v := &values{w: w, fresh: true}
	var must []*event // sets that have happened
	for _, n := range t.cells[w.cell] {
		if n.set && mustPrecede(n, w) {
			must, v.fresh = append(must, n), false
		}
	}
	for _, n := range t.cells[w.cell] {
		over := slices.ContainsFunc(must, func(s *event) bool { return before(n, s) })
		if !over && !before(w, n) {
			v.live = append(v.live, n)
		}
	}
	return v
}

// mustPrecede is before, also while w's own clock is being computed.
func mustPrecede(n, w *event) bool {
	return n.strand == w.strand && n.tick < w.tick || n.strand != w.strand && int(w.clock.of(n.strand)) > n.tick
}

// accept reports whether the cell can hold what the wait expects where what is missing has not happened.
func (v *values) accept(missing func(*event) bool) bool {
	if v.fresh && v.from(nil, missing) {
		return true
	}
	for _, s := range v.live {
		if s.set && !missing(s) && v.from(s, missing) {
			return true
		}
	}
	return false
}

// from is accept where s (nil: no set) was the last set.
func (v *values) from(s *event, missing func(*event) bool) bool {
	least, most := int64(0), int64(0)
	if s != nil {
		least, most = int64(s.value), int64(s.value)
	}
	for _, n := range v.live {
		if n.set || missing(n) || s != nil && before(n, s) || v.needsLaterSet(n, s) {
			continue
		}
		must := (s == nil || before(s, n)) && mustPrecede(n, v.w)
		if must || n.value > 0 {
			most += int64(n.value)
		}
		if must || n.value < 0 {
			least += int64(n.value)
		}
	}
	want := int64(v.w.value)
	return most >= want && (!v.w.eq || least <= want)
}

// needsLaterSet reports whether an add can come only after a set that comes after s.
func (v *values) needsLaterSet(n, s *event) bool {
	return slices.ContainsFunc(v.live, func(x *event) bool { return x.set && x != s && before(x, n) && (s == nil || before(s, x)) })
}

func accepts(w *event, v int64) bool {
	if w.eq {
		return v == int64(w.value)
	}
	return v >= int64(w.value)
}
