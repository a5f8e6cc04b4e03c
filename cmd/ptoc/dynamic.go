package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ptoc/internal/wholefile"
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/runtime/controller"
	"ptoc/runtime/run"
	"ptoc/runtime/sim"
	"ptoc/verify"
	"ptoc/verify/dynamic"
	"ptoc/verify/load"
	"ptoc/verify/timeline"
)

// watching are the flags of ptoc run that look at a run instead of only doing it.
type watching struct {
	sanitize bool
	replay   string
	html     string
}

func (w *watching) flags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&w.sanitize, "sanitize", false, "run on the simulator and look for races, deadlocks and reads of what nobody wrote")
	f.StringVar(&w.replay, "replay", "", "repeat the run of a report of ptoc verify: its `TOKEN`")
	f.StringVar(&w.html, "html", "", "with --replay or --sanitize: draw what was found into `FILE`")
}

// on reports whether the run is to be watched.
func (w *watching) on() bool { return w.sanitize || w.replay != "" }

func (w *watching) run(cmd *cobra.Command, o run.Options) error {
	if w.replay != "" {
		return w.runReplay(cmd, o)
	}
	var s *dynamic.Sanitizer
	o.Backend = "sim"
	o.Open = func(lowered *ir.Module, ranks int) (b controller.Backend, err error) {
		b, s, err = dynamic.Sanitize(lowered, ranks, sim.Config{Timeout: o.Timeout})
		return b, err
	}
	err := runProgram(cmd, o)
	if s == nil {
		return err
	}
	found := s.Findings()
	if len(found) == 0 {
		return err
	}
	if e := w.show(cmd.OutOrStdout(), o.File, found); e != nil {
		return e
	}
	if err == nil || hasFaults(found) { // they explain what the run ended with
		return faultsCode(found)
	}
	return err
}

func (w *watching) runReplay(cmd *cobra.Command, o run.Options) error {
	u, err := load.File(o.File, load.Options{Defines: o.Defines, Set: o.Set, Entry: o.Entry, Context: cmd.Context()})
	if err != nil {
		return err
	}
	if o.Ranks == 0 {
		return usagef("--replay needs --ranks: the report says how many")
	}
	p, err := u.Program(o.Ranks)
	if err != nil {
		return err
	}
	r, err := dynamic.Replay(p, o.Ranks, w.replay, o.Ins)
	if err != nil {
		return usageError{err}
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s on %d ranks: %s\n", o.File, o.Ranks, r.What)
	verify.WriteTimeline(out, r.Timeline)
	if err := w.show(out, o.File, r.Findings); err != nil {
		return err
	}
	if r.Err != nil {
		return r.Err
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(out, "nothing was found in this run: it is another program than the one of the report")
	}
	return faultsCode(r.Findings)
}

// show prints findings, and draws them where the user asks for it.
func (w *watching) show(out io.Writer, file string, found []verify.Finding) error {
	for _, f := range found {
		list := &diag.List{}
		list.Add(f.Diagnostic)
		diag.Print(out, list)
		verify.WriteTimeline(out, f.Timeline)
	}
	return writePage(w.html, file, found)
}

func hasFaults(found []verify.Finding) bool {
	for _, f := range found {
		if f.Severity == diag.Error {
			return true
		}
	}
	return false
}

func faultsCode(found []verify.Finding) error {
	if hasFaults(found) {
		return exitCode(exitError)
	}
	return nil
}

// writePage draws findings into a file; "" writes nothing.
func writePage(name, title string, found []verify.Finding) error {
	if name == "" {
		return nil
	}
	return wholefile.Write(name, func(w io.Writer) error { return timeline.WriteHTML(w, title, found) })
}

// looking are the flags of ptoc verify that only its dynamic layers need.
type looking struct {
	ins  []string
	html string
	emit string
}

func (l *looking) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&l.ins, "in", nil, "`NAME=SPEC`: an input of the layers that run the program, as for ptoc run")
	f.StringVar(&l.html, "html", "", "draw the findings and their timelines into `FILE`")
	f.StringVar(&l.emit, "emit", "", "write the signalling as a model instead of verifying it: `promela`")
}

// model writes the signalling of a program for another model checker.
func (l *looking) model(w io.Writer, p *verify.Program, s verify.Scope) error {
	if l.emit != "promela" {
		return usagef("--emit knows promela, not %q", l.emit)
	}
	m, exact, err := dynamic.Model(p, s, l.ins)
	if err != nil {
		return err
	}
	if exact != "" {
		return fmt.Errorf("the steps of a rank depend on the schedule, so that no such model is exact: %s", exact)
	}
	_, err = io.WriteString(w, m.Promela())
	return err
}
