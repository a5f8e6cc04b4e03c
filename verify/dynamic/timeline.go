package dynamic

import (
	"fmt"
	"slices"

	"ptoc/runtime/sim"
	"ptoc/verify"
)

// Timelines: what stands beside a finding, or beside a replayed run.

// text describes an event for a timeline.
func (e *event) text() string {
	switch e.kind {
	case begin:
		return "starts a kernel"
	case end:
		return "ends a kernel"
	case meet:
		return "the host has waited for all ranks"
	case fork:
		return "begins the blocks of a loop"
	case join:
		return "has come to the end of all blocks"
	case notify:
		how, v := "+=", e.value
		if e.set {
			how = "="
		} else if v < 0 {
			how, v = "-=", -v
		}
		where := " here"
		if e.cell.Mem.Device != e.rank {
			where = fmt.Sprintf(" on rank %d", e.cell.Mem.Device)
		}
		return fmt.Sprintf("%s %s %d%s", elementName(e.cell.Mem, e.cell.Off), how, v, where)
	case wait:
		return "waits for " + e.condition()
	}
	does, _ := verb(e.kind)
	if e.remote() {
		does += fmt.Sprintf(" rank %d's", e.mem.Device)
	}
	r := sim.Range{}
	if len(e.ranges) > 0 {
		n := normal(e.ranges)
		r = sim.Range{Off: n[0].Off, Len: n[len(n)-1].Off + n[len(n)-1].Len - n[0].Off}
	}
	return does + " " + rangeName(e.mem, r)
}

var kindNames = [...]string{"start", "end", "notify", "wait", "read", "write", "write", "meet", "fork", "join"}

func (t *trace) event(e *event) verify.Event {
	v := verify.Event{Rank: e.rank, Step: e.pos, Kind: kindNames[e.kind], Text: e.text() + inBlock(e.block)}
	if e.op != nil {
		v.At = e.op.Span
	}
	switch {
	case e.kind != wait:
	case slices.Contains(t.stuck, e):
		v.Kind = "blocked"
	default:
		for _, n := range t.took(e) {
			v.From = append(v.From, [2]int{n.rank, n.pos})
		}
	}
	return v
}

// sync reports whether an event stands in every timeline.
func (e *event) sync() bool { return e.kind == notify || e.kind == wait || e.kind == meet }

// timeline lists the synchronisation of two ranks up to two of their events, and these.
func (t *trace) timeline(a, b *event) []verify.Event {
	const keep = 12 // a rank
	var out []*event
	for _, x := range []*event{a, b} {
		var part []*event
		for _, y := range t.ranks[x.rank][:x.pos+1] {
			if y == x || y.sync() && y != a && y != b && !(y.kind == notify && y.cell.Mem.Device == y.rank) {
				part = append(part, y)
			}
		}
		out = append(out, part[max(0, len(part)-keep):]...)
		if a.rank == b.rank {
			break
		}
	}
	if a.rank == b.rank && !slices.Contains(out, b) {
		out = append(out, b)
	}
	return t.events(out)
}

// lastSteps are the last synchronisations of every rank.
func (t *trace) lastSteps() []verify.Event {
	var out []*event
	for _, rk := range t.ranks {
		var part []*event
		for _, e := range rk {
			if !e.ghost && (e.kind == notify || e.kind == wait) {
				part = append(part, e)
			}
		}
		out = append(out, part[max(0, len(part)-6):]...)
	}
	return t.events(out)
}

// whole is the timeline of a run: all synchronisation, and accesses to windows.
func (t *trace) whole() []verify.Event {
	var out []*event
	for _, e := range t.merged() {
		if !e.ghost && (e.sync() || e.mem != nil && e.mem.Window || e.kind == begin || e.kind == end) {
			out = append(out, e)
		}
	}
	return t.events(out)
}

func (t *trace) events(es []*event) []verify.Event {
	slices.SortStableFunc(es, func(a, b *event) int { return a.seq - b.seq })
	out := make([]verify.Event, len(es))
	for i, e := range es {
		out[i] = t.event(e)
	}
	return out
}
