package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ptoc/internal/suite"
	"ptoc/internal/textdiff"
	"ptoc/runtime/run"
)

func init() { commands = append(commands, newTest()) }

// exitNotChecked is the exit code for what could not be answered, as of ptoc verify.
const exitNotChecked = 3

func newTest() *cobra.Command {
	var o suite.Options
	var ranks, backends, layers, match string
	var defines []string
	var strict bool
	cmd := &cobra.Command{
		Use:   "test [FILE|DIR...] [flags]",
		Short: "Run the golden checks, verification and snapshots of programs",
		Long: `Test runs everything that programs say about themselves: each golden function,
on several numbers of ranks; verification of each host function; and snapshots,
which are .txtar archives of a program, a command and the IR that it prints.
Without arguments it looks at the current folder.

A program may say how it is tested, in comments at its beginning:

  # ranks: 2..4
  # define: N=16
  # repeats: 3
  # in: scale=0.5

The exit code is 0 if nothing failed and 1 if something did. With --strict it is
3 if something was not checked or skipped, or if there was nothing to test.`,
		Example: "  ptoc test kernels/\n  ptoc test ring.pl --ranks 2,8 --backend native,sim --run golden\n  ptoc test snapshots/ --update",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if ranks != "" {
				if o.Ranks, err = suite.ParseRanks(ranks); err != nil {
					return usagef("--ranks: %v", err)
				}
			}
			if o.Match, err = regexp.Compile(match); err != nil {
				return usagef("--run: %v", err)
			}
			if o.Defines, err = pairs("-D", defines); err != nil {
				return err
			}
			if _, err := pairs("--in", o.Inputs); err != nil {
				return err
			}
			if backends != "" {
				o.Backends = splitList(backends)
			}
			for _, b := range o.Backends {
				if !slices.Contains(run.Backends, b) {
					return usagef("--backend wants native, sim or both, got %q", b)
				}
			}
			if layers != "" {
				o.Layers = splitList(layers)
			}
			if err := knownLayers(o.Layers); err != nil {
				return err
			}
			if o.Jobs < 1 {
				return usagef("-j wants a number of tests from 1 on, got %d", o.Jobs)
			}
			if len(args) == 0 {
				args = []string{"."}
			}
			return runTests(cmd, args, o, strict)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&ranks, "ranks", "n", "", "numbers of ranks: `N`, N..M or a list of these (default: what a program says, else "+
		strings.Trim(strings.ReplaceAll(fmt.Sprint(suite.DefaultRanks), " ", ","), "[]")+")")
	f.StringVar(&backends, "backend", "", "what golden checks run on: native, sim or native,sim (default: native if there is a compiler)")
	f.StringVar(&layers, "layers", "", "verify in these layers only: `A,B`")
	f.StringVar(&match, "run", "", "only tests whose name (\"ring.pl: golden expected, native, 4 ranks\") matches this `regexp`")
	f.StringArrayVarP(&defines, "define", "D", nil, "`NAME=VALUE`: replaces a constant, or binds a dynamic dimension")
	f.StringArrayVar(&o.Inputs, "in", nil, "`NAME=SPEC`: an input of the functions that have such a parameter, as for ptoc run")
	f.IntVarP(&o.Jobs, "jobs", "j", runtime.GOMAXPROCS(0), "how many tests run at a time")
	f.BoolVar(&o.Update, "update", false, "rewrite snapshots with what comes out")
	f.BoolVar(&strict, "strict", false, "fail, with exit code 3, if something was not checked or skipped")
	f.DurationVar(&o.Timeout, "timeout", 30*time.Second, "how long a run may go on while no rank gets on")
	return cmd
}

func runTests(cmd *cobra.Command, paths []string, o suite.Options, strict bool) error {
	progress := startProgress(os.Stderr)
	progress.stage("testing")
	o.Progress = func(done, all int, name string) { progress.update(fmt.Sprintf("%d of %d: %s", done, all, name)) }
	r, err := suite.Run(cmd.Context(), paths, o)
	progress.stop()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if jsonErrors {
		err = r.WriteJSON(out)
	} else {
		err = r.WriteText(out, textdiff.Color(out))
	}
	switch {
	case err != nil:
		return err
	case r.Count(suite.Failed) > 0:
		return exitCode(exitError)
	case strict && (len(r.Tests) == 0 || r.Count(suite.NotChecked)+r.Count(suite.Skipped) > 0):
		return exitCode(exitNotChecked)
	}
	return nil
}
