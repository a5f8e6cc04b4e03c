package dynamic

import "slices"

// What must have happened before what, whatever the schedule.
//
// A wait returns when its cell holds enough credits. A notify must have come before it if, without that
// notify and everything that needs it, the cell could not have held enough: only from such notifies does
// the wait acquire. That is less than what the run itself saw, where more credits may have been there by
// chance. Since which notifies may come before a wait depends on the order, settle repeats until
// nothing is added.

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
			a.took = nil
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

// advance adds to a wait's clock what follows from the others'; true if it grew. What is in the clock
// already is not required again.
func (t *trace) advance(w *event) bool {
	old := slices.Clone(w.clock)
	if p := t.prior(w); p != nil {
		join(w.clock, p.clock)
	}
	for _, n := range t.required(w) {
		w.took = append(w.took, n)
		if n.acq != nil {
			join(w.clock, n.acq.clock)
		}
		w.clock[n.rank] = max(w.clock[n.rank], int32(n.pos+1))
	}
	return !slices.Equal(old, w.clock)
}

func join(c, d []int32) {
	for i, x := range d {
		c[i] = max(c[i], x)
	}
}

// required are the last notifies of each rank that must have happened before w returns.
func (t *trace) required(w *event) []*event {
	if t.isSet[w.cell] {
		return t.requiredSet(w)
	}
	base := int64(0)
	var open []*event // may have happened
	for _, n := range t.cells[w.cell] {
		switch {
		case n.rank == w.rank && n.pos < w.pos || n.rank != w.rank && int(w.clock[n.rank]) > n.pos:
			base += int64(n.value)
		case n.rank == w.rank || before(w, n) || n.value <= 0:
			// Credits taken back count only where that must have happened.
		default:
			open = append(open, n)
		}
	}
	want := int64(w.value)
	if base >= want || len(open) == 0 {
		return nil
	}
	var out []*event
	for r := range t.ranks {
		var mine []*event
		for _, n := range open {
			if n.rank == r {
				mine = append(mine, n)
			}
		}
		// The later the notify that is missing, the more is there: find the last that is needed.
		k, _ := slices.BinarySearchFunc(mine, true, func(n *event, _ bool) int {
			if base+without(open, n) < want {
				return -1
			}
			return 1
		})
		if k > 0 {
			out = append(out, mine[k-1])
		}
	}
	return out
}

// without is the sum of what may be there if n has not happened.
func without(open []*event, n *event) int64 {
	total := int64(0)
	for _, c := range open {
		if c != n && !before(n, c) {
			total += int64(c.value)
		}
	}
	return total
}

// requiredSet: in a cell that is set, the oldest value that satisfies w must have been written. The
// writes are taken in the order of the run, which is theirs in every run if they are ordered.
func (t *trace) requiredSet(w *event) []*event {
	value := int64(0)
	oldest := func() (*event, bool) { return nil, accepts(w, value) }
	found, ok := oldest()
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
	return []*event{found}
}

func accepts(w *event, v int64) bool {
	if w.eq {
		return v == int64(w.value)
	}
	return v >= int64(w.value)
}
