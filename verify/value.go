package verify

import (
	"fmt"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/verify/term"
)

// valueLayer runs the program as the last pass left it on symbolic inputs and compares what it wrote with the golden
// function or, where there is none, with the program before lowering, in which every collective does
// what it means. One schedule stands for all where the order layer has proved that nothing races.
type valueLayer struct{}

func (valueLayer) Name() string { return "values" }

func (valueLayer) Check(p *Program, s Scope) Verdict {
	r := p.final(s)
	switch {
	case r.gaveUp != "":
		return Verdict{Reason: r.gaveUp}
	case !r.values:
		return Verdict{Reason: tooManyTerms + "; smaller extents can be given with -D"}
	case len(r.stuck) > 0:
		return Verdict{Reason: "the program hangs before its end"}
	}
	if f := p.run(s).unwritten(); len(f) > 0 { // by the op that the program wrote
		return Verdict{Status: Counterexample, Findings: f}
	}
	c := &comparison{p: p, r: r, scope: s}
	v := c.compare()
	if v.Status != Proved {
		return v
	}
	switch (orderLayer{}).Check(p, s).Status {
	case Counterexample:
		return Verdict{Reason: "what one schedule computes is right, but the program races"}
	case NotChecked:
		return Verdict{Reason: "what one schedule computes is right; other schedules may differ"}
	}
	return v
}

// unwritten are the reads of undefined memory that the run came across.
func (r *run) unwritten() []Finding {
	var out []Finding
	for _, f := range r.faults {
		if f.Code == diag.Unwritten {
			out = append(out, f)
		}
	}
	return out
}

type comparison struct {
	p       *Program
	r       *run
	scope   Scope
	elems   int64
	checked int64
	numeric int64 // elements that are equal on random inputs only
	unsaid  int64 // elements that the specification leaves undefined
	wrong   []Finding
	vals    []*term.Values
}

func (c *comparison) compare() Verdict {
	against, reason := c.expected()
	if reason != "" {
		return Verdict{Reason: reason}
	}
	f := c.p.Final.Func(c.p.Entry)
	for repeat, hc := range c.r.calls {
		for i := range f.Params() {
			if m := hc.args[i].mem; m != nil && f.Dirs[i] != ir.In {
				c.elems += product(m.dims)
			}
		}
		for i := range f.Params() {
			if m := hc.args[i].mem; m != nil && f.Dirs[i] != ir.In {
				want := against(repeat, i)
				reason = guarded(func() { c.param(m, want, repeat) })
			}
		}
	}
	switch {
	case len(c.wrong) > 0:
		return Verdict{Status: Counterexample, Findings: c.wrong}
	case c.elems == 0:
		return Verdict{Reason: "the program has no outputs to compare"}
	case c.checked < c.elems && reason != tooManyTerms:
		return Verdict{Reason: reason}
	case c.checked < c.elems:
		return Verdict{Reason: fmt.Sprintf("checked %d of %d elements, which are right; the others would take too long: smaller extents can be given with -D", c.checked, c.elems)}
	case c.unsaid > 0 && c.p.golden() != nil: // a collective may leave rows undefined, a golden function forgot them
		return Verdict{Reason: fmt.Sprintf("the golden function says nothing of %d of %d elements", c.unsaid, c.elems)}
	case c.numeric > 0:
		return Verdict{Reason: fmt.Sprintf("%d of %d elements are not sums, maxima or moves of inputs; they are equal on random inputs", c.numeric, c.elems)}
	}
	v := Verdict{Status: Proved, Reason: fmt.Sprintf("%s, symbolically", plural(int(c.elems), "element"))}
	if countsIntegers(c.p.Source) {
		v.Given = "as long as no integer overflows"
	}
	return v
}

// countsIntegers reports whether kernels compute with integers that are data: terms are numbers of any size, but these wrap.
func countsIntegers(m *ir.Module) bool {
	found := false
	for _, f := range m.Funcs {
		if f.Kind == ir.Host || f.Kind == ir.Golden {
			continue
		}
		f.Body.Walk(func(op *ir.Op) { found = found || mayOverflow(op) })
	}
	return found
}

// mayOverflow reports whether an op makes integers that may be larger than its operands.
func mayOverflow(op *ir.Op) bool {
	isInts := func(t ir.Type) bool { dt := ir.DTypeOf(t); return dt.IsInt() && dt != ir.BOOL }
	if op.Kind.Composite {
		return (op.Enum("op").Is("Sum") || op.Enum("op").Is("Prod")) && isInts(op.Val("target").Type)
	}
	if op.Enum("atomic").Is("Add") {
		for _, e := range op.Kind.Effects {
			if e.Atomic != "" && isInts(op.Val(e.Mem).Type) {
				return true
			}
		}
	}
	if op.Result() == nil || !isInts(op.Result().Type) || isScalar(op.Result().Type) && ir.DTypeOf(op.Result().Type) == ir.INDEX {
		return false
	}
	switch op.Kind.Scalar {
	case "add", "sub", "mul", "neg", "abs", "shl":
		return true
	}
	switch op.Kind {
	case ir.Sum, ir.Prod, ir.MatMul, ir.MatMulAcc:
		return true
	case ir.Cast:
		from := ir.DTypeOf(op.Val("x").Type)
		return !isScalar(op.Result().Type) && (from.IsFloat() || from.Size() > ir.DTypeOf(op.Result().Type).Size())
	}
	return false
}

// expected gives the elements that parameter i should hold after a repeat.
func (c *comparison) expected() (func(repeat, i int) elems, string) {
	if g := c.p.golden(); g != nil {
		outs, reason := c.runGolden(g)
		return func(repeat, i int) elems { return outs[repeat][i] }, reason
	}
	if c.p.Source == c.p.Lowered {
		return nil, "there is no golden function to compare with"
	}
	if !hasCollectives(c.p.Source) {
		return nil, "there is neither a golden function nor a collective to compare with"
	}
	ref := attemptIn(c.r.space, c.p.Source, c.p.Entry, c.scope)
	if ref.gaveUp != "" || len(ref.stuck) > 0 || len(ref.faults) > 0 {
		return nil, "the program before lowering cannot be followed: " + ref.gaveUp
	}
	c.r.given.used = c.r.given.used || ref.given.used
	return func(repeat, i int) elems { return ref.calls[repeat].args[i].mem.elements(ref) }, ""
}

func hasCollectives(m *ir.Module) bool {
	found := false
	for _, f := range m.Funcs {
		f.Walk(func(op *ir.Op) { found = found || op.Kind.Composite })
	}
	return found
}

// elements are the whole content of a host tensor.
func (v *view) elements(r *run) elems { return r.take(whole(v)) }

// runGolden runs the golden function on the inputs of every repeat.
func (c *comparison) runGolden(g *ir.Func) (outs []map[int]elems, reason string) {
	r := newRun(c.p.Source, c.scope, true)
	r.space = c.r.space
	host := c.p.Final.Func(c.p.Entry)
	reason = guarded(func() {
		for repeat, hc := range c.r.calls {
			args := make([]value, len(hc.args))
			for i, a := range hc.args {
				args[i] = a
				if a.mem != nil {
					args[i] = value{mem: r.hostTensor(host.Params()[i].Name, repeat, a.mem.dims, a.mem.dt, host.Dirs[i])}
				}
			}
			fr := r.frame(g, args, c.scope.Syms, nil)
			fr.golden = true
			r.block(fr, g.Body)
			got := map[int]elems{}
			for i, a := range args {
				if a.mem != nil && host.Dirs[i] != ir.In {
					got[i] = a.mem.elements(r)
				}
			}
			outs = append(outs, got)
		}
	})
	c.r.given.used = c.r.given.used || r.given.used
	if reason != "" {
		reason = "the golden function cannot be followed: " + reason
	} else if len(r.faults) > 0 {
		reason = "the golden function is wrong itself: " + r.faults[0].Message
	}
	return outs, reason
}

// attemptIn executes a program with another run's terms.
func attemptIn(space *term.Space, m *ir.Module, entry string, s Scope) *run {
	r := newRun(m, s, true)
	r.space = space
	r.start(entry)
	return r
}

// param compares one output. Of one that may be too large to be compared as a whole, elements from all over
// it come first.
func (c *comparison) param(v *view, want elems, repeat int) {
	got := v.elements(c.r)
	n := got.len()
	stride := int64(1)
	if n > denseOrigin {
		for stride = n*55/89 | 1; gcd(stride, n) != 1; stride += 2 {
		}
	}
	for i, at := int64(0), int64(0); i < n; i, at = i+1, (at+stride)%n {
		if !c.element(got.at(at), want.at(at)) {
			c.report(v, at, got.at(at), want.at(at), repeat)
			return
		}
		c.checked++
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// element compares one element: as a term, as a term whose inner products are joined, on random inputs.
func (c *comparison) element(got, want term.T) bool {
	s := c.r.space
	if s.IsUndef(want) {
		c.unsaid++
		return true
	}
	if got == want {
		return true
	}
	if s.IsUndef(got) {
		return false
	}
	if c.vals == nil {
		c.vals = []*term.Values{term.NewValues(s, 1), term.NewValues(s, 2), term.NewValues(s, 3)}
	}
	for _, v := range c.vals {
		if equal, known := v.Close(got, want); !equal || !known {
			return false
		}
	}
	if s.Canonical(got) != s.Canonical(want) {
		c.numeric++
	}
	return true
}

func (c *comparison) report(v *view, i int64, got, want term.T, repeat int) {
	f := c.p.Final.Func(c.p.Entry)
	in := ""
	if repeat > 0 {
		in = fmt.Sprintf(" after repeat %d", repeat+1)
	}
	d := diag.New(diag.WrongValue, f.Span, "%s%s is not what it should be", v.mem.elementName(i*v.mem.size), in)
	d.Note(source.Span{}, "it is %s", c.r.space.Text(got))
	d.Note(source.Span{}, "it should be %s", c.r.space.Text(want))
	if g := c.p.golden(); g != nil {
		d.Note(g.Span, "says the golden function")
	}
	c.wrong = append(c.wrong, Finding{Diagnostic: d, Layer: "values", Scope: c.scope})
}
