package verify

import (
	"fmt"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// uniformLayer proves that all ranks call the same collectives in the same order: no collective may
// stand under a branch or in a loop that depends on the rank. Where both arms of a branch call the same
// ones, nothing depends on it. It knows nothing of rank counts: what it proves holds for all.
type uniformLayer struct{}

func (uniformLayer) Name() string { return "uniform" }

func (uniformLayer) Check(p *Program, s Scope) Verdict {
	fs, unsure := Uniformity(p.Source)
	r := p.calls(s)
	concrete := r.mismatches()
	agree := r.gaveUp == "" && len(concrete) == 0
	v := Verdict{Findings: fs}
	for i := range v.Findings {
		v.Findings[i].Scope = s
		if agree { // for other rank counts it may be wrong
			v.Findings[i].Severity = diag.Warning
		}
	}
	if len(fs) == 0 {
		v.Findings = concrete
	}
	switch {
	case hasErrors(v.Findings):
		v.Status = Counterexample
	case len(fs) > 0:
		v.Status, v.Reason = Proved, "here all ranks take the same branches, but these depend on the rank"
	case unsure != "" && !agree:
		v.Reason = unsure
	case r.given.used:
		v.Status, v.Given = Proved, GivenInputs
	default:
		v.Status = Proved
	}
	return v
}

// mismatches are the places where ranks call different collectives in this run.
func (r *run) mismatches() []Finding {
	var out []Finding
	for _, f := range r.faults {
		if f.Code == diag.CollectiveMismatch {
			f.Layer = "uniform"
			out = append(out, f)
		}
	}
	if len(out) > 0 || len(r.stuck) == 0 {
		return out
	}
	d := &discipline{o: r.order(), r: r}
	for _, w := range r.stuck {
		if w.kind == actCollective {
			d.collectiveHang(w)
		}
	}
	return d.findings
}

// Uniformity reports the collectives of a module, in kernels and what they call, that only some ranks
// may reach; unsure says why others could not be decided. It looks at no rank count and takes
// microseconds.
func Uniformity(m *ir.Module) (findings []Finding, unsure string) {
	u := &uniformity{sums: map[*ir.Func]*summary{}, lists: map[*ir.Block]string{}, vals: map[*ir.Value]reason{}, seen: map[*ir.Op]bool{}}
	for _, f := range m.Funcs {
		if f.Kind == ir.Host {
			u.dispatches(f)
		}
	}
	// Taints only grow, and each walk is linear in the module: what loops carry back and calls hand on
	// takes a few walks to arrive, whatever the nesting. Then everything is known, and one more reports.
	for u.changed = true; u.changed; {
		u.changed = false
		u.functions(m)
	}
	u.report = true
	u.functions(m)
	return u.findings, u.unsure
}

// taint says what a value may depend on.
type taint uint8

const (
	onRank taint = 1 << iota // the rank's number
	onData                   // the content of memory
)

// reason is a taint and where it comes from.
type reason struct {
	t  taint
	at source.Span
}

func (a reason) or(b reason) reason {
	switch {
	case a.t&onRank == 0 && b.t&onRank != 0, a.t == 0:
		return reason{a.t | b.t, b.at}
	}
	return reason{a.t | b.t, a.at}
}

type summary struct {
	collective string // the first collective that a call reaches; "": none
	at         source.Span
}

type uniformity struct {
	sums     map[*ir.Func]*summary
	lists    map[*ir.Block]string // listOf, by block: nested branches ask twice at every level
	vals     map[*ir.Value]reason // over all calls and iterations
	changed  bool                 // some taint has grown in this walk
	report   bool                 // taints are final
	findings []Finding
	seen     map[*ir.Op]bool
	unsure   string
}

// join adds r to what is known of v.
func (u *uniformity) join(v *ir.Value, r reason) {
	old := u.vals[v]
	if now := old.or(r); now.t != old.t {
		u.vals[v], u.changed = now, true
	}
}

// dispatches: a scalar argument that differs between ranks makes the parameter depend on the rank.
func (u *uniformity) dispatches(f *ir.Func) {
	f.Body.Walk(func(op *ir.Op) {
		if op.Kind != ir.Call || op.Val("device") == nil {
			return
		}
		dev := op.Val("device")
		for i, a := range op.Vals("args") {
			if isScalar(a.Type) && !a.IsConst() && dependsOn(a, dev, 0) {
				u.join(op.Callee().Params()[i], reason{onRank, op.Span})
			}
		}
	})
}

// dependsOn reports whether v is computed from w.
func dependsOn(v, w *ir.Value, depth int) bool {
	if v == w {
		return true
	}
	if v.Def == nil || depth > 20 {
		return false
	}
	for _, o := range v.Def.Operands() {
		if dependsOn(o, w, depth+1) {
			return true
		}
	}
	return false
}

// functions walks every function that ranks run once; inline functions too, for all their calls at once.
func (u *uniformity) functions(m *ir.Module) {
	for _, f := range m.Funcs {
		if f.Kind == ir.Chip || f.Kind == ir.InCore || f.Kind == ir.Inline {
			u.block(f.Body, reason{})
		}
	}
}

// block walks ops under a condition that depends on ctl.
func (u *uniformity) block(b *ir.Block, ctl reason) {
	for _, op := range b.Ops {
		u.op(op, ctl)
	}
}

func (u *uniformity) op(op *ir.Op, ctl reason) {
	switch op.Kind {
	case ir.If:
		u.branch(op, ctl)
	case ir.For:
		r := u.of(op.Val("start")).or(u.of(op.Val("stop"))).or(u.of(op.Val("step")))
		u.join(op.Regions[0].Args[0], r)
		u.carried(op, op.Regions[0].Args[1:], ctl.or(r), r)
	case ir.While:
		r := u.condition(op)
		u.carried(op, op.Regions[0].Args, ctl.or(r), r)
	case ir.Call:
		u.call(op, ctl)
	case ir.Rank:
		u.join(op.Result(), reason{onRank, op.Span})
	case ir.Read:
		r := reason{onData, op.Span}
		for _, v := range op.Operands() {
			r = r.or(u.of(v))
		}
		u.join(op.Result(), r)
	default:
		if op.Kind.Composite {
			u.reached(op, op.Kind.Name, op.Span, ctl)
		}
		u.compute(op)
		for _, r := range op.Regions {
			u.block(r, ctl)
		}
	}
}

func (u *uniformity) of(v *ir.Value) reason {
	if v == nil || v.IsConst() {
		return reason{}
	}
	if _, ok := v.Type.(*ir.Tile); ok {
		return reason{onData, source.Span{}}
	}
	return u.vals[v]
}

// compute joins the taints of the operands.
func (u *uniformity) compute(op *ir.Op) {
	var r reason
	for _, v := range op.Operands() {
		if _, mem := v.Type.(*ir.Tensor); !mem {
			r = r.or(u.of(v))
		}
	}
	for _, v := range op.Results {
		u.join(v, r)
	}
}

// carried walks a loop's body; trip is the taint of how often it runs.
func (u *uniformity) carried(op *ir.Op, args []*ir.Value, ctl, trip reason) {
	body := op.Regions[0]
	hand := func(vals []*ir.Value) {
		for i, v := range vals {
			u.join(args[i], u.of(v))
		}
	}
	hand(op.Vals("init_values"))
	u.block(body, ctl)
	if t := body.Terminator(); t != nil {
		hand(t.Vals("values"))
	}
	for i, v := range op.Results {
		u.join(v, u.vals[args[i]].or(trip))
	}
}

// condition is the taint of a while loop's condition, as far as earlier walks know it.
func (u *uniformity) condition(op *ir.Op) reason {
	for _, o := range op.Regions[0].Ops {
		if o.Kind == ir.Cond {
			return u.of(o.Val("cond"))
		}
	}
	return reason{}
}

func (u *uniformity) branch(op *ir.Op, ctl reason) {
	r := u.of(op.Val("cond"))
	inner := ctl.or(r)
	if u.sameArms(op) {
		inner = ctl
	}
	for _, b := range op.Regions {
		u.block(b, inner)
	}
	for i, v := range op.Results {
		u.join(v, r)
		for _, b := range op.Regions {
			if t := b.Terminator(); t != nil {
				u.join(v, u.of(t.Vals("values")[i]))
			}
		}
	}
}

// sameArms reports whether both arms call the same collectives, not in loops.
func (u *uniformity) sameArms(op *ir.Op) bool {
	if len(op.Regions) < 2 {
		return false
	}
	a, b := u.listOf(op.Regions[0]), u.listOf(op.Regions[1])
	return a == b && a != ""
}

// listOf names the collectives of a block in order; "" if there are none.
func (u *uniformity) listOf(b *ir.Block) string {
	if list, known := u.lists[b]; known {
		return list
	}
	list := ""
	for _, op := range b.Ops {
		switch {
		case op.Kind.Composite:
			list += op.Kind.Name + operandsText(op)
		case op.Kind == ir.Call:
			if u.summary(op.Callee()).collective != "" {
				list += op.Callee().Name + operandsText(op)
			}
		case op.Kind == ir.If && u.sameArms(op):
			list += u.listOf(op.Regions[0])
		default:
			for _, r := range op.Regions {
				if l := u.listOf(r); l != "" {
					list += fmt.Sprintf("%p{%s}", op, l)
				}
			}
		}
	}
	u.lists[b] = list
	return list
}

// operandsText tells calls with different operands apart.
func operandsText(op *ir.Op) string {
	text := ""
	for _, v := range op.Operands() {
		text += fmt.Sprintf(" %p", v)
	}
	return text + ";"
}

// call follows scalars into the callee and out of it, and looks for collectives there.
func (u *uniformity) call(op *ir.Op, ctl reason) {
	f := op.Callee()
	for i, a := range op.Vals("args") {
		if isScalar(a.Type) {
			u.join(f.Params()[i], u.of(a))
		}
	}
	if s := u.summary(f); s.collective != "" {
		u.reached(op, s.collective, s.at, ctl)
	}
	u.compute(op)
	if t := f.Body.Terminator(); f.Kind == ir.Inline && t != nil {
		var r reason
		for _, v := range t.Vals("values") {
			r = r.or(u.of(v))
		}
		for _, v := range op.Results {
			u.join(v, r)
		}
	}
}

func (u *uniformity) summary(f *ir.Func) *summary {
	if s := u.sums[f]; s != nil {
		return s
	}
	s := &summary{}
	u.sums[f] = s
	f.Body.Walk(func(op *ir.Op) {
		if s.collective != "" {
			return
		}
		if op.Kind.Composite {
			s.collective, s.at = op.Kind.Name, op.Span
		} else if op.Kind == ir.Call {
			if in := u.summary(op.Callee()); in.collective != "" {
				s.collective, s.at = in.collective, in.at
			}
		}
	})
	return s
}

// reached: a collective is called under ctl.
func (u *uniformity) reached(op *ir.Op, name string, at source.Span, ctl reason) {
	switch {
	case !u.report || u.seen[op]:
	case ctl.t&onRank != 0:
		u.seen[op] = true
		d := diag.New(diag.RankDependent, op.Span, "%s is called only where a condition on the rank holds", name)
		if at != op.Span {
			d.Note(at, "the collective is called here")
		}
		d.Note(ctl.at, "the condition depends on the rank from here")
		d.Help("call it on every rank, and let the branch decide only what is computed")
		u.findings = append(u.findings, Finding{Diagnostic: d, Layer: "uniform"})
	case ctl.t&onData != 0 && u.unsure == "":
		u.unsure = fmt.Sprintf("whether all ranks call %s depends on data (%s)", name, op.Span)
	}
}
