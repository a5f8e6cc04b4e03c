package verify

import (
	"fmt"
	"maps"
	"slices"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// orderLayer proves that all conflicting accesses are ordered, and that what is written to a peer is
// released.
type orderLayer struct{}

func (orderLayer) Name() string { return "order" }

func (orderLayer) Check(p *Program, s Scope) Verdict {
	r := p.run(s)
	if r.gaveUp != "" {
		return Verdict{Reason: r.gaveUp}
	}
	return r.order().verdict()
}

// verdict is computed once: the values layer asks for it again.
func (o *order) verdict() Verdict {
	if !o.judged {
		o.judged = true
		o.answer = o.judge()
	}
	return o.answer
}

func (o *order) judge() Verdict {
	r := o.r
	o.unreleased()
	o.flights()
	complete := o.races()
	v := Verdict{Findings: o.findings}
	switch {
	case hasErrors(v.Findings):
		v.Status = Counterexample
	case !complete:
		v.Reason = "there are too many accesses to compare them all"
	case len(r.stuck) > 0:
		v.Reason = "the program hangs before its end"
	case r.scheduleDependent() != "":
		v.Reason = r.scheduleDependent()
	default:
		v.Status = Proved
		v.Reason = "for every schedule: the traces do not depend on it"
	}
	return v
}

func hasErrors(fs []Finding) bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Severity == diag.Error })
}

// scheduleDependent says why the traces of one schedule may not stand for all; "" if they do.
func (r *run) scheduleDependent() string {
	o := r.order()
	for _, rk := range r.ranks {
		for _, a := range rk.trace {
			if a.kind == actAccess && !a.acc.write && o.readsCell(a) {
				return fmt.Sprintf("a signal cell is read as a value (%s), so that what follows depends on the schedule", a.op.Span)
			}
		}
	}
	return ""
}

// readsCell reports whether a reads a cell while a notify of it may be under way.
func (o *order) readsCell(a *action) bool {
	if a.acc.mem.kind != windowMemory {
		return false
	}
	for c, ns := range o.writes {
		if c.mem != a.acc.mem || c.device != a.acc.device {
			continue
		}
		if _, hit := a.acc.overlaps(access{mem: c.mem, device: c.device, spans: []span{{c.off, c.off + 4}}}); !hit {
			continue
		}
		for _, n := range ns {
			if o.unordered(n, a) {
				return true
			}
		}
	}
	return false
}

type copyOf struct {
	mem    *memory
	device int
}

type opPair struct {
	a, b  *ir.Op
	ranks bool // two; false: blocks of one
}

// maxPairs bounds the comparisons of one memory.
const maxPairs = 40_000_000

// races reports every pair of places in the program that access the same bytes without an order; false
// if there were too many to compare.
func (o *order) races() bool {
	groups := map[copyOf][]*action{}
	var keys []copyOf
	for _, rk := range o.r.ranks {
		for _, a := range rk.trace {
			if a.kind != actAccess || a.ghost {
				continue
			}
			k := copyOf{a.acc.mem, a.acc.device}
			if groups[k] == nil {
				keys = append(keys, k)
			}
			groups[k] = append(groups[k], a)
		}
	}
	seen := map[opPair]bool{}
	complete := true
	for _, k := range keys {
		as := merged(groups[k])
		if len(as)*len(as)/2 > maxPairs {
			complete = false
			continue
		}
		o.racesIn(as, seen)
	}
	return complete
}

// merged joins accesses of one op that nothing can tell apart: the same rank, between the same
// synchronisations, the same kind.
func merged(as []*action) []*action {
	if len(as) < 500 {
		return as
	}
	var out []*action
	for _, a := range as {
		if n := len(out); n > 0 {
			if b := out[n-1]; b.strand == a.strand && b.op == a.op && b.acq == a.acq && b.acc.write == a.acc.write && b.era == a.era &&
				len(b.acc.spans) > 0 && len(a.acc.spans) > 0 && b.acc.spans[len(b.acc.spans)-1].hi <= a.acc.spans[0].lo {
				joined := *b
				joined.acc.spans = append(slices.Clone(b.acc.spans), a.acc.spans...)
				out[n-1] = &joined
				continue
			}
		}
		out = append(out, a)
	}
	return out
}

func (o *order) racesIn(as []*action, seen map[opPair]bool) {
	hull := func(a *action) (int64, int64) { return a.acc.spans[0].lo, a.acc.spans[len(a.acc.spans)-1].hi }
	slices.SortStableFunc(as, func(a, b *action) int {
		x, _ := hull(a)
		y, _ := hull(b)
		return int(x - y)
	})
	for i, a := range as {
		_, end := hull(a)
		for _, b := range as[i+1:] {
			if lo, _ := hull(b); lo >= end {
				break
			}
			if a.strand == b.strand || !a.acc.conflicts(b.acc) {
				continue
			}
			at, hit := a.acc.overlaps(b.acc)
			ranks := a.rank != b.rank
			if !hit || !o.unordered(a, b) || seen[opPair{a.op, b.op, ranks}] || seen[opPair{b.op, a.op, ranks}] {
				continue
			}
			seen[opPair{a.op, b.op, ranks}] = true
			o.race(a, b, at)
		}
	}
}

// race reports two accesses: at the read if there is one, else at the one that came later.
func (o *order) race(a, b *action, at span) {
	if a.acc.write && (!b.acc.write || b.seq > a.seq) {
		a, b = b, a
	}
	if x, y := apart(a, b); x != nil {
		o.blocks(a, b, x, y, at)
		return
	}
	verb := "reads"
	if a.acc.write {
		verb = "writes"
	}
	whose := ""
	if a.remote() {
		whose = fmt.Sprintf("rank %d's ", a.acc.device)
	}
	may := "may still be writing it"
	switch {
	case !b.acc.write:
		may = "may still be reading it"
	case b.seq > a.seq:
		may = "may already be writing it"
	}
	f := o.find(diag.DataRace, a, "rank %d %s %s%s while rank %d %s", a.rank, verb, whose, a.acc.mem.spanName(at), b.rank, may)
	does := "writes"
	if !b.acc.write {
		does = "reads"
	}
	f.Note(b.span(), "rank %d %s it here%s", b.rank, does, b.when(o.r))
	first, second := a, b
	if a.seq > b.seq {
		first, second = b, a
	}
	f.Note(source.Span{}, "nothing orders them: %s", o.lastHeard(second, first))
	f.Help("whoever comes second must wait for a notify that the other sends after its access: a barrier between the two does that")
	f.Timeline = o.timeline(first, second)
}

// lastHeard says what the second rank knows of the first one.
func (o *order) lastHeard(b, a *action) string {
	whom := fmt.Sprintf("rank %d%s", a.rank, a.blk.inBlock())
	if b.acq == nil || b.acq.clock[a.strand] == 0 {
		return fmt.Sprintf("rank %d has not heard from %s", b.rank, whom)
	}
	known := b.acq.clock[a.strand]
	w := b.acq
	for p := w.prior(); p != nil && p.clock[a.strand] == known; p = p.prior() {
		w = p
	}
	return fmt.Sprintf("rank %d last heard from %s when it %s (line %d)", b.rank, whom, w.past(), w.op.Span.Pos().Line)
}

func (a *action) past() string {
	switch a.kind {
	case actCollective:
		return "called " + a.op.Kind.Name
	case actJoin:
		return "had come to the end of all blocks"
	}
	return fmt.Sprintf("waited for %s %s", a.cell.name(), a.condition())
}

// condition is ">= 2".
func (a *action) condition() string {
	how := ">="
	if a.eq {
		how = "=="
	}
	return fmt.Sprintf("%s %d", how, a.value)
}

// unreleased reports writes to a peer that no notify of the same kernel follows.
func (o *order) unreleased() {
	for _, rk := range o.r.ranks {
		pending := map[unreleasedKey]*action{}
		var keys []unreleasedKey
		for _, a := range rk.trace {
			switch {
			case a.ghost:
			case a.kind == actAccess && a.acc.write && a.remote():
				k := unreleasedKey{a.op, a.strand}
				if pending[k] == nil {
					keys = append(keys, k)
				}
				pending[k] = a
			case a.kind == actNotify && a.cell.device != a.rank, a.kind == actCollective, a.kind == actStart:
				maps.DeleteFunc(pending, func(_ unreleasedKey, w *action) bool { return o.before(w, a) }) // not what blocks beside it wrote
			case a.kind == actEnd:
				for _, k := range keys {
					if w := pending[k]; w != nil {
						o.unreleasedWrite(w)
						delete(pending, k)
					}
				}
			}
		}
	}
}

func (o *order) unreleasedWrite(w *action) {
	if w.blk == nil {
		o.find(diag.SignalBeforeData, w, "rank %d writes rank %d's %s after the last notify of its kernel", w.rank, w.acc.device, w.acc.mem.name).
			Help("write first and notify afterwards: a notify releases what its kernel did before it")
		return
	}
	name := BlockName(w.blk.loop)
	o.find(diag.SignalBeforeData, w, "rank %d%s writes rank %d's %s, and no notify of that %s, or behind the loop, follows", w.rank, w.blk.inBlock(),
		w.acc.device, w.acc.mem.name, name).
		Note(source.Span{}, "a notify of another %s releases what that one did, and what came before the loop", name).
		Help("notify in each %s, or behind the loop", name)
}

// unreleasedKey tells writes apart that one notify may release and not the other.
type unreleasedKey struct {
	op     *ir.Op
	strand int
}

// find adds a finding at an action; a second one of the same code at the same op is dropped.
func (o *order) find(code diag.Code, a *action, format string, args ...any) *Finding {
	f := Finding{Diagnostic: diag.New(code, a.span(), format, args...), Layer: "order", Scope: o.r.scope}
	for c := a.path; c != nil; c = c.up {
		if c.op.Span != a.op.Span {
			f.Note(c.op.Span, "in this call")
		}
	}
	if o.found == nil {
		o.found = map[faultKey]bool{}
	}
	if o.found[faultKey{a.op, code}] {
		return &f
	}
	o.found[faultKey{a.op, code}] = true
	o.findings = append(o.findings, f)
	return &o.findings[len(o.findings)-1]
}

// timeline lists the synchronisation of two ranks up to two of their actions, and these.
func (o *order) timeline(a, b *action) []Event {
	const keep = 12 // per rank
	var out []*action
	for _, x := range []*action{a, b} {
		var part []*action
		for _, y := range o.r.ranks[x.rank].trace[:x.pos+1] {
			if !y.ghost && (y == x || y.kind == actNotify && y.cell.device != y.rank || y.kind == actWait || y.kind == actCollective) {
				part = append(part, y)
			}
		}
		out = append(out, part[max(0, len(part)-keep):]...)
	}
	slices.SortStableFunc(out, func(x, y *action) int { return x.seq - y.seq })
	return o.events(out)
}

// events turns actions into timeline entries, with arrows from the notifies that waits needed.
func (o *order) events(as []*action) []Event {
	out := make([]Event, len(as))
	for i, a := range as {
		out[i] = a.event(a.pos)
		if a.kind == actWait && !o.r.isStuck(a) {
			for _, n := range o.required(a) {
				out[i].From = append(out[i].From, [2]int{n.rank, n.pos})
			}
		}
		if o.r.isStuck(a) {
			out[i].Kind = "blocked"
		}
	}
	return out
}
