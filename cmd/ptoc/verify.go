package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ptoc/runtime/run"
	"ptoc/verify"
	"ptoc/verify/dynamic"
	"ptoc/verify/load"
)

func init() { commands = append(commands, newVerify()) }

func newVerify() *cobra.Command {
	var (
		o       load.Options
		ranks   string
		repeats int
		layers  string
		defines []string
		sets    []string
		budget  time.Duration
		look    looking
	)
	cmd := &cobra.Command{
		Use:   "verify FILE... [flags]",
		Short: "Prove that a program's signalling cannot hang, race, or compute the wrong thing",
		Long: `Verify looks at a program in several layers and answers, for each number of
ranks: proved, counterexample, or not checked (and why).

The exit code is 0 if everything is proved, 1 for a counterexample, and 3 if
something was not checked.

Layers: ` + strings.Join(layerNames(), ", ") + ".",
		Example: "  ptoc verify ring.pl --ranks 2..4\n  ptoc verify moe.pl --ranks 4 --repeat 3 -D N=16",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			counts, err := rankCounts(ranks)
			if err != nil {
				return err
			}
			if o.Defines, err = pairs("-D", defines); err != nil {
				return err
			}
			if o.Set, err = pairs("--set", sets); err != nil {
				return err
			}
			o.Context = cmd.Context()
			names := splitList(layers)
			if err := knownLayers(names); err != nil {
				return err
			}
			if budget <= 0 {
				return usagef("--budget must be more than 0, got %v", budget)
			}
			return verifyFiles(cmd, args, o, verifyScopes{counts, repeats, names, budget, look})
		},
	}
	look.flags(cmd)
	f := cmd.Flags()
	f.StringVarP(&ranks, "ranks", "n", "2..4", "numbers of ranks: `N`, N..M or a list of these")
	repeatFlag(f, &repeats, 1, "how often the host program runs on the same windows")
	f.DurationVar(&budget, "budget", verify.DefaultBudget, "what a layer that runs the program may take for each number of ranks: `TIME`; it then answers \"not checked\"")
	f.StringVar(&layers, "layers", "", "look only in these layers: `A,B`")
	f.StringVar(&o.Entry, "entry", "", "the host function to verify, or the factory or class that defines it")
	f.StringArrayVar(&sets, "set", nil, "`NAME=VALUE`: argument of the factory")
	f.StringArrayVarP(&defines, "define", "D", nil, "`NAME=VALUE`: replaces a constant, or binds a dynamic dimension")
	return cmd
}

type verifyScopes struct {
	ranks   []int
	repeats int
	layers  []string
	budget  time.Duration
	looking
}

// verifyFiles verifies each file and ends with the worst answer's exit code.
func verifyFiles(cmd *cobra.Command, files []string, o load.Options, s verifyScopes) error {
	worst := 0
	var found []verify.Finding
	dynamic.Register(s.ins)
	for _, name := range files {
		u, err := load.File(name, o)
		if err != nil {
			return err
		}
		rep := &verify.Report{File: name}
		for _, n := range s.ranks {
			p, err := u.Program(n)
			if err != nil {
				return err
			}
			if err := run.CheckInputs(p.Source.Func(p.Entry), s.ins); err != nil {
				return err
			}
			if s.emit != "" {
				return s.model(cmd.OutOrStdout(), p, p.Scope(n, s.repeats, u.Syms))
			}
			scope := p.Scope(n, s.repeats, u.Syms)
			scope.Inputs = s.ins
			p.Budget = s.budget
			r, err := interruptible(cmd.Context(), func() *verify.Report { return verify.Check(p, s.layers, []verify.Scope{scope}) })
			if err != nil {
				return err
			}
			rep.Verdicts = append(rep.Verdicts, r.Verdicts...)
		}
		if jsonErrors {
			if err := rep.WriteJSON(cmd.OutOrStdout()); err != nil {
				return err
			}
		} else {
			rep.WriteText(cmd.OutOrStdout())
		}
		found = append(found, rep.Findings()...)
		if code := rep.Status().ExitCode(); worst != 1 && code != 0 {
			worst = code
		}
	}
	if err := writePage(s.html, strings.Join(files, ", "), found); err != nil {
		return err
	}
	if worst != 0 {
		return exitCode(worst)
	}
	return nil
}

// interruptible does not wait for f once the context is done: the layers end, each at its own next look at it.
func interruptible[T any](ctx context.Context, f func() T) (T, error) {
	done := make(chan T, 1)
	go func() { done <- f() }()
	select {
	case x := <-done:
		return x, ctx.Err()
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// rankCounts reads "4", "2..4" or "2,4,8".
func rankCounts(s string) ([]int, error) {
	var out []int
	for _, part := range splitList(s) {
		lo, hi, isRange := strings.Cut(part, "..")
		if !isRange {
			hi = lo
		}
		a, err := strconv.Atoi(lo)
		b, err2 := strconv.Atoi(hi)
		if err != nil || err2 != nil || a < 1 || b < a || b > 64 {
			return nil, usagef("--ranks wants numbers from 1 to 64 such as 4, 2..4 or 2,8, got %q", s)
		}
		for n := a; n <= b; n++ {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return nil, usagef("--ranks is empty")
	}
	return out, nil
}

func layerNames() []string {
	var out []string
	for _, l := range verify.Layers() {
		out = append(out, l.Name())
	}
	return out
}

func knownLayers(names []string) error {
	for _, n := range names {
		known := false
		for _, l := range layerNames() {
			known = known || l == n
		}
		if !known {
			return usageError{fmt.Errorf("no layer is called %s; there are %s", n, strings.Join(layerNames(), ", "))}
		}
	}
	return nil
}
