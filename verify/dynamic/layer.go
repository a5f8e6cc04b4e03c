// Package dynamic is the layers of ptoc verify that run the program: on the simulator, with ranks that
// see each other's writes and signals as late as the memory model allows.
//
// "memory" runs it under several policies, and looks in each run for races by an exact
// happens-before relation, for deadlocks, and for reads of memory that nobody wrote. "schedules" looks
// at all schedules that differ in an observable way.
package dynamic

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"ptoc/ir"
	"ptoc/runtime/sim"
	"ptoc/verify"
)

func init() { Register(nil) }

// Register makes the layers known to package verify; in says what programs are given.
func Register(in Inputs) {
	verify.Register(memoryLayer{in})
	verify.Register(scheduleLayer{in})
}

type memoryLayer struct{ in Inputs }

func (memoryLayer) Name() string { return "memory" }

// seeds of the runs whose delays and schedules are random.
const seeds = 3

// policies are the runs of the memory layer.
func policies() []token {
	ks := []token{{policy: Eager}, {policy: OnWait}, {policy: Adversarial}}
	for s := range seeds {
		ks = append(ks, token{policy: Random, seed: uint64(s + 1)})
	}
	return ks
}

func (l memoryLayer) Check(p *verify.Program, s verify.Scope) verify.Verdict {
	ctx, cancel := p.Limit()
	defer cancel()
	var found []verify.Finding
	var first *outcome
	var policies_ []string
	for i, k := range policies() {
		o, fs := runOnce(ctx, p, s, l.in, k, "memory")
		if ctx.Err() != nil { // that run shows nothing
			if hasErrors(found) {
				break
			}
			return verify.Verdict{Reason: fmt.Sprintf("%s after %d of %s", p.Ended(), i, plural(len(policies()), "run"))}
		}
		if o.err != nil && o.fail == nil {
			return verify.Verdict{Reason: o.text()}
		}
		found = merge(found, fs)
		if first == nil {
			first = o
		}
		if len(policies_) == 0 || policies_[len(policies_)-1] != k.policy.String() {
			policies_ = append(policies_, k.policy.String())
		}
	}
	v := verify.Verdict{Findings: found}
	switch {
	case hasErrors(found):
		v.Status = verify.Counterexample
		return v
	default:
		v.Findings = append(v.Findings, wrong(p, s, first, "memory")...)
	}
	if ctx.Err() != nil && !hasErrors(v.Findings) {
		return verify.Verdict{Reason: p.Ended() + " before outputs were compared"}
	}
	why := ""
	for _, why = range first.t.wild() {
		break
	}
	switch {
	case hasErrors(v.Findings):
		v.Status = verify.Counterexample
	case why != "" && !explored(p, s, l.in).complete:
		v.Reason = "what happens depends on the schedule (" + why + "), of which only some were run"
	default:
		v.Status = verify.Proved
		v.Reason = fmt.Sprintf("%s: %s", plural(len(policies()), "run"), list(policies_))
		v.Given = given(p, l.in)
	}
	return v
}

// runOnce runs a program as a token says and reports what it shows.
func runOnce(ctx context.Context, p *verify.Program, s verify.Scope, in Inputs, k token, layer string) (*outcome, []verify.Finding) {
	k.syms, k.repeats = s.Syms, max(s.Repeats, 1)
	pl := k.plan()
	pl.ctx = ctx
	o := execute(p.Lowered, p.Entry, s, in, pl)
	r := &report{o: o, module: p.Lowered, scope: s, layer: layer, replay: k.String()}
	r.all()
	return o, r.findings
}

// plan is how the run of a token goes.
func (k token) plan() plan {
	pl := plan{policy: k.policy, seed: k.seed}
	switch k.policy {
	case OnWait:
		pl.sched = &sim.Greedy{}
	case Random:
		pl.sched = sim.NewRandom(k.seed)
	case Adversarial:
		pl.sched = &backwards{}
	default:
		pl.sched = sim.RoundRobin{}
	}
	return pl
}

// backwards lets the last rank run for as long as it can, then the one before it: the opposite of the
// order in which programs are written.
type backwards struct{ turns int }

func (b *backwards) Pick(runnable []int, current int) int {
	if b.turns++; b.turns > 1000 {
		b.turns = 0
		return sim.RoundRobin{}.Pick(runnable, current)
	}
	return runnable[len(runnable)-1]
}

// merge adds findings that are not there yet.
func merge(all, more []verify.Finding) []verify.Finding {
	for _, f := range more {
		old := false
		for _, g := range all {
			old = old || g.Code == f.Code && g.At == f.At
		}
		if !old {
			all = append(all, f)
		}
	}
	return all
}

// wild are the cells for which the order of what ranks do to them can be observed, and why. Control flow
// and operands are functions of the inputs and of what is read; where nothing races, that is the same in
// every schedule but for these cells.
func (t *trace) wild() map[cellID]string {
	out := map[cellID]string{}
	for _, c := range sortedCells(t.cells) {
		if why := t.wildness(c); why != "" {
			out[idOf(c)] = why
		}
	}
	return out
}

func (t *trace) wildness(c cellKey) string {
	name := c.Mem.Name
	if t.mayWrap(c) {
		return fmt.Sprintf("a cell of %s may come to hold more than an INT32", name)
	}
	if e := t.cellRead(c); e != nil {
		return fmt.Sprintf("a cell of %s is read as a value at %s", name, e.op.Span)
	}
	for _, w := range t.waits[c] {
		if w.eq && !t.isSet[c] && t.mayPass(w) {
			return fmt.Sprintf("a cell of %s may pass the value that the wait at %s needs", name, w.op.Span)
		}
	}
	for _, n := range t.cells[c] {
		if n.value < 0 && !n.set && n.rank != c.Mem.Device {
			return fmt.Sprintf("a rank takes credits from another's %s at %s", name, n.op.Span)
		}
		if n.value < 0 && !n.set && slices.ContainsFunc(t.waits[c], func(w *event) bool { return !before(n, w) && !before(w, n) }) {
			return fmt.Sprintf("a block takes credits from a cell of %s at %s, for which another one may be waiting", name, n.op.Span)
		}
		if n.set && t.levelsDiffer(c) {
			return fmt.Sprintf("a cell of %s is set again while it may be waited for", name)
		}
	}
	return ""
}

// mayWrap reports whether some order of its writes may take a cell beyond 32 bits.
func (t *trace) mayWrap(c cellKey) bool {
	set, added, taken := int64(0), int64(0), int64(0)
	for _, n := range t.cells[c] {
		switch v := int64(n.value); {
		case n.set:
			set = max(set, v, -v)
		case v > 0:
			added += v
		default:
			taken -= v
		}
	}
	return set+max(added, taken) > math.MaxInt32
}

// cellRead is an access that reads a cell while a notify of it may be under way.
func (t *trace) cellRead(c cellKey) *event {
	for _, rk := range t.ranks {
		for _, e := range rk {
			if e.mem != c.Mem || e.kind == write || e.ghost || !overlap(e.ranges, []sim.Range{{Off: c.Off, Len: 4}}) {
				continue
			}
			for _, n := range t.cells[c] {
				if !before(n, e) && !before(e, n) {
					return e
				}
			}
		}
	}
	return nil
}

// mayPass reports whether a wait for one value may find more.
func (t *trace) mayPass(w *event) bool {
	total := int64(0)
	for _, n := range t.cells[w.cell] {
		if before(w, n) {
			continue
		}
		if n.value > 0 || before(n, w) {
			total += int64(n.value)
		}
	}
	return total > int64(w.value)
}

// levelsDiffer reports whether a wait of a cell that is set may find a value that does not satisfy it
// after one that did: there is a write that need not have happened, and without it the wait may return.
func (t *trace) levelsDiffer(c cellKey) bool {
	for _, w := range t.waits[c] {
		if w.clock == nil {
			continue // it never returned
		}
		vs := t.values(w)
		for _, n := range vs.live {
			ends := n.set && !accepts(w, int64(n.value)) || !n.set && (n.value < 0 || w.eq && n.value != 0)
			if ends && !mustPrecede(n, w) && vs.accept(func(m *event) bool { return m == n || before(n, m) }) {
				return true
			}
		}
	}
	return false
}

// given says on which inputs the answer rests, where it may rest on some.
func given(p *verify.Program, in Inputs) string {
	var of []string
	if dataDependent(p.Source) { // what library code reads, it has written itself
		of = append(of, verify.GivenInputs)
	}
	for _, v := range p.Source.Func(p.Entry).Params() {
		if _, ok := v.Type.(*ir.Tensor); !ok {
			of = append(of, fmt.Sprintf("%s = %v", v.Name, verify.GivenScalar(in, v.Name, ir.DTypeOf(v.Type))))
		}
	}
	return strings.Join(of, "; ")
}

// dataDependent reports whether a kernel's control flow or addresses depend on what it reads.
func dataDependent(m *ir.Module) bool {
	found := false
	for _, f := range m.Funcs {
		if f.Kind != ir.InCore && f.Kind != ir.Chip && f.Kind != ir.Inline {
			continue
		}
		f.Body.Walk(func(op *ir.Op) { found = found || op.Kind == ir.Read && isInteger(op.Result()) || decides(op) })
	}
	return found
}

// decides reports whether an op makes an integer, or an answer, of a number: all of these come from data.
func decides(op *ir.Op) bool {
	if op.Result() == nil || !isInteger(op.Result()) {
		return false
	}
	for _, v := range op.Operands() {
		if _, scalar := v.Type.(*ir.Scalar); scalar && ir.DTypeOf(v.Type).IsFloat() && !v.IsConst() {
			return true
		}
	}
	return false
}

func isInteger(v *ir.Value) bool {
	_, scalar := v.Type.(*ir.Scalar)
	return scalar && !ir.DTypeOf(v.Type).IsFloat()
}
