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
		return Verdict{Reason: tooLarge + "; smaller ones can be given with -D"}
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
	elems   int
	numeric int // elements that are equal on random inputs only
	wrong   []Finding
}

func (c *comparison) compare() Verdict {
	against, reason := c.expected()
	if reason != "" {
		return Verdict{Reason: reason}
	}
	for repeat, hc := range c.r.calls {
		f := c.p.Final.Func(c.p.Entry)
		for i, p := range f.Params() {
			if hc.args[i].mem != nil && f.Dirs[i] != ir.In {
				c.param(p, hc.args[i].mem, against(repeat, i), repeat)
			}
		}
	}
	switch {
	case len(c.wrong) > 0:
		return Verdict{Status: Counterexample, Findings: c.wrong}
	case c.elems == 0:
		return Verdict{Reason: "the program has no outputs to compare"}
	case c.numeric > 0:
		return Verdict{Reason: fmt.Sprintf("%d of %d elements are not sums, maxima or moves of inputs; they are equal on random inputs", c.numeric, c.elems)}
	}
	return Verdict{Status: Proved, Reason: fmt.Sprintf("%s, symbolically", plural(c.elems, "element"))}
}

// expected gives the elements that parameter i should hold after a repeat.
func (c *comparison) expected() (func(repeat, i int) []term.T, string) {
	if g := c.p.golden(); g != nil {
		outs, reason := c.runGolden(g)
		return func(repeat, i int) []term.T { return outs[repeat][i] }, reason
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
	return func(repeat, i int) []term.T { return ref.calls[repeat].args[i].mem.elements(ref) }, ""
}

func hasCollectives(m *ir.Module) bool {
	found := false
	for _, f := range m.Funcs {
		f.Walk(func(op *ir.Op) { found = found || op.Kind.Composite })
	}
	return found
}

// elements are the whole content of a host tensor.
func (v *view) elements(r *run) []term.T { return r.take(whole(v)) }

// runGolden runs the golden function on the inputs of every repeat.
func (c *comparison) runGolden(g *ir.Func) (outs []map[int][]term.T, reason string) {
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
			got := map[int][]term.T{}
			for i, a := range args {
				if a.mem != nil && host.Dirs[i] != ir.In {
					got[i] = a.mem.elements(r)
				}
			}
			outs = append(outs, got)
		}
	})
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

// param compares one output.
func (c *comparison) param(p *ir.Value, v *view, want []term.T, repeat int) {
	got := v.elements(c.r)
	vals := []*term.Values{term.NewValues(c.r.space, 1), term.NewValues(c.r.space, 2), term.NewValues(c.r.space, 3)}
	for i := range got {
		c.elems++
		if got[i] == want[i] || c.r.space.IsUndef(want[i]) {
			continue
		}
		if c.close(vals, got[i], want[i]) {
			c.numeric++
			continue
		}
		c.report(p, v, i, got[i], want[i], repeat)
		return
	}
}

func (c *comparison) close(vals []*term.Values, a, b term.T) bool {
	if c.r.space.IsUndef(a) {
		return false
	}
	for _, v := range vals {
		if equal, known := v.Close(a, b); !equal || !known {
			return false
		}
	}
	return true
}

func (c *comparison) report(p *ir.Value, v *view, i int, got, want term.T, repeat int) {
	f := c.p.Final.Func(c.p.Entry)
	in := ""
	if repeat > 0 {
		in = fmt.Sprintf(" after repeat %d", repeat+1)
	}
	d := diag.New(diag.WrongValue, f.Span, "%s%s is not what it should be", v.mem.elementName(int64(i)*v.mem.size), in)
	d.Note(source.Span{}, "it is %s", c.r.space.Text(got))
	d.Note(source.Span{}, "it should be %s", c.r.space.Text(want))
	if g := c.p.golden(); g != nil {
		d.Note(g.Span, "says the golden function")
	}
	c.wrong = append(c.wrong, Finding{Diagnostic: d, Layer: "values", Scope: c.scope})
}
