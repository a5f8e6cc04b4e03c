package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ptoc/codegen/toolchain"
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/entry"
	"ptoc/runtime/run"
	"ptoc/verify"
	"ptoc/verify/load"
)

// program is a file with the conditions under which it is tested.
type program struct {
	o       *Options
	file    string
	ranks   []int
	fixed   bool // somebody asked for just these
	repeats int
	defines map[string]string
	inputs  []string // NAME=SPEC
}

// inputsOf are the inputs that are given to an entry: others are another one's.
func (p *program) inputsOf(entry *ir.Func) []string {
	var out []string
	for _, text := range p.inputs {
		if takes(entry, nameOf(text)) {
			out = append(out, text)
		}
	}
	return out
}

// override gives inputs that count more than those of the same names.
func (p *program) override(inputs []string) {
	for _, text := range inputs {
		p.inputs = slices.DeleteFunc(p.inputs, func(old string) bool { return nameOf(old) == nameOf(text) })
	}
	p.inputs = append(p.inputs, inputs...)
}

// strayInput is the name of an input that nothing in the file takes, or nothing.
func (p *program) strayInput(m *ir.Module) string {
	for _, text := range p.inputs {
		if !slices.ContainsFunc(m.Funcs, func(f *ir.Func) bool { return f.Kind != ir.Golden && takes(f, nameOf(text)) }) {
			return nameOf(text)
		}
	}
	return ""
}

func nameOf(input string) string {
	name, _, _ := strings.Cut(input, "=")
	return name
}

func takes(f *ir.Func, param string) bool {
	return slices.ContainsFunc(f.Params(), func(p *ir.Value) bool { return p.Name == param })
}

// goldens are one test per golden function, number of ranks and backend.
func (p *program) goldens(m *ir.Module) []*Test {
	var out []*Test
	for _, g := range m.Funcs {
		entry := m.Func(g.GoldenOf)
		if g.Kind != ir.Golden || entry == nil {
			continue
		}
		ranks := p.ranks
		if entry.Kind != ir.Host {
			ranks = []int{1}
		}
		for _, backend := range p.o.backends() {
			for _, n := range ranks {
				out = append(out, &Test{File: p.file, What: "golden " + g.Name + ", " + backend, Ranks: n,
					run: func(ctx context.Context, t *Test) { p.golden(ctx, t, entry, backend) }})
			}
		}
	}
	return out
}

func (p *program) golden(ctx context.Context, t *Test, entry *ir.Func, backend string) {
	if _, err := toolchain.Find(); backend == "native" && err != nil {
		t.end(Skipped, "there is no C++ compiler")
		return
	}
	r, err := run.Run(ctx, run.Options{File: p.file, Entry: entry.Name, Defines: p.defines, Ranks: t.Ranks, Backend: backend,
		Ins: p.inputsOf(entry), Check: true, Timeout: p.o.Timeout})
	if err == nil {
		err = r.Err()
	}
	var d *diag.Diagnostic
	switch {
	case errors.As(err, &d) && d.Code == diag.NoEntry: // a kernel that others call
		t.end(Skipped, d.Message)
	case err != nil && p.unfit(err):
		t.end(Skipped, "not for this number of ranks")
	case err != nil:
		t.fail(err)
	default:
		t.pass(largest(r.Outputs))
	}
}

// unfit reports whether a program cannot run on the number of ranks that was tried for want of better
// knowledge.
func (p *program) unfit(err error) bool {
	var d *diag.Diagnostic
	if p.fixed || !errors.As(err, &d) {
		return false
	}
	return d.Code == diag.SymbolConflict || d.Code == diag.WorldSizeWrong || d.Code == diag.HostFault || d.Code == diag.AccessOutside
}

// largest is the largest error of all outputs.
func largest(outs []run.Output) string {
	if len(outs) == 0 {
		return ""
	}
	worst := outs[0]
	for _, o := range outs {
		if o.MaxAbs > worst.MaxAbs {
			worst = o
		}
	}
	return fmt.Sprintf("largest error %.3g in %s", worst.MaxAbs, worst.Name)
}

// verifications are one test per host function and number of ranks.
func (p *program) verifications(m *ir.Module) []*Test {
	var out []*Test
	for _, host := range entry.Hosts(m) {
		for _, n := range p.ranks {
			out = append(out, &Test{File: p.file, What: "verify " + host.Name, Ranks: n,
				run: func(ctx context.Context, t *Test) { p.verify(ctx, t, host) }})
		}
	}
	return out
}

func (p *program) verify(ctx context.Context, t *Test, entry *ir.Func) {
	u, err := load.File(p.file, load.Options{Defines: p.defines, Entry: entry.Name, Context: ctx})
	if err != nil {
		t.fail(err)
		return
	}
	prog, err := u.Program(t.Ranks)
	if err != nil {
		t.fail(err)
		return
	}
	layers := p.o.Layers
	if layers == nil {
		layers = verify.Available()
	}
	scope := prog.Scope(t.Ranks, p.repeats, u.Syms)
	scope.Inputs = p.inputsOf(entry)
	r := verify.Check(prog, layers, []verify.Scope{scope})
	switch r.Status() {
	case verify.Proved:
		t.pass("proved")
	case verify.NotChecked:
		t.end(NotChecked, unchecked(r))
	default:
		list := &diag.List{}
		for _, f := range r.Findings() {
			list.Add(f.Diagnostic)
		}
		if p.fixed || !unfitFindings(list) {
			t.fail(list)
			return
		}
		t.end(Skipped, "not for this number of ranks")
	}
}

// unfitFindings: all that is wrong is that peers or ranks are missing or left over.
func unfitFindings(list *diag.List) bool {
	for _, d := range list.Sorted() {
		if d.Code != diag.NoSuchPeer {
			return false
		}
	}
	return list.Len() > 0
}

// unchecked names the layers that gave no answer, and the first reason.
func unchecked(r *verify.Report) string {
	var names []string
	reason := ""
	for _, v := range r.Verdicts {
		if v.Status == verify.NotChecked {
			names = append(names, v.Layer)
			if reason == "" {
				reason = v.Reason
			}
		}
	}
	return strings.Join(names, ", ") + ": " + reason
}
