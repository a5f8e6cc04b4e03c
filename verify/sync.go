package verify

import (
	"fmt"
	"slices"
	"sort"

	"ptoc/ir"
	"ptoc/lang/diag"
)

// SyncWatch follows a program through the passes and compares what it does to signals and shared memory,
// rank by rank, for one small number of ranks: the same notifies and waits in the same order, between them
// the same writes, and no reads that were not there. A pass that drops, repeats or moves synchronisation, or
// moves an access across it, or from one block into another, is found and named. What cannot be followed is not compared, nor is a pass that
// lowers collectives: the value proof looks at those.
type SyncWatch struct {
	Entry string
	Scope Scope
	Steps int // how much work one look may be; 0: what the static layers do at most

	last *syncTrace
}

// syncTrace is what a program does; its ranks are nil where it cannot be followed.
type syncTrace struct {
	ranks       [][]*segment
	collectives bool
	faulty      bool // it faults or hangs, as a program for 3 ranks and more may with 2
}

// StepsInCompile keeps a look at a program below a few milliseconds.
const StepsInCompile = 40_000

// ranksInCompile are enough for a rank to have a neighbour and for both to be told apart.
const ranksInCompile = 2

// WatchSync is what passes.Options.Watch wants: a SyncWatch of the host function called entry, or of the only
// one. Without one there is nothing to watch. steps is as in SyncWatch.
func WatchSync(entry string, steps int) func(m *ir.Module) func(pass string, m *ir.Module) *diag.Diagnostic {
	return func(m *ir.Module) func(string, *ir.Module) *diag.Diagnostic {
		if f := m.Func(entry); f == nil || f.Kind != ir.Host {
			entry = "" // the name of a factory
		}
		p, err := NewProgram("", m, nil, entry)
		if err != nil {
			return nil
		}
		w := &SyncWatch{Entry: p.Entry, Scope: p.Scope(ranksInCompile, 1, nil), Steps: steps}
		w.Look("", m)
		return func(pass string, m *ir.Module) *diag.Diagnostic {
			if f := w.Look(pass, m); f != nil {
				return f.Diagnostic
			}
			return nil
		}
	}
}

// Look compares m, as the pass left it, with what the last look saw.
func (w *SyncWatch) Look(pass string, m *ir.Module) *Finding {
	before, after := w.last, w.trace(m)
	w.last = after
	if before == nil || before.faulty || before.collectives != after.collectives || before.ranks == nil || after.ranks == nil {
		return nil
	}
	for i, g := range before.ranks {
		if d := differ(pass, g, after.ranks[i]); d != nil {
			return &Finding{Diagnostic: d, Layer: "pass " + pass, Scope: w.Scope}
		}
	}
	return nil
}

// trace runs m. A fault of ours must not stop a compilation: what panics is not compared.
func (w *SyncWatch) trace(m *ir.Module) (t *syncTrace) {
	t = &syncTrace{collectives: hasCollectives(m)}
	defer func() {
		if recover() != nil {
			t.ranks = nil
		}
	}()
	if m.Func(w.Entry) == nil {
		return t
	}
	r := newRun(m, w.Scope, false)
	if w.Steps > 0 {
		r.budget = w.Steps
	}
	r.start(w.Entry)
	if r.gaveUp != "" && r.gaveUp != tooMuch && w.Steps == 0 {
		r = attempt(m, w.Entry, w.Scope, true) // it may depend on data: too slow for every compile
	}
	if r.gaveUp != "" {
		return t
	}
	t.faulty = len(r.faults) > 0 || len(r.stuck) > 0
	for _, rk := range r.ranks {
		t.ranks = append(t.ranks, segments(rk))
	}
	return t
}

// SyncChanged compares a program before and after a pass as SyncWatch does.
func SyncChanged(pass string, before, after *ir.Module, entry string, s Scope) *Finding {
	w := &SyncWatch{Entry: entry, Scope: s}
	w.Look("", before)
	return w.Look(pass, after)
}

// segment is what a rank does up to, and with, one notify or wait.
type segment struct {
	sync          *action // nil: up to the end of the kernel
	reads, writes map[string][]span
	ops           map[string]*ir.Op
}

func newSegment() *segment {
	return &segment{reads: map[string][]span{}, writes: map[string][]span{}, ops: map[string]*ir.Op{}}
}

func segments(rk *rankState) []*segment {
	var out []*segment
	cur := newSegment()
	for _, a := range rk.trace {
		switch a.kind {
		case actAccess:
			if a.acc.mem.kind == localMemory {
				continue // passes may do without it
			}
			key := a.acc.mem.name + a.blk.inBlock()
			if a.acc.device >= 0 { // a window; tensors are the host's or the rank's own
				key = fmt.Sprintf("%s of device %d", key, a.acc.device)
			}
			if a.acc.write {
				cur.writes[key] = append(cur.writes[key], a.acc.spans...)
			} else {
				cur.reads[key] = append(cur.reads[key], a.acc.spans...)
			}
			cur.ops[key] = a.op
		case actNotify, actWait, actCollective, actEnd:
			cur.sync = a
			out = append(out, cur)
			cur = newSegment()
		}
	}
	return out
}

// syncText names a synchronisation independently of where cells lie.
func (g *segment) syncText() string {
	if g.sync.kind == actNotify {
		return fmt.Sprintf("%s on device %d%s", g.sync.text(), g.sync.cell.device, g.sync.blk.inBlock())
	}
	return g.sync.text() + g.sync.blk.inBlock()
}

func differ(pass string, a, b []*segment) *diag.Diagnostic {
	for i, g := range a {
		if i >= len(b) {
			return diag.New(diag.SyncChanged, g.sync.span(), "pass %s lost this on rank %d: %s", pass, g.sync.rank, g.syncText())
		}
		h := b[i]
		if g.syncText() != h.syncText() {
			return diag.New(diag.SyncChanged, g.sync.span(), "pass %s changed what rank %d does here: now %q, before it %q", pass, g.sync.rank, h.syncText(), g.syncText())
		}
		if d := g.moved(pass, h); d != nil {
			return d
		}
	}
	if len(b) > len(a) {
		g := b[len(a)]
		return diag.New(diag.SyncChanged, g.sync.span(), "pass %s added this on rank %d: %s", pass, g.sync.rank, g.syncText())
	}
	return nil
}

// moved compares the accesses of two segments.
func (g *segment) moved(pass string, h *segment) *diag.Diagnostic {
	for _, k := range union(g.writes, h.writes) {
		if !slices.Equal(joined(g.writes[k]), joined(h.writes[k])) {
			return diag.New(diag.SyncChanged, g.sync.span(), "pass %s moved or dropped a write of %s across this op of rank %d", pass, k, g.sync.rank)
		}
	}
	for _, k := range union(h.reads, nil) {
		if !covers(joined(g.reads[k]), joined(h.reads[k])) {
			return diag.New(diag.SyncChanged, g.sync.span(), "pass %s moved a read of %s across this op of rank %d", pass, k, g.sync.rank)
		}
	}
	return nil
}

func union(a, b map[string][]span) []string {
	var out []string
	for k := range a {
		out = append(out, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			out = append(out, k)
		}
	}
	sort.Strings(out)
	return out
}

// joined sorts spans and joins those that touch.
func joined(ss []span) []span {
	ss = slices.Clone(ss)
	slices.SortFunc(ss, func(a, b span) int { return int(a.lo - b.lo) })
	var out []span
	for _, s := range ss {
		if n := len(out); n > 0 && s.lo <= out[n-1].hi {
			out[n-1].hi = max(out[n-1].hi, s.hi)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func covers(a, b []span) bool {
	for _, s := range b {
		if !slices.ContainsFunc(a, func(t span) bool { return t.lo <= s.lo && s.hi <= t.hi }) {
			return false
		}
	}
	return true
}
