package verify

import (
	"fmt"
	"strings"
	"time"

	"ptoc/ir"
	"ptoc/lang/diag"
)

// The static layers, in the order in which they run: what one of them needs of another it computes
// once, for both.
func init() {
	layers = []Layer{uniformLayer{}, boundsLayer{}, signalLayer{}, orderLayer{}, coreLayer{}, valueLayer{},
		absent{"memory", "weak memory, schedule by schedule"},
		absent{"schedules", "all schedules"}}
}

// absent stands for a layer that nothing linked into this program provides.
type absent struct{ name, what string }

func (a absent) Name() string { return a.name }
func (a absent) Check(*Program, Scope) Verdict {
	return Verdict{Reason: a.what + ": not available in this build"}
}

// Available names the layers that this program contains.
func Available() []string {
	var out []string
	for _, l := range layers {
		if _, missing := l.(absent); !missing {
			out = append(out, l.Name())
		}
	}
	return out
}

// Check runs the named layers (none named: all) over the program, once per scope.
func Check(p *Program, names []string, scopes []Scope) *Report {
	rep := &Report{File: p.File}
	for _, s := range scopes {
		for _, l := range layers {
			if len(names) > 0 && !contains(names, l.Name()) {
				continue
			}
			begin := time.Now()
			v := Verdict{Reason: "interrupted"}
			if p.context().Err() == nil {
				v = guardedCheck(l, p, s)
			}
			v.Elapsed = time.Since(begin)
			v.Layer, v.Scope = l.Name(), s
			switch l.(type) {
			case boundsLayer, signalLayer, orderLayer, coreLayer, valueLayer:
				if p.followed() {
					v.Given = strings.TrimPrefix(v.Given+"; "+GivenInputs, "; ")
				}
			}
			rep.Verdicts = append(rep.Verdicts, v)
		}
		clear(p.runs) // traces are large, and no other scope needs them
	}
	return rep
}

// GivenInputs is what a verdict adds where what ranks do depends on data.
const GivenInputs = "for the given inputs: what ranks do depends on them"

// followed reports whether a run had to take the given inputs to get through.
func (p *Program) followed() bool {
	for _, r := range p.runs {
		if r.given.used {
			return true
		}
	}
	return false
}

// guardedCheck turns a panic of a layer into an answer: a fault of ours proves nothing about the program.
func guardedCheck(l Layer, p *Program, s Scope) (v Verdict) {
	defer func() {
		if e := recover(); e != nil {
			v = Verdict{Reason: fmt.Sprintf("internal error, please report it: %v", e)}
		}
	}()
	return l.Check(p, s)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// boundsLayer reports what the run found to lie outside of its memory or domain, and memory that is passed twice.
type boundsLayer struct{}

func (boundsLayer) Name() string { return "bounds" }

func (boundsLayer) Check(p *Program, s Scope) Verdict {
	r := p.run(s)
	v := Verdict{}
	for _, f := range r.faults {
		switch f.Code {
		case diag.OutOfBounds, diag.NoSuchPeer, diag.OverlapAtRun:
			f.Layer = "bounds"
			v.Findings = append(v.Findings, f)
		}
	}
	switch {
	case len(v.Findings) > 0:
		v.Status = Counterexample
	case r.gaveUp != "":
		v.Reason = r.gaveUp
	case len(r.stuck) > 0:
		v.Reason = "the program hangs before its end"
	default:
		v.Status, v.Reason = Proved, p.everyRankCount()
	}
	return v
}

// coreLayer proves that no block waits for one that cannot be running. The executor runs blocks one after the
// other, as one core does: what gets through that way gets through on any number of cores that take blocks in
// order. The iterations of pl.parallel have no order, so they may not wait for each other at all.
type coreLayer struct{}

func (coreLayer) Name() string { return "cores" }

func (coreLayer) Check(p *Program, s Scope) Verdict {
	r := p.run(s)
	if r.gaveUp != "" {
		return Verdict{Reason: r.gaveUp}
	}
	d := &discipline{o: r.order(), r: r}
	for _, w := range r.stuck {
		if w.kind == actWait && d.blockOfSpmd(w) != nil {
			d.hang(w)
		}
	}
	if len(r.stuck) == 0 {
		d.iterations()
	}
	waits := 0
	for _, a := range r.order().all {
		if a.kind == actWait && a.blk != nil {
			waits++
		}
	}
	switch {
	case len(d.findings) > 0:
		return Verdict{Status: Counterexample, Findings: d.findings}
	case waits > 0 && len(r.stuck) > 0:
		return Verdict{Reason: "the program hangs before its end"}
	case waits > 0:
		return Verdict{Status: Proved, Reason: fmt.Sprintf("blocks in order on one core; %s in blocks", plural(waits, "wait"))}
	}
	return Verdict{Status: Proved, Reason: "no block waits"}
}

// entryFunc is the host function in the module as checked.
func (p *Program) entryFunc() *ir.Func { return p.Source.Func(p.Entry) }
