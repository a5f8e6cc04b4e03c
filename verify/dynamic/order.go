package dynamic

import "slices"

// What must have happened before what, whatever the schedule.
//
// A wait returns when its cell holds enough credits. An event must have come before it if, without that
// event and all notifies that can only come after it, the cell could not have held enough: only that does
// the wait acquire. It is less than what the run itself saw, where more credits may have been there by
// chance; and it may be more than what single notifies give: where a wait needs one of two notifies, it
// acquires what comes before both. Since which notifies may come before a wait depends on the order,
// settle repeats until nothing is added.

// before reports whether a must happen before b.
func before(a, b *event) bool {
	if a.rank == b.rank {
		if a.put && b.kind >= read {
			return a.landed <= b.pos
		}
		return a.pos < b.pos
	}
	return b.acq != nil && int(b.acq.clock[a.rank]) > a.done
}

// prior is what a knew just before it happened.
func (t *trace) prior(a *event) *event {
	if a.pos == 0 {
		return nil
	}
	return t.ranks[a.rank][a.pos-1].acq
}

// settle computes the order anew, with all notifies of the run.
func (t *trace) settle() {
	for _, a := range t.order {
		if a.kind == wait {
			clear(a.clock)
			a.clock[a.rank] = int32(a.pos + 1)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, a := range t.order {
			if a.kind == wait && t.advance(a) {
				changed = true
			}
		}
	}
}

// advance adds to a wait's clock what follows from the others'; true if it grew.
func (t *trace) advance(w *event) bool {
	old := slices.Clone(w.clock)
	if p := t.prior(w); p != nil {
		join(w.clock, p.clock)
	}
	if t.isSet[w.cell] {
		if n := t.requiredSet(w); n != nil {
			if n.acq != nil {
				join(w.clock, n.acq.clock)
			}
			w.clock[n.rank] = max(w.clock[n.rank], int32(n.pos+1))
		}
	} else {
		t.required(w)
	}
	return !slices.Equal(old, w.clock)
}

func join(c, d []int32) {
	for i, x := range d {
		c[i] = max(c[i], x)
	}
}

// knows is how many events of rank q must have happened when n has.
func (n *event) knows(q int) int32 {
	switch {
	case n.rank == q:
		return int32(n.pos + 1)
	case n.acq == nil:
		return 0
	}
	return n.acq.clock[q]
}

// required adds to the clock of a wait, for each rank, the longest beginning of its trace without the end of
// which the cell could not hold enough.
func (t *trace) required(w *event) {
	base := int64(0)  // what has been there before the wait begins
	var open []*event // may have happened
	prior := t.prior(w)
	for _, n := range t.cells[w.cell] {
		switch {
		case n.rank == w.rank && n.pos < w.pos || n.rank != w.rank && prior != nil && int(prior.clock[n.rank]) > n.pos:
			base += int64(n.value)
		case n.rank == w.rank || before(w, n) || n.value <= 0:
			// Credits taken back count only where that must have happened.
		default:
			open = append(open, n)
		}
	}
	missing := int64(w.value) - base
	if missing <= 0 {
		return
	}
	for q := range t.ranks {
		if q != w.rank {
			w.clock[q] = max(w.clock[q], longest(open, q, missing))
		}
	}
}

// longest is the largest k such that the notifies that can happen before q's k-th event give less than
// what is missing.
func longest(open []*event, q int, missing int64) int32 {
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
				total += int64(n.value)
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

// took are the last notifies of each rank that a wait needed.
func (t *trace) took(w *event) []*event {
	var out []*event
	for r := range t.ranks {
		var last *event
		for _, n := range t.cells[w.cell] {
			if n.rank == r && r != w.rank && int(w.clock[r]) > n.pos {
				last = n
			}
		}
		if last != nil {
			out = append(out, last)
		}
	}
	return out
}

// requiredSet: in a cell that is set, the oldest value that satisfies w must have been written. The
// writes are taken in the order of the run, which is theirs in every run if they are ordered.
func (t *trace) requiredSet(w *event) *event {
	value := int64(0)
	found, ok := (*event)(nil), accepts(w, value)
	for _, n := range t.cells[w.cell] {
		if before(w, n) {
			break
		}
		if n.set {
			value = int64(n.value)
		} else {
			value += int64(n.value)
		}
		must := n.rank == w.rank && n.pos < w.pos || n.rank != w.rank && int(w.clock[n.rank]) > n.pos
		if must || !ok { // what was there before is overwritten
			found, ok = n, accepts(w, value)
		}
	}
	if !ok || found == nil || found.rank == w.rank {
		return nil
	}
	return found
}

func accepts(w *event, v int64) bool {
	if w.eq {
		return v == int64(w.value)
	}
	return v >= int64(w.value)
}
