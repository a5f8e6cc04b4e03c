package verify

import (
	"fmt"
	"math"
	"slices"

	"ptoc/ir"
	"ptoc/lang/diag"
)

// signalLayer checks the discipline of every signal cell: who writes it and how, whether each wait gets
// its credits, from the notifies that it is meant for, and what is left at the end.
type signalLayer struct{}

func (signalLayer) Name() string { return "signals" }

func (signalLayer) Check(p *Program, s Scope) Verdict {
	r := p.run(s)
	if r.gaveUp != "" {
		return Verdict{Reason: r.gaveUp}
	}
	if len(r.stuck) > 0 && p.divergent(s) {
		return Verdict{Reason: "not all ranks call the same collectives"}
	}
	o := r.order()
	d := &discipline{o: o, r: r}
	d.check(func(c cell) { d.left(p, s, c) })
	v := Verdict{Findings: d.findings}
	switch {
	case hasErrors(v.Findings):
		v.Status = Counterexample
	case d.unsure != "":
		v.Reason = d.unsure
	default:
		v.Status = Proved
		v.Reason = fmt.Sprintf("%s, %s", plural(len(o.all), "event"), plural(len(d.cells()), "cell"))
	}
	return v
}

// check looks at everything; atEnd at what a cell holds when all is over.
func (d *discipline) check(atEnd func(cell)) {
	for _, c := range d.cells() {
		d.fits(c)
		d.setters(c)
		d.equality(c)
		d.stale(c)
		atEnd(c)
	}
	d.asData()
	if !hasErrors(d.findings) {
		d.hangs() // otherwise a hang is only what such a fault may lead to
	}
}

// divergent reports whether ranks call different collectives: then they hang in the library.
func (p *Program) divergent(s Scope) bool {
	if fs, _ := Uniformity(p.Source); len(fs) > 0 {
		return true
	}
	r := p.calls(s)
	return slices.ContainsFunc(r.faults, func(f Finding) bool { return f.Code == diag.CollectiveMismatch }) ||
		slices.ContainsFunc(r.stuck, func(a *action) bool { return a.kind == actCollective })
}

type discipline struct {
	o        *order
	r        *run
	findings []Finding
	seen     map[faultKey]bool
	unsure   string
	list     []cell
}

func (d *discipline) cells() []cell {
	if d.list == nil {
		seen := map[cell]bool{}
		for _, a := range d.o.all {
			if a.kind != actCollective && !seen[a.cell] {
				seen[a.cell] = true
				d.list = append(d.list, a.cell)
			}
		}
	}
	return d.list
}

func (d *discipline) find(code diag.Code, a *action, format string, args ...any) *Finding {
	f := Finding{Diagnostic: diag.New(code, a.span(), format, args...), Layer: "signals", Scope: d.r.scope}
	for c := a.path; c != nil; c = c.up {
		if c.op.Span != a.op.Span {
			f.Note(c.op.Span, "in this call")
		}
	}
	if d.seen == nil {
		d.seen = map[faultKey]bool{}
	}
	if d.seen[faultKey{a.op, code}] {
		return &f
	}
	d.seen[faultKey{a.op, code}] = true
	d.findings = append(d.findings, f)
	return &d.findings[len(d.findings)-1]
}

// fits: a cell has 32 bits, and what is said of it holds for whole numbers.
func (d *discipline) fits(c cell) {
	set, added, taken := int64(0), int64(0), int64(0)
	for _, n := range d.o.writes[c] {
		switch {
		case n.set:
			set = max(set, n.value, -n.value)
		case n.value > 0:
			added += n.value
		default:
			taken -= n.value
		}
	}
	if n := d.o.writes[c]; set+max(added, taken) > math.MaxInt32 && d.unsure == "" {
		d.unsure = fmt.Sprintf("%s of rank %d may come to hold more than an INT32 (%s)", c.name(), c.device, n[0].op.Span)
	}
}

// setters: a set must be ordered with every other write of its cell.
func (d *discipline) setters(c cell) {
	ws := d.o.writes[c]
	if !d.o.isSet[c] {
		d.takers(c)
		return
	}
	for i, a := range ws {
		for _, b := range ws[i+1:] {
			if !a.set && !b.set || !d.o.unordered(a, b) {
				continue
			}
			set, other := a, b
			if !set.set {
				set, other = b, a
			}
			who, whom := other.who(set), set.who(other)
			if other.set {
				d.find(diag.SeveralSetters, other, "%s sets %s of rank %d, which %s may be setting at the same time", who, c.name(), c.device, whom).
					Note(set.span(), "%s sets it here%s", whom, set.when(d.r)).
					Help("give each its own cell, or add instead of setting: op=pld.NotifyOp.AtomicAdd")
			} else {
				d.find(diag.SetAndAdd, set, "%s sets %s of rank %d, to which %s may be adding at the same time", whom, c.name(), c.device, who).
					Note(other.span(), "%s adds here%s", who, other.when(d.r)).
					Help("take back what was added with an atomic add of the negative value: it cannot lose a credit")
			}
		}
	}
}

// takers: only the owner may take credits back, while it does not wait, or waits may miss them.
func (d *discipline) takers(c cell) {
	for _, n := range d.o.writes[c] {
		if n.value >= 0 {
			continue
		}
		for _, w := range d.o.waits[c] {
			if d.o.unordered(n, w) && !d.falls(w) && d.unsure == "" {
				d.unsure = fmt.Sprintf("%s takes credits from a cell of rank %d while %s may be waiting for them (%s)", n.who(w), c.device, w.who(n), n.op.Span)
			}
		}
	}
}

// equality: a wait for one value must find it whenever it looks.
func (d *discipline) equality(c cell) {
	for _, w := range d.o.waits[c] {
		if d.o.isSet[c] {
			if !d.r.isStuck(w) {
				d.missedLevel(c, w)
			}
			continue
		}
		if !w.eq {
			continue
		}
		cands := d.o.candidates(w)
		if most := d.o.most(w, cands, nothing); most > w.value && !d.falls(w) {
			f := d.find(diag.EqualityWait, w, "%s of rank %d can reach %d before rank %d sees %d", c.name(), c.device, most, c.device, w.value)
			d.noteWriters(f, cands, w)
			f.Help("wait for at least the value: cmp=pld.WaitCmp.Ge")
		}
	}
}

// falls reports whether a wait for one value finds it in the end because others take credits from its cell, down to this value
// and no further: that a buffer is empty, say. Nobody adds meanwhile.
func (d *discipline) falls(w *action) bool {
	cands := d.o.candidates(w)
	adds := func(n *action) bool { return n.value > 0 && !d.o.before(n, w) }
	return w.eq && d.o.least(w, cands, nothing) >= w.value && !slices.ContainsFunc(cands, adds)
}

// missedLevel: in a cell that is set, the last value that may stand there must satisfy the wait.
func (d *discipline) missedLevel(c cell, w *action) {
	ls := d.o.levels(w)
	last := ls[len(ls)-1]
	if w.accepts(last.value) {
		return
	}
	for i, l := range ls {
		if w.accepts(l.value) && i < len(ls)-1 {
			code := diag.SeveralSetters
			if w.eq {
				code = diag.EqualityWait
			}
			d.find(code, w, "%s of rank %d may be %d again before rank %d sees %d", c.name(), c.device, last.value, c.device, w.value).
				Note(last.by.span(), "rank %d writes it here", last.by.rank)
			return
		}
	}
}

// runsOn reports whether the program is still right if it runs once more on what it has left.
func (p *Program) runsOn(s Scope) bool {
	s.Repeats++
	r := p.run(s)
	if r.gaveUp != "" {
		return false
	}
	d := &discipline{o: r.order(), r: r}
	d.check(func(cell) {})
	return !hasErrors(d.findings) && d.unsure == "" && (orderLayer{}).Check(p, s).Status == Proved
}

func (d *discipline) noteWriters(f *Finding, ns []*action, w *action) {
	said := map[*ir.Op]bool{}
	for _, n := range ns {
		if n.rank != w.rank && !said[n.op] && len(said) < 3 {
			said[n.op] = true
			f.Note(n.span(), "rank %d adds %d here%s", n.rank, n.value, n.when(d.r))
		}
	}
}

// stale: a wait that asks for no more than an earlier one did, with nothing taken back in between,
// while notifies come that no wait needs: the wait was meant for one of those.
func (d *discipline) stale(c cell) {
	surplus := d.surplus(c)
	if surplus == nil {
		return
	}
	var earlier *action
	taken := false
	for _, a := range d.r.ranks[c.device].trace {
		switch {
		case a.ghost || a.cell != c:
		case a.kind == actNotify:
			taken = taken || a.value < 0 || a.set
		case a.kind == actWait:
			if earlier != nil && !taken && a.value > 0 && a.value <= earlier.value && !a.eq && d.o.before(earlier, a) && !d.o.before(surplus, earlier) {
				d.reportStale(a, earlier, surplus)
				return
			}
			if earlier == nil || taken || a.value > earlier.value {
				earlier, taken = a, false
			}
		}
	}
}

// surplus is a notify from another rank that no wait of the cell needs; nil if there is none.
func (d *discipline) surplus(c cell) *action {
	needed := map[*action]bool{}
	for _, w := range d.o.waits[c] {
		for _, n := range d.o.required(w) {
			for _, m := range d.o.writes[c] {
				if m == n || m.strand == n.strand && m.tick < n.tick {
					needed[m] = true
				}
			}
		}
	}
	for _, n := range d.o.writes[c] {
		if n.rank != c.device && n.value > 0 && !needed[n] && !d.tellsNoMore(n, needed) {
			return n
		}
	}
	return nil
}

// tellsNoMore reports whether a needed notify releases all that n does: its rank did nothing but notify in between.
func (d *discipline) tellsNoMore(n *action, needed map[*action]bool) bool {
	for p := n.prev; p != nil && p.kind == actNotify; p = p.prev {
		if needed[p] {
			return true
		}
	}
	return false
}

func (d *discipline) reportStale(w, earlier, n *action) {
	if w.op == earlier.op {
		d.find(diag.StaleSignal, w, "rank %d does not wait here%s: %s >= %d holds already since call %d", w.rank, w.when(d.r), w.cell.name(), w.value, earlier.call+1).
			Note(n.span(), "so it does not wait for what rank %d notifies here%s", n.rank, n.when(d.r)).
			Help("add 1 in each round and take it back after the wait: pld.notify(signal, me, ..., -1, op=pld.NotifyOp.AtomicAdd)")
		return
	}
	d.find(diag.SharedCell, w, "rank %d does not wait here: %s >= %d holds already by the notifies of another wait", w.rank, w.cell.name(), w.value).
		Note(earlier.span(), "this wait asked for >= %d", earlier.value).
		Note(n.span(), "so nothing waits for what rank %d notifies here", n.rank).
		Help("give each protocol cells of its own, or take the credits back in between")
}

// left warns of cells that are not zero at the end. One that is set may keep what it holds, if the next run is right all
// the same: the program knows then which value comes next.
func (d *discipline) left(p *Program, s Scope, c cell) {
	if len(d.r.stuck) > 0 {
		return
	}
	v := c.mem.cells[c.device][c.off]
	if v == 0 || len(d.o.writes[c]) == 0 || d.o.isSet[c] && p.runsOn(s) {
		return
	}
	ns := d.o.writes[c]
	n := ns[len(ns)-1]
	f := d.find(diag.CreditsLeft, n, "%s of rank %d holds %d when the program ends", c.name(), c.device, v)
	f.Severity = diag.Warning
	if len(f.Helps) == 0 {
		f.Help("take back what was added, or the next call on this window starts with it")
	}
}

// asData: cells are touched by nothing but notify, wait and reads.
func (d *discipline) asData() {
	for _, rk := range d.r.ranks {
		for _, a := range rk.trace {
			if a.kind != actAccess || !a.acc.write || a.ghost || a.acc.mem.kind != windowMemory {
				continue
			}
			for _, c := range d.cells() {
				if c.mem != a.acc.mem || c.device != a.acc.device {
					continue
				}
				if _, hit := a.acc.overlaps(access{mem: c.mem, device: c.device, spans: []span{{c.off, c.off + 4}}}); hit {
					d.cellStored(a, c)
					break
				}
			}
		}
	}
}

func (d *discipline) cellStored(a *action, c cell) {
	var user *action
	for _, b := range d.o.all {
		if b.kind != actCollective && b.cell == c {
			user = b
			break
		}
	}
	if user.acc.view != a.acc.view {
		d.find(diag.DataAndSignal, a, "rank %d writes data over %s, a signal cell in the same allocation", a.rank, c.name()).
			Note(user.span(), "the cell is used here").
			Note(c.mem.op.Span, "both windows are views of this allocation, from its first byte on").
			Help("allocate a second buffer for the signals")
		return
	}
	d.find(diag.CellAsData, a, "rank %d stores to the signal cell %s", a.rank, c.name()).
		Note(user.span(), "the cell is used here").
		Help("windows are zero when they are allocated; change a cell with pld.notify")
}
