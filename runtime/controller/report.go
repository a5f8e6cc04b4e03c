package controller

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/runtime/failure"
	"ptoc/runtime/interp"
	"ptoc/runtime/tensor"
)

// Report turns what Run returned into the one message that the user gets. Errors that it does not
// know give nil.
func (p *Program) Report(err error) *diag.Diagnostic {
	var f *failure.Failure
	var h *hostError
	var fault *interp.Fault
	switch {
	case errors.As(err, &f):
		return (&reporter{p: p, f: f}).report()
	case errors.As(err, &h):
		d := diag.New(h.code, h.at, "%s", h.text)
		if h.help != "" {
			d.Help("%s", h.help)
		}
		return d
	case errors.As(err, &fault):
		code, text := describe(fault.Code, fault.V, "the host program")
		at := source.Span{}
		if fault.Op != nil {
			at = fault.Op.Span
		}
		return diag.New(code, at, "%s", text)
	}
	return nil
}

type reporter struct {
	p *Program
	f *failure.Failure
}

// report picks the rank that explains most: one that failed, else one that runs for ever, else one
// that waits.
func (r *reporter) report() *diag.Diagnostic {
	if r.f.Cause == failure.Cancelled {
		return nil
	}
	if k := r.find(failure.Failed, failure.Dead); k != nil {
		return r.others(r.failed(k), k)
	}
	if k := r.find(failure.Running, failure.Stuck); k != nil {
		return r.others(r.endless(k), k)
	}
	if k := r.find(failure.Waiting); k != nil {
		return r.hang(k)
	}
	return diag.New(diag.WaitForever, source.Span{}, "no rank got on%s", r.patience())
}

// find prefers the rank that failed first.
func (r *reporter) find(states ...failure.State) *failure.Rank {
	var found *failure.Rank
	for i := range r.f.Ranks {
		k := &r.f.Ranks[i]
		for _, s := range states {
			if k.State == s && (found == nil || k.Rank == r.f.First) {
				found = k
			}
		}
	}
	return found
}

func (r *reporter) patience() string {
	if r.f.Cause == failure.Timeout && r.f.After != "" && r.f.After != "0s" {
		return " (nothing happened for " + r.f.After + ")"
	}
	return ""
}

func (r *reporter) failed(k *failure.Rank) *diag.Diagnostic {
	at := k.At
	code, text := describe(k.Code, k.V, fmt.Sprintf("rank %d", k.Rank))
	if k.State == failure.Dead {
		code = diag.RankDied
	}
	switch {
	case at.Span.IsValid(): // the excerpt shows the op as the program writes it
	case at.Op != "":
		text = at.Op + ": " + text
	case k.Kernel != "":
		text = fmt.Sprintf("kernel %s: %s", k.Kernel, text)
	}
	d := r.at(code, at, k.Kernel, "%s", text)
	if out := strings.TrimSpace(k.Output); out != "" {
		d.Note(source.Span{}, "the last output of rank %d: %s", k.Rank, out)
	}
	return d
}

// at makes a diagnostic at a place; where a place is unknown it stands at the kernel.
func (r *reporter) at(code diag.Code, p failure.Place, kernel, format string, args ...any) *diag.Diagnostic {
	span, prefix := p.Span, ""
	if !span.IsValid() && p.Text != "" {
		prefix = p.Text + ": "
	} else if f := r.p.Module.Func(kernel); !span.IsValid() && f != nil {
		span = f.Span
	}
	return diag.New(code, span, "%s", prefix+fmt.Sprintf(format, args...))
}

func (r *reporter) endless(k *failure.Rank) *diag.Diagnostic {
	d := r.at(diag.KernelEndless, k.At, k.Kernel, "rank %d runs %s without an end%s", k.Rank, k.Kernel, r.patience())
	if k.State == failure.Stuck {
		d.Note(source.Span{}, "it does not react when it is told to stop: a loop without a check, or a call that does not return")
	}
	return d.Help("if it only needs longer, give --timeout")
}

// others adds what the other ranks do; those that do the same share a note.
func (r *reporter) others(d *diag.Diagnostic, but *failure.Rank) *diag.Diagnostic {
	const most = 6
	var groups []*group
	for i := range r.f.Ranks {
		k := &r.f.Ranks[i]
		if k == but {
			continue
		}
		g := r.doing(k)
		if n := len(groups); n > 0 {
			if at := slices.IndexFunc(groups, func(o *group) bool { return o.what == g.what && o.at == g.at }); at >= 0 {
				groups[at].ranks = append(groups[at].ranks, int64(k.Rank))
				continue
			}
		}
		g.ranks = []int64{int64(k.Rank)}
		groups = append(groups, g)
	}
	for i, g := range groups {
		if i == most {
			d.Note(source.Span{}, "and so on for more ranks")
			break
		}
		d.Note(g.at, "%s %s", g.who(), g.what)
	}
	return d
}

// group is a set of ranks in the same state. The words in what fit one rank and several.
type group struct {
	at    source.Span
	what  string
	ranks []int64
}

func (g *group) who() string {
	if len(g.ranks) == 1 {
		return fmt.Sprintf("rank %d", g.ranks[0])
	}
	return "ranks " + tensor.ShapeString(g.ranks)
}

func (r *reporter) doing(k *failure.Rank) *group {
	switch k.State {
	case failure.Waiting:
		name, _ := r.cell(k)
		if k.Wait.Satisfied() {
			return &group{k.Wait.At.Span, fmt.Sprintf("about to go on from here%s: %s is %d", placeText(k.Wait.At), name, k.Wait.Seen), nil}
		}
		return &group{k.Wait.At.Span, fmt.Sprintf("waiting here%s: %s is %d, expected %s %d", placeText(k.Wait.At), name, k.Wait.Seen,
			k.Wait.Sign(), k.Wait.Want), nil}
	case failure.Running, failure.Stuck:
		return &group{k.At.Span, fmt.Sprintf("running %s%s", k.Kernel, placeText(k.At)), nil}
	case failure.Failed, failure.Dead:
		_, text := describe(k.Code, k.V, fmt.Sprintf("rank %d", k.Rank))
		return &group{k.At.Span, "failed" + placeText(k.At) + ": " + text, nil}
	}
	switch {
	case k.Submitted == 0:
		return &group{what: "had nothing to do"}
	case k.Completed < k.Submitted:
		return &group{what: "about to start a kernel"}
	}
	return &group{what: "finished"}
}

// placeText is needed where there is no span to show.
func placeText(p failure.Place) string {
	if !p.Span.IsValid() && p.Text != "" {
		return " (" + p.Text + ")"
	}
	return ""
}

// hang reports a wait that nothing will end.
func (r *reporter) hang(k *failure.Rank) *diag.Diagnostic {
	name, window := r.cell(k)
	d := r.at(diag.WaitForever, k.Wait.At, k.Kernel, "rank %d waits for ever: %s is %d, expected %s %d%s", k.Rank, name,
		k.Wait.Seen, k.Wait.Sign(), k.Wait.Want, r.patience())
	if window != nil {
		r.notifiers(d, k, window)
		r.otherCells(d, k, window)
	}
	return r.others(d, k)
}

// target is a window argument of a dispatch.
type target struct {
	site   *site
	param  int
	offset int64
}

func (t *target) shape() []int64   { return t.site.shapes[t.param] }
func (t *target) value() *ir.Value { return t.site.callee().Params()[t.param] }
func (t *target) bytes() int64 {
	return numel(t.shape()) * int64(ir.DTypeOf(t.value().Type).Size())
}

// windows are the window arguments of this run that overlap a byte of the window segments.
func (r *reporter) windows(offset int64) []*target {
	var out []*target
	for _, s := range r.p.sites() {
		for i, p := range s.callee().Params() {
			t, ok := p.Type.(*ir.Tensor)
			if !ok || !t.Window || s.shapes[i] == nil {
				continue
			}
			w := &target{s, i, s.words[s.slots[i]+1].Value}
			if offset >= w.offset && offset < w.offset+w.bytes() {
				out = append(out, w)
			}
		}
	}
	return out
}

// cell names the cell that a rank waits for, in the terms of its kernel.
func (r *reporter) cell(k *failure.Rank) (string, *target) {
	all := r.windows(k.Wait.Offset)
	for _, w := range all {
		if w.site.callee().Name == k.Kernel && w.site.count[k.Rank] > 0 {
			return w.name(k.Wait.Offset), w
		}
	}
	if len(all) > 0 {
		return all[0].name(k.Wait.Offset), all[0]
	}
	return fmt.Sprintf("the cell at byte %d of its windows", k.Wait.Offset), nil
}

// name is "signal[2, 0]".
func (t *target) name(offset int64) string {
	shape := t.shape()
	at := (offset - t.offset) / int64(ir.DTypeOf(t.value().Type).Size())
	idx := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		idx[i], at = at%shape[i], at/shape[i]
	}
	return t.value().Name + tensor.ShapeString(idx)
}

// notifiers says which ops can signal the cell, and who could still reach them; where none can, which ones signal
// other cells of the window.
func (r *reporter) notifiers(d *diag.Diagnostic, k *failure.Rank, w *target) {
	type notifier struct {
		t    *target
		e    ir.MemEffect
		cell string
	}
	var here, elsewhere []notifier
	seen := map[source.Span]bool{} // an op of the library stands where it was called from
	for _, t := range r.windows(k.Wait.Offset) {
		for _, e := range ir.FuncEffects(t.site.callee()) {
			if e.Kind != ir.Signals || e.Mem != t.value() || seen[e.Op.Span] || k.Wait.Cmp == abi.Ge && takesBack(e.Op) {
				continue
			}
			seen[e.Op.Span] = true
			n := notifier{t, e, t.value().Name}
			if cell, ok := t.cellOf(e); ok {
				n.cell = cell
			}
			if n.cell == t.value().Name || n.cell == t.name(k.Wait.Offset) {
				here = append(here, n)
			} else {
				elsewhere = append(elsewhere, n)
			}
		}
	}
	for _, n := range here {
		d.Note(n.e.Op.Span, "%s of %s signals %s; %s", n.e.Op.Kind.Name, n.t.site.callee().Name, n.cell, r.who(n.t))
	}
	if len(here) > 0 {
		return
	}
	d.Note(source.Span{}, "no kernel of this run notifies %s", w.name(k.Wait.Offset))
	for _, n := range elsewhere {
		d.Note(n.e.Op.Span, "%s of %s signals %s instead", n.e.Op.Kind.Name, n.t.site.callee().Name, n.cell)
	}
}

// takesBack reports whether a notify only ever makes its cell smaller: no wait for "at least" ends by it.
func takesBack(op *ir.Op) bool {
	if op.Kind != ir.Notify || op.Enum("op") != ir.NotifyOp.Of("AtomicAdd") {
		return false
	}
	v, ok := op.Val("value").ConstInt()
	return ok && v <= 0
}

// cellOf is the one cell that an effect is on, where it is the same for all ranks and all turns.
func (t *target) cellOf(e ir.MemEffect) (string, bool) {
	if e.Op.Kind != ir.Notify || e.View != e.Mem { // offsets in a view are not those in the window
		return "", false
	}
	var idx []int64
	for _, v := range e.Op.Vals("offsets") {
		n, ok := v.ConstInt()
		if !ok {
			return "", false
		}
		idx = append(idx, n)
	}
	return t.value().Name + tensor.ShapeString(idx), true
}

// who says what the ranks that were given a kernel do now.
func (r *reporter) who(t *target) string {
	var done, waiting, running, never []int64
	for i := range r.f.Ranks {
		k := &r.f.Ranks[i]
		n := int64(k.Rank)
		switch {
		case t.site.count[k.Rank] == 0:
			never = append(never, n)
		case k.State == failure.Waiting:
			waiting = append(waiting, n)
		case k.State == failure.Running || k.State == failure.Stuck:
			running = append(running, n)
		default:
			done = append(done, n)
		}
	}
	var parts []string
	add := func(ranks []int64, one, many string) {
		switch len(ranks) {
		case 0:
		case 1:
			parts = append(parts, fmt.Sprintf("rank %d %s", ranks[0], one))
		default:
			parts = append(parts, fmt.Sprintf("ranks %s %s", tensor.ShapeString(ranks), many))
		}
	}
	add(running, "still runs", "still run")
	add(waiting, "waits itself", "wait themselves")
	add(done, "has ended", "have ended")
	add(never, "was not given this kernel", "were not given this kernel")
	return strings.Join(parts, ", ")
}

// otherCells shows where signals of this window did arrive.
func (r *reporter) otherCells(d *diag.Diagnostic, k *failure.Rank, w *target) {
	mem := r.p.backend.Window(k.Rank, w.offset, w.bytes())
	var found []string
	for at := int64(0); at+4 <= int64(len(mem)) && len(found) < 6; at += 4 {
		if v := int32(binary.LittleEndian.Uint32(mem[at:])); v != 0 && w.offset+at != k.Wait.Offset {
			found = append(found, fmt.Sprintf("%s is %d", w.name(w.offset+at), v))
		}
	}
	if len(found) > 0 {
		d.Note(source.Span{}, "on rank %d, %s", k.Rank, strings.Join(found, ", "))
	}
}

// describe is the code and text of a fault.
func describe(c abi.Code, v [6]int64, who string) (diag.Code, string) {
	switch c {
	case abi.LocalBounds, abi.RemoteBounds:
		code, whose := diag.AccessOutside, ""
		if c == abi.RemoteBounds {
			code, whose = diag.AccessOutsidePeer, fmt.Sprintf(" of rank %d's window", v[4])
		}
		if v[1] < 0 {
			return code, fmt.Sprintf("%s accesses dimension %d%s at offset %d: it must not be negative", who, v[0], whose, v[1])
		}
		if v[2] < 0 {
			return code, fmt.Sprintf("%s has the extent %d in dimension %d%s", who, v[2], v[0], whose)
		}
		return code, fmt.Sprintf("%s reaches past the end of dimension %d%s: offset %d + extent %d > %d", who, v[0], whose, v[1], v[2], v[3])
	case abi.BadPeer:
		return diag.PeerOutside, fmt.Sprintf("%s names peer %d: the domain has ranks 0 to %d", who, v[0], v[1]-1)
	case abi.BadCell:
		return diag.CellOutside, fmt.Sprintf("%s names signal cell %d in dimension %d, which has %d", who, v[1], v[0], v[2])
	case abi.WorldSize:
		return diag.WorldSizeWrong, fmt.Sprintf("%s runs in a domain of %d ranks, the program needs %d", who, v[1], v[0])
	case abi.DivZero:
		return diag.DivisionByZero, fmt.Sprintf("%s divides %d by zero", who, v[0])
	case abi.BadValue:
		switch {
		case v[1] == 1: // only a step cannot be 0
			return diag.ValueOutside, who + " counts with a step of 0"
		case v[1] == 0 && v[2] == math.MaxInt64:
			return diag.ValueOutside, fmt.Sprintf("%s has the value %d where none may be negative", who, v[0])
		}
		return diag.ValueOutside, fmt.Sprintf("%s has the value %d where it must be in [%d, %d]", who, v[0], v[1], v[2])
	case abi.Shape:
		return diag.ShapeAtRun, fmt.Sprintf("%s has extent %d in dimension %d where %d is needed", who, v[1], v[0], v[2])
	case abi.Overlap:
		return diag.OverlapAtRun, fmt.Sprintf("%s: arguments %d and %d overlap, and one of them is written", who, v[0]+1, v[1]+1)
	case abi.Assert:
		return diag.RankFault, fmt.Sprintf("%s: an assertion does not hold: %d and %d", who, v[0], v[1])
	case abi.Crash:
		return diag.RankCrashed, fmt.Sprintf("%s crashed: signal %d at address %#x", who, v[0], uint64(v[1]))
	case abi.Died:
		if v[0] != 0 {
			return diag.RankDied, fmt.Sprintf("the process of %s was ended by signal %d", who, v[0])
		}
		return diag.RankDied, fmt.Sprintf("the process of %s ended with status %d", who, v[1])
	}
	return diag.RankFault, fmt.Sprintf("%s: %v", who, c)
}
