package dynamic

import (
	"slices"

	"ptoc/ir"
	"ptoc/runtime/sim"
)

// Races, as FastTrack finds them: for each interval of bytes, the last write and who has read it or
// updated it since. An access is compared with these few only; an order with them implies an order with
// all that came before.

// race is a pair of accesses to the same bytes that nothing orders.
type race struct {
	a, b *event // in the order of the run
	at   sim.Range
}

// span is an interval [lo, hi) with one history.
type span struct {
	lo, hi  int64
	write   *event
	readers []*event // none is before another
	updates []*event
}

// lastOf keeps the events that are not before others. The slice is shared between intervals: it is never changed.
func lastOf(list []*event, e *event) []*event {
	out := make([]*event, 0, len(list)+1)
	for _, x := range list {
		// What comes after a put that has landed comes after the puts of its strand before it.
		if x != e && !before(x, e) && !(x.strand == e.strand && e.put) {
			out = append(out, x)
		}
	}
	return append(out, e)
}

type detector struct {
	spans map[*sim.Alloc][]span // sorted, disjoint
	seen  map[pair]bool
	races []race
}

type pair struct {
	a, b  opAt
	ranks bool // two; false: blocks of one
}

type opAt struct {
	op   any
	kind kind
}

// races finds the races of a run. The order must be settled.
func (t *trace) races() []race {
	d := &detector{spans: map[*sim.Alloc][]span{}, seen: map[pair]bool{}}
	for _, e := range t.merged() {
		if e.mem != nil && !e.ghost && t.ctx.Err() == nil {
			d.access(e)
		}
	}
	return d.races
}

// merged are the events of all ranks in the order of the run.
func (t *trace) merged() []*event {
	n := 0
	for _, r := range t.ranks {
		n += len(r)
	}
	out := make([]*event, 0, n)
	at := make([]int, len(t.ranks))
	for len(out) < n {
		best := -1
		for r := range t.ranks {
			if at[r] < len(t.ranks[r]) && (best < 0 || t.ranks[r][at[r]].seq < t.ranks[best][at[best]].seq) {
				best = r
			}
		}
		out = append(out, t.ranks[best][at[best]])
		at[best]++
	}
	return out
}

func (d *detector) access(e *event) {
	for _, r := range normal(e.ranges) {
		d.touch(e, r)
	}
}

// normal sorts ranges and joins those that meet.
func normal(rs []sim.Range) []sim.Range {
	if len(rs) < 2 {
		return rs
	}
	sorted := slices.Clone(rs)
	slices.SortFunc(sorted, func(a, b sim.Range) int { return int(a.Off - b.Off) })
	out := sorted[:1]
	for _, r := range sorted[1:] {
		l := &out[len(out)-1]
		if r.Off <= l.Off+l.Len {
			l.Len = max(l.Len, r.Off+r.Len-l.Off)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// touch compares e with the history of r's bytes and becomes part of it.
func (d *detector) touch(e *event, r sim.Range) {
	list := d.spans[e.mem]
	lo, hi := r.Off, r.Off+r.Len
	if lo == hi {
		return
	}
	first, _ := slices.BinarySearchFunc(list, lo, func(s span, at int64) int {
		if s.hi <= at {
			return -1
		}
		return 1
	})
	var mid []span
	last := first
	at := lo
	for ; last < len(list) && list[last].lo < hi; last++ {
		s := list[last]
		if s.lo > at {
			mid = append(mid, d.next(span{lo: at, hi: s.lo}, e))
		}
		if s.lo < lo {
			left := s
			left.hi = lo
			mid = append(mid, left)
			s.lo = lo
		}
		right := s
		s.hi = min(s.hi, hi)
		mid = append(mid, d.next(s, e))
		if right.hi > hi {
			right.lo = hi
			mid = append(mid, right)
		}
		at = s.hi
	}
	if at < hi {
		mid = append(mid, d.next(span{lo: at, hi: hi}, e))
	}
	d.spans[e.mem] = slices.Replace(list, first, last, joined(mid)...)
}

// joined joins neighbours with the same history: a window read chunk by chunk and written whole.
func joined(list []span) []span {
	out := list[:0]
	for _, s := range list {
		if n := len(out); n > 0 && out[n-1].hi == s.lo && out[n-1].write == s.write && slices.Equal(out[n-1].readers, s.readers) && slices.Equal(out[n-1].updates, s.updates) {
			out[n-1].hi = s.hi
			continue
		}
		out = append(out, s)
	}
	return out
}

// next is the history of an interval after e.
func (d *detector) next(s span, e *event) span {
	if s.write != nil {
		d.compare(s.write, e, s)
	}
	switch e.kind {
	case read:
		d.compareAll(s.updates, e, s)
		s.readers = lastOf(s.readers, e)
	case update:
		d.compareAll(s.readers, e, s)
		for _, x := range s.updates {
			if added(x.op) != added(e.op) { // adds of one element type commute
				d.compare(x, e, s)
			}
		}
		s.updates = lastOf(s.updates, e)
	default:
		d.compareAll(s.readers, e, s)
		d.compareAll(s.updates, e, s)
		s.write, s.readers, s.updates = e, nil, nil
	}
	return s
}

func (d *detector) compareAll(list []*event, e *event, s span) {
	for _, x := range list {
		d.compare(x, e, s)
	}
}

func (d *detector) compare(a, e *event, s span) {
	if a == e || before(a, e) || before(e, a) {
		return
	}
	p := pair{opAt{a.op, a.kind}, opAt{e.op, e.kind}, a.rank != e.rank}
	if d.seen[p] || d.seen[pair{p.b, p.a, p.ranks}] {
		return
	}
	d.seen[p] = true
	d.races = append(d.races, race{a, e, sim.Range{Off: s.lo, Len: s.hi - s.lo}})
}

// added is the element type in which an atomic update adds.
func added(op *ir.Op) ir.DType {
	for _, e := range op.Kind.Effects {
		if e.Atomic != "" {
			return ir.DTypeOf(op.Val(e.Mem).Type)
		}
	}
	return ir.NoDType
}
