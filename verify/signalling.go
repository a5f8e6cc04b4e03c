package verify

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
)

// Static is what every compile looks at, without a rank count and in microseconds: collectives that
// only some ranks reach, accesses that are out of bounds whatever the rank, and data that no signal
// can release. It reports only what is certain.
func Static(m *ir.Module) []Finding {
	fs, _ := Uniformity(m)
	fs = append(fs, Bounds(m)...)
	return append(fs, Signalling(m)...)
}

// Warn adds what Static finds to a list, as warnings: the program may still be run, and its run will say
// more.
func Warn(m *ir.Module, list *diag.List) {
	for _, f := range Static(m) {
		d := *f.Diagnostic
		d.Severity = diag.Warning
		list.Add(&d)
	}
}

// Signalling reports the writes to peers that no notify of their kernel can follow on any path. In a
// loop it looks at the last iteration: what that one writes after its notify stays unreleased.
func Signalling(m *ir.Module) []Finding {
	s := &signalling{seen: map[*ir.Op]bool{}}
	for _, f := range kernels(m) {
		s.block(f.Body, false)
	}
	return s.findings
}

// kernels are the functions that are dispatched, or, without a host function, that nobody calls.
func kernels(m *ir.Module) []*ir.Func {
	dispatched, called := map[*ir.Func]bool{}, map[*ir.Func]bool{}
	for _, f := range m.Funcs {
		f.Walk(func(op *ir.Op) {
			if op.Kind == ir.Call {
				called[op.Callee()] = true
				dispatched[op.Callee()] = dispatched[op.Callee()] || op.Val("device") != nil
			}
		})
	}
	var out []*ir.Func
	for _, f := range m.Funcs {
		if (f.Kind == ir.Chip || f.Kind == ir.InCore) && (dispatched[f] || !called[f]) {
			out = append(out, f)
		}
	}
	return out
}

type signalling struct {
	findings []Finding
	seen     map[*ir.Op]bool
}

// block walks b backwards; ahead says whether a notify may come after it. The result says whether one may
// come after its start.
func (s *signalling) block(b *ir.Block, ahead bool) bool {
	for _, op := range slices.Backward(b.Ops) {
		ahead = s.op(op, ahead)
	}
	return ahead
}

func (s *signalling) op(op *ir.Op, ahead bool) bool {
	switch {
	case op.Kind == ir.Notify:
		return ahead || !isOwn(op.Val("peer")) // a credit that a rank takes back tells nobody anything
	case op.Kind.HasEffect(ir.Signals):
		return true
	case op.Kind == ir.Call:
		return s.block(op.Callee().Body, ahead)
	case op.Kind == ir.Fused:
		s.write(op, ahead)
		return ahead
	case len(op.Regions) > 0:
		any := ahead
		for _, r := range op.Regions {
			any = s.block(r, ahead) || any
		}
		return any
	}
	s.write(op, ahead)
	return ahead
}

func (s *signalling) write(op *ir.Op, ahead bool) {
	if ahead || s.seen[op] || len(op.Kind.Effects) == 0 {
		return
	}
	for _, e := range ir.EffectsOf(op) {
		if e.Kind == ir.RemoteWrites && !isOwn(e.Peer) {
			s.seen[op] = true
			d := diag.New(diag.SignalBeforeData, op.Span, "%s writes to a peer, and no notify of this kernel follows", op.Kind.Name)
			d.Help("write first and notify afterwards: a notify releases what its kernel did before it")
			s.findings = append(s.findings, Finding{Diagnostic: d, Layer: "static"})
			return
		}
	}
}

// isOwn: the peer is this rank, as far as that can be seen.
func isOwn(peer *ir.Value) bool { return peer != nil && peer.Def != nil && peer.Def.Kind == ir.Rank }

// SyncChanged compares what a program does to signals and shared memory before and after a pass, rank by
// rank, for one small number of ranks: the same notifies and waits in the same order, between them the
// same writes, and no reads that were not there. A pass that drops, repeats or moves synchronisation, or
// moves an access across it, is found and named. Nil if nothing changed, or if the program cannot be
// followed, or if the pass lowers collectives, which the value proof looks at.
func SyncChanged(pass string, before, after *ir.Module, entry string, s Scope) *Finding {
	if hasCollectives(before) != hasCollectives(after) || before.Func(entry) == nil || after.Func(entry) == nil {
		return nil
	}
	a, b := attempt(before, entry, s, false), attempt(after, entry, s, false)
	if a.gaveUp != "" || b.gaveUp != "" {
		return nil
	}
	for i := range a.ranks {
		if d := differ(pass, segments(a.ranks[i]), segments(b.ranks[i])); d != nil {
			return &Finding{Diagnostic: d, Layer: "pass " + pass, Scope: s}
		}
	}
	return nil
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
			key := fmt.Sprintf("%s of device %d", a.acc.mem.name, a.acc.device)
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
		return fmt.Sprintf("%s on device %d", g.sync.text(), g.sync.cell.device)
	}
	return g.sync.text()
}

func differ(pass string, a, b []*segment) *diag.Diagnostic {
	for i, g := range a {
		if i >= len(b) {
			return diag.New(diag.SyncChanged, g.sync.span(), "pass %s lost this on rank %d: %s", pass, g.sync.rank, g.sync.text())
		}
		h := b[i]
		if g.syncText() != h.syncText() {
			return diag.New(diag.SyncChanged, g.sync.span(), "pass %s changed what rank %d does here: it %s", pass, g.sync.rank, h.sync.text()).
				Note(g.sync.span(), "before the pass it %s", g.sync.text())
		}
		if d := g.moved(pass, h); d != nil {
			return d
		}
	}
	if len(b) > len(a) {
		g := b[len(a)]
		return diag.New(diag.SyncChanged, g.sync.span(), "pass %s added this on rank %d: %s", pass, g.sync.rank, g.sync.text())
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

// Summary writes findings on one line each, for tests and logs.
func Summary(fs []Finding) string {
	var b strings.Builder
	for _, f := range fs {
		fmt.Fprintln(&b, f.Error())
	}
	return b.String()
}
