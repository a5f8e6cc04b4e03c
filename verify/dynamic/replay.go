package dynamic

import (
	"fmt"

	"ptoc/ir"
	"ptoc/runtime/controller"
	"ptoc/runtime/sim"
	"ptoc/verify"
)

// Run is one run, watched.
type Run struct {
	What     string // how it was scheduled
	Findings []verify.Finding
	Timeline []verify.Event // all synchronisation and all accesses to windows
	Err      error          // why it ended early, where that is no finding
}

// Replay repeats the run that a token of a report stands for. s says how many ranks there are; extents and
// repeats are the token's.
func Replay(p *verify.Program, ranks int, text string, in Inputs) (*Run, error) {
	k, err := parseToken(text)
	if err != nil {
		return nil, err
	}
	s := verify.Scope{Ranks: ranks, Syms: k.syms, Repeats: k.repeats}
	for _, n := range p.Source.Func(p.Entry).DimSyms() {
		if _, ok := k.syms[n]; !ok {
			return nil, fmt.Errorf("the token does not belong to this program: it has no value for %s", n)
		}
	}
	var o *outcome
	what := k.policy.String()
	if k.explore {
		st := &steering{prefix: k.choices, pending: make([]bool, ranks), wild: map[cellID]bool{}}
		for _, c := range k.wild {
			st.wild[c] = true
		}
		o = st.execute(p.Context, p, s, in)
		what = fmt.Sprintf("a schedule of the explorer, %s", plural(len(k.choices), "choice"))
	} else {
		o = execute(p.Lowered, p.Entry, s, in, k.plan())
		if k.policy == Random {
			what += fmt.Sprintf(", seed %d", k.seed)
		}
	}
	r := &report{o: o, module: p.Lowered, scope: s, layer: "replay", replay: text}
	r.all()
	if !hasErrors(r.findings) && o.err == nil && len(o.t.stuck) == 0 {
		r.findings = append(r.findings, wrong(p, s, o, "replay")...)
	}
	run := &Run{What: what, Findings: r.findings, Timeline: o.t.whole()}
	if o.err != nil && o.fail == nil {
		run.Err = fmt.Errorf("%s", o.text())
	}
	return run, nil
}

// Sanitizer watches a run that somebody else drives.
type Sanitizer struct {
	o       *outcome
	lowered *ir.Module
	ranks   int
}

// Sanitize makes simulated ranks whose every access is watched. The findings are there after the run.
func Sanitize(lowered *ir.Module, ranks int, cfg sim.Config) (controller.Backend, *Sanitizer, error) {
	t := newTrace(ranks)
	o := &outcome{t: t, m: newMemory(t, Eager, 0)}
	o.m.fault = func(f unwritten) { o.unwritten = append(o.unwritten, f) }
	cfg.Ranks, cfg.Memory = ranks, o.m
	cfg.Hooks = o.hooks(plan{})
	inner, err := controller.NewSim(cfg)
	if err != nil {
		return nil, nil, err
	}
	s := &Sanitizer{o: o, lowered: lowered, ranks: ranks}
	b := &watched{backend{Backend: inner, t: t, m: o.m, outs: map[string]bool{}}}
	for _, f := range lowered.Funcs {
		for i, p := range f.Params() {
			if f.Kind == ir.Host && f.Dirs[i] == ir.Out {
				b.outs[p.Name] = true
			}
		}
	}
	return b, s, nil
}

// watched is a backend whose windows are fresh for each run, as the user of ptoc run expects.
type watched struct{ backend }

func (w *watched) ResetWindows() {
	w.Backend.ResetWindows()
	w.windows, w.next = nil, 0
}

// Findings is what the run showed.
func (s *Sanitizer) Findings() []verify.Finding {
	s.o.t.settle()
	r := &report{o: s.o, module: s.lowered, scope: verify.Scope{Ranks: s.ranks, Repeats: 1}, layer: "sanitizer"}
	r.all()
	return r.findings
}
