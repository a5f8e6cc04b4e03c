// Package opt runs passes on a file and shows what they do: the library behind `ptoc opt`.
package opt

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"ptoc/internal/textdiff"
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/passes"
	"ptoc/verify"
)

// Job says what to do with a file.
type Job struct {
	Check  check.Options
	Passes []string // nil: what the file's first line names (reproducers), or all
	Until  string
	Target string
	Ranks  int
	Cache  int64 // as in passes.Options

	VerifyEach    bool // after every pass: verify, round-trip, compare the synchronisation with that before
	PrintAfterAll bool // write the module after every pass to Trace
	Diff          bool // write what every pass changed to Trace
	Color         bool
	JSON          bool // Out gets one JSON object with everything

	Out   io.Writer // the final IR; nil: nowhere
	Trace io.Writer
	Times io.Writer // a table of times; nil: none
}

// Step is what one pass did.
type Step struct {
	Pass string  `json:"pass"`
	MS   float64 `json:"ms"`
	Ops  int     `json:"ops"` // afterwards
	IR   string  `json:"ir,omitempty"`
}

// Run does the job. Diagnostics of the program are in the list; the error is about writing.
func (j Job) Run(file *source.File) (*diag.List, error) {
	list := &diag.List{}
	begin := time.Now()
	m := passes.Load(file, j.Check, list)
	if list.HasErrors() {
		return list, j.writeJSON(nil, nil, list)
	}
	r := &run{j: j}
	r.step(Step{Pass: "parse and check"}, m, time.Since(begin))
	list.Merge(passes.Run(m, j.options(file, r)))
	if list.HasErrors() {
		return list, j.writeJSON(r, nil, list)
	}
	if r.err == nil && j.Out != nil {
		r.err = j.writeJSON(r, m, list)
		if !j.JSON {
			_, r.err = io.WriteString(j.Out, ir.Print(m))
		}
	}
	if r.err == nil && j.Times != nil {
		r.err = r.times()
	}
	return list, r.err
}

func (j Job) options(file *source.File, r *run) passes.Options {
	o := passes.Options{Passes: j.Passes, Until: j.Until, VerifyEach: j.VerifyEach, Target: j.Target, Ranks: j.Ranks, Cache: j.Cache, Context: j.Check.Context}
	if j.Passes == nil {
		if names, ok := passes.PassesOf(file.Text); ok { // a reproducer: to see what it shows, one has to look
			o.Passes, o.VerifyEach = names, true
		}
	}
	if o.VerifyEach {
		o.Reparse = passes.Reparse
		o.Watch = verify.WatchSync(j.Check.Entry, 0)
	}
	o.After = func(p passes.Pass, m *ir.Module, took time.Duration) { r.step(Step{Pass: p.Name}, m, took) }
	return o
}

func (j Job) writeJSON(r *run, m *ir.Module, list *diag.List) error {
	if !j.JSON || j.Out == nil {
		return nil
	}
	var diags strings.Builder
	if err := diag.RenderJSON(&diags, list); err != nil {
		return err
	}
	out := struct {
		IR          string          `json:"ir,omitempty"`
		Steps       []Step          `json:"steps"`
		Diagnostics json.RawMessage `json:"diagnostics"`
	}{Steps: []Step{}, Diagnostics: json.RawMessage(diags.String())}
	if m != nil {
		out.IR = ir.Print(m)
	}
	if r != nil {
		out.Steps = r.steps
	}
	enc := json.NewEncoder(j.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// run collects what happens on the way.
type run struct {
	j     Job
	steps []Step
	text  string // the module after the last pass, where somebody wants to see it
	err   error
}

func (r *run) step(s Step, m *ir.Module, took time.Duration) {
	s.MS = float64(took.Microseconds()) / 1000
	for _, f := range m.Funcs {
		f.Walk(func(*ir.Op) { s.Ops++ })
	}
	if r.j.PrintAfterAll || r.j.Diff {
		r.trace(&s, ir.Print(m))
	}
	r.steps = append(r.steps, s)
}

func (r *run) trace(s *Step, text string) {
	before := r.text
	r.text = text
	if r.j.JSON {
		s.IR = text
		return
	}
	switch first := len(r.steps) == 0; {
	case r.j.PrintAfterAll:
		r.printf("# after %s\n%s\n", s.Pass, text)
	case first:
	case before == text:
		r.printf("# %s changes nothing\n\n", s.Pass)
	default:
		r.printf("# %s\n%s\n", s.Pass, textdiff.Lines(before, text, r.j.Color))
	}
}

func (r *run) printf(format string, args ...any) {
	if r.j.Trace == nil || r.err != nil {
		return
	}
	_, r.err = fmt.Fprintf(r.j.Trace, format, args...)
}

// times writes the table of --time-passes.
func (r *run) times() error {
	total := 0.0
	for _, s := range r.steps {
		total += s.MS
	}
	w := tabwriter.NewWriter(r.j.Times, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "ms\tshare\tops\t  pass\n")
	for _, s := range r.steps {
		fmt.Fprintf(w, "%.3f\t%.0f%%\t%d\t  %s\n", s.MS, 100*s.MS/max(total, 1e-9), s.Ops, s.Pass)
	}
	fmt.Fprintf(w, "%.3f\t\t\t  total\n", total)
	return w.Flush()
}
