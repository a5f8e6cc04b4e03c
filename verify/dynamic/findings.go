package dynamic

import (
	"fmt"
	"slices"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/runtime/sim"
	"ptoc/verify"
)

// report turns what a run showed into findings.
type report struct {
	o        *outcome
	module   *ir.Module
	scope    verify.Scope
	layer    string
	replay   string
	findings []verify.Finding
	seen     map[seenKey]bool
}

type seenKey struct {
	op   *ir.Op
	code diag.Code
}

// all reports everything, the faults that cause others first.
func (r *report) all() {
	for _, c := range r.o.t.races() {
		r.race(c)
	}
	for _, u := range r.o.unwritten {
		r.unwritten(u)
	}
	if r.o.fail != nil {
		r.failed()
		return
	}
	r.iterations()
	r.cells()
	r.stored()
	for _, w := range r.o.t.stuck {
		r.hang(w)
	}
	if len(r.o.t.stuck) == 0 && r.o.err == nil {
		r.left()
	}
}

// find adds a finding at an op; a second one of the same code there is dropped.
func (r *report) find(code diag.Code, op *ir.Op, path *place, format string, args ...any) *verify.Finding {
	f := verify.Finding{Diagnostic: diag.New(code, op.Span, format, args...), Layer: r.layer, Scope: r.scope, Replay: r.replay}
	for c := path; c != nil; c = c.up {
		if c.op.Span != op.Span {
			f.Note(c.op.Span, "in this call")
		}
	}
	if r.seen == nil {
		r.seen = map[seenKey]bool{}
	}
	if r.seen[seenKey{op, code}] {
		return &f
	}
	r.seen[seenKey{op, code}] = true
	r.findings = append(r.findings, f)
	return &r.findings[len(r.findings)-1]
}

func (e *event) remote() bool { return e.mem.Window && e.mem.Device != e.rank }

func verb(k kind) (does, doing string) {
	switch k {
	case read:
		return "reads", "reading"
	case update:
		return "updates", "updating"
	}
	return "writes", "writing"
}

// race reports two accesses: at the read if there is one, else at the one that came later.
func (r *report) race(c race) {
	a, b := c.b, c.a
	if a.kind != read && b.kind == read {
		a, b = b, a
	}
	if x, y := apart(a, b); x != nil && a.rank == b.rank {
		r.blocks(a, b, x, y, c)
		return
	}
	does, _ := verb(a.kind)
	bDoes, doing := verb(b.kind)
	whose := ""
	if a.remote() {
		whose = fmt.Sprintf("rank %d's ", a.mem.Device)
	}
	may := "may still be " + doing + " it"
	if b.kind != read && b.seq > a.seq {
		may = "may already be " + doing + " it"
	}
	who := fmt.Sprintf("rank %d", b.rank)
	if a.rank == b.rank {
		who = "a put of its own"
	}
	f := r.find(diag.DataRace, a.op, a.path, "rank %d %s %s%s while %s %s", a.rank, does, whose, rangeName(c.a.mem, c.at), who, may)
	f.Note(b.op.Span, "rank %d %s it here%s", b.rank, bDoes, r.when(b))
	switch {
	case a.rank == b.rank:
		f.Note(source.Span{}, "a put reaches the peer only with a later notify; until then nothing orders it with other accesses to the peer")
		f.Help("notify first, or pl.fence() between the two")
	case c.a.done == never && c.a.pos < len(r.o.t.ranks[c.a.rank])-1 && c.a.remote():
		f.Note(c.a.op.Span, "no notify of that kernel comes after the write, so nothing releases it")
		f.Help("write first and notify afterwards: a notify releases what its kernel did before it")
	default:
		f.Note(source.Span{}, "nothing orders them: %s", r.lastHeard(c.b, c.a))
		f.Help("whoever comes second must wait for a notify that the other sends after its access: a barrier between the two does that")
	}
	f.Timeline = r.o.t.timeline(c.a, c.b)
}

// when says in which kernel of its rank an event happened, where there is more than one.
func (r *report) when(e *event) string {
	if r.o.t.state[e.rank].call == 0 {
		return ""
	}
	return fmt.Sprintf(", in its kernel %d", e.call+1)
}

// lastHeard says what b's rank knows of a's.
func (r *report) lastHeard(b, a *event) string {
	whom := fmt.Sprintf("rank %d%s", a.rank, inBlock(a.block))
	if b.acq == nil || b.acq.clock.of(a.strand) == 0 {
		return fmt.Sprintf("rank %d has not heard from %s", b.rank, whom)
	}
	known, w := b.acq.clock.of(a.strand), b.acq
	for p := w.prior(); p != nil && p.clock.of(a.strand) == known; p = w.prior() {
		w = p
	}
	switch w.kind {
	case meet:
		return fmt.Sprintf("rank %d last heard from %s when the host waited for all ranks", b.rank, whom)
	case join:
		return fmt.Sprintf("rank %d heard of %s in several blocks, at the latest when these had ended (step %d)", b.rank, whom, w.pos)
	}
	return fmt.Sprintf("rank %d last heard from %s at step %d, when it waited for %s (line %d)", b.rank, whom, w.pos, w.condition(), w.op.Span.Pos().Line)
}

// condition is "signal[1, 0] >= 2".
func (e *event) condition() string {
	how := ">="
	if e.eq {
		how = "=="
	}
	return fmt.Sprintf("%s %s %d", elementName(e.cell.Mem, e.cell.Off), how, e.value)
}

func (r *report) unwritten(u unwritten) {
	r.find(diag.Unwritten, u.op, u.path, "rank %d reads %s, which nobody has written", u.rank, u.mem.Name).
		Help("an output holds anything at all before the program writes it")
}

// failed reports a fault that stopped a rank.
func (r *report) failed() {
	if d := r.o.prog.Report(r.o.err); d != nil {
		r.findings = append(r.findings, verify.Finding{Diagnostic: d, Layer: r.layer, Scope: r.scope, Replay: r.replay})
	}
}

// cells reports writes of one cell that must be ordered and are not, and stores to cells.
func (r *report) cells() {
	for _, c := range sortedCells(r.o.t.cells) {
		ns := r.o.t.cells[c]
		if !r.o.t.isSet[c] {
			continue
		}
		for i, a := range ns {
			for _, b := range ns[i+1:] {
				if (a.set || b.set) && !before(a, b) && !before(b, a) {
					r.unorderedSet(a, b)
				}
			}
		}
	}
}

func (r *report) unorderedSet(a, b *event) {
	set, other := a, b
	if !set.set {
		set, other = b, a
	}
	name := elementName(set.cell.Mem, set.cell.Off)
	who, whom := other.who(set), set.who(other)
	if other.set {
		r.find(diag.SeveralSetters, other.op, other.path, "%s sets %s of rank %d, which %s may be setting at the same time", who, name, set.cell.Mem.Device, whom).
			Note(set.op.Span, "%s sets it here%s", whom, r.when(set)).
			Help("give each its own cell, or add instead of setting: op=pld.NotifyOp.AtomicAdd")
		return
	}
	r.find(diag.SetAndAdd, set.op, set.path, "%s sets %s of rank %d, to which %s may be adding at the same time", whom, name, set.cell.Mem.Device, who).
		Note(other.op.Span, "%s adds here%s", who, r.when(other)).
		Help("take back what was added with an atomic add of the negative value: it cannot lose a credit")
}

// stored reports ordinary writes to the bytes of a cell.
func (r *report) stored() {
	byMem := map[*sim.Alloc][]cellKey{}
	for _, cs := range []map[cellKey][]*event{r.o.t.cells, r.o.t.waits} {
		for _, c := range sortedCells(cs) {
			byMem[c.Mem] = append(byMem[c.Mem], c)
		}
	}
	for _, rk := range r.o.t.ranks {
		for _, e := range rk {
			if e.kind != write && e.kind != update || e.ghost {
				continue
			}
			for _, c := range byMem[e.mem] {
				if overlap(e.ranges, []sim.Range{{Off: c.Off, Len: 4}}) {
					r.storedTo(e, c)
					break
				}
			}
		}
	}
}

func (r *report) storedTo(e *event, c cellKey) {
	users := append(slices.Clone(r.o.t.cells[c]), r.o.t.waits[c]...)
	code, help := diag.CellAsData, "windows are zero when they are allocated; change a cell with pld.notify"
	if r.otherView(e) {
		code, help = diag.DataAndSignal, "allocate a second buffer for the signals"
	}
	r.find(code, e.op, e.path, "rank %d stores to %s, a signal cell", e.rank, elementName(c.Mem, c.Off)).
		Note(users[0].op.Span, "the cell is used here").
		Help("%s", help)
}

// otherView reports whether an access is to memory that it does not see as INT32: then it is the same
// allocation under another name.
func (r *report) otherView(e *event) bool {
	for _, p := range []string{"tensor", "target", "dst"} {
		if e.op.Kind.ParamIndex(p) >= 0 {
			return ir.DTypeOf(e.op.Val(p).Type) != ir.INT32
		}
	}
	return false
}

func sortedCells(m map[cellKey][]*event) []cellKey {
	var out []cellKey
	for c := range m {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b cellKey) int { return m[a][0].seq - m[b][0].seq })
	return out
}

// hang reports a wait that nothing ends: part of a circle, or an orphan.
func (r *report) hang(w *event) {
	t := r.o.t
	held := r.o.m.Sequential.Peek(w.cell)
	text := fmt.Sprintf("rank %d waits for ever for %s; it is %d", w.rank, w.condition(), held)
	chain := r.chain(w)
	switch {
	case len(chain) == 1 && chain[0].rank == w.rank && r.inBlocks(w.op):
		r.find(diag.NotResident, w.op, w.path, "%s: rank %d itself would notify it, in a block that starts only when this one has ended", text, w.rank).
			Help("wait in a kernel of its own after the blocks, or let every block need only blocks before it")
	case len(chain) > 0:
		f := r.find(diag.WaitCycle, w.op, w.path, "%s", text)
		for i, n := range chain {
			s := t.stuckOf(n.rank)
			f.Note(s.op.Span, "rank %d would notify it (line %d), but waits here for %s", n.rank, n.op.Span.Pos().Line, s.condition())
			if i == len(chain)-1 && n.rank == w.rank {
				f.Note(source.Span{}, "which closes the circle")
			}
		}
		f.Timeline = t.lastSteps()
	default:
		f := r.find(diag.LostWait, w.op, w.path, "%s, and no rank notifies it any more", text)
		r.noteNotifies(f, w)
		f.Timeline = t.lastSteps()
	}
}

// chain follows who would have ended a wait, and what that rank waits for itself: up to w again, or to
// a rank that no one helps. It is empty if nobody would have.
func (r *report) chain(w *event) []*event {
	var out []*event
	visited := map[int]bool{}
	for at := w; ; {
		n := r.helper(at, w.rank)
		if n == nil {
			return out
		}
		out = append(out, n)
		if n.rank == w.rank || visited[n.rank] {
			return out
		}
		visited[n.rank] = true
		at = r.o.t.stuckOf(n.rank)
	}
}

// helper is a notify of w's cell that a stuck rank would do if it went on; goal's rather than others'.
func (r *report) helper(w *event, goal int) *event {
	var found *event
	for _, s := range r.o.t.stuck {
		for _, n := range r.o.t.ranks[s.rank][s.pos:] {
			if n.kind == notify && n.cell == w.cell && (n.value > 0 || n.set) {
				if found == nil || n.rank == goal {
					found = n
				}
				break
			}
		}
	}
	return found
}

func (t *trace) stuckOf(rank int) *event {
	for _, s := range t.stuck {
		if s.rank == rank {
			return s
		}
	}
	return nil
}

// inBlocks reports whether an op is part of a pl.spmd loop.
func (r *report) inBlocks(op *ir.Op) bool {
	found := false
	for _, f := range r.module.Funcs {
		f.Body.Walk(func(loop *ir.Op) {
			if loop.Kind != ir.For || !loop.Enum("kind").Is("spmd") {
				return
			}
			for _, b := range loop.Regions {
				b.Walk(func(o *ir.Op) { found = found || o == op })
			}
		})
	}
	return found
}

// noteNotifies shows who did notify the cell, or cells near it.
func (r *report) noteNotifies(f *verify.Finding, w *event) {
	ns := r.o.t.cells[w.cell]
	said := map[*ir.Op]bool{}
	for _, n := range ns {
		if n.rank != w.rank && !said[n.op] && len(said) < 3 {
			said[n.op] = true
			f.Note(n.op.Span, "rank %d %s here%s", n.rank, n.change(), r.when(n))
		}
	}
	if len(said) > 0 {
		return
	}
	for _, n := range r.o.t.order {
		if n.kind == notify && n.cell.Mem == w.cell.Mem {
			f.Note(n.op.Span, "rank %d notifies %s instead", n.rank, elementName(n.cell.Mem, n.cell.Off))
			return
		}
	}
	f.Note(source.Span{}, "no notify of rank %d's %s happens at all", w.rank, w.cell.Mem.Name)
}

// change is "adds 1" or "sets 3".
func (e *event) change() string {
	if e.set {
		return fmt.Sprintf("sets %d", e.value)
	}
	return fmt.Sprintf("adds %d", e.value)
}

// left warns of credits that nobody took. Whether what a set has left misleads the next run, the signals layer says.
func (r *report) left() {
	for _, c := range sortedCells(r.o.t.cells) {
		v := r.o.m.Sequential.Peek(c)
		if v == 0 {
			continue
		}
		ns := r.o.t.cells[c]
		n := ns[len(ns)-1]
		if slices.ContainsFunc(ns, func(e *event) bool { return e.set }) {
			continue
		}
		f := r.find(diag.CreditsLeft, n.op, n.path, "%s of rank %d holds %d when the program ends", elementName(c.Mem, c.Off), c.Mem.Device, v)
		f.Severity = diag.Warning
		if len(f.Helps) == 0 {
			f.Help("take back what was added, or the next call on this window starts with it")
		}
	}
}

// hasErrors reports whether a finding is more than a warning.
func hasErrors(fs []verify.Finding) bool {
	return slices.ContainsFunc(fs, func(f verify.Finding) bool { return f.Severity == diag.Error })
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func list(parts []string) string { return strings.Join(parts, ", ") }
