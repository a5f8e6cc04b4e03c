package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ptoc/codegen/target"
	"ptoc/internal/textdiff"
	"ptoc/internal/wholefile"
	"ptoc/lang/source"
	"ptoc/passes"
	"ptoc/passes/opt"
	"ptoc/runtime/run"
)

func init() { commands = append(commands, newOpt()) }

func newOpt() *cobra.Command {
	var (
		j         opt.Job
		defines   []string
		sets      []string
		names     string
		output    string
		timeTable bool
	)
	cmd := &cobra.Command{
		Use:   "opt FILE",
		Short: "Run passes on a file and print the IR",
		Long: "Run the passes of the pipeline on a file and print the IR that is left, in the language itself: what this\n" +
			"command prints, it reads. - reads from the standard input.\n\n" + passList(),
		Example: "  ptoc opt kernel.pl --until LowerCompositeOps\n  ptoc opt kernel.pl --diff\n" +
			"  ptoc opt kernel.pl --passes InlineFunctions,Simplify -o small.pl",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(run.Targets, j.Target) {
				return usagef("--target must be cpu or cuda, got %q", j.Target)
			}
			file, err := readSource(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("passes") {
				j.Passes = splitList(names)
			}
			if _, err := passes.Select(j.Passes, j.Until); err != nil {
				return usageError{err}
			}
			if j.Check.Defines, err = pairs("-D", defines); err != nil {
				return err
			}
			if j.Check.Set, err = pairs("--set", sets); err != nil {
				return err
			}
			j.JSON, j.Check.Context = jsonErrors, cmd.Context()
			return runOpt(cmd, j, file, output, timeTable)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&defines, "define", "D", nil, "`NAME=VALUE`: replaces a constant, or binds a dynamic dimension")
	f.StringVar(&j.Check.Entry, "entry", "", "take the kernels from this factory `function` or class")
	f.StringArrayVar(&sets, "set", nil, "`NAME=VALUE`: argument of the factory")
	f.StringVar(&names, "passes", "", "run these passes instead of the pipeline, in this order: `A,B,C`; empty: none")
	f.StringVar(&j.Until, "until", "", "stop after this `pass`")
	f.VarP((*rankCount)(&j.Ranks), "ranks", "n", "compile for this number of ranks")
	f.StringVar(&j.Target, "target", "cpu", "what to compile for: cpu or cuda")
	f.BoolVar(&j.PrintAfterAll, "print-after-all", false, "print the IR after every pass instead of the final IR")
	f.BoolVar(&j.Diff, "diff", false, "print what every pass changes instead of the final IR")
	f.BoolVar(&j.VerifyEach, "verify-each", false, "after every pass, verify the IR, that what is printed reads back equal,\nand that no notify, wait or access around them was dropped or moved")
	f.BoolVar(&timeTable, "time-passes", false, "print how long every pass took, on standard error")
	f.StringVarP(&output, "output", "o", "", "write the final IR to this `file`")
	return cmd
}

// runOpt connects the job with files. Without -o, dumps take the place of the final IR.
func runOpt(cmd *cobra.Command, j opt.Job, file *source.File, output string, timeTable bool) error {
	out := cmd.OutOrStdout()
	j.Trace, j.Color, j.Cache = out, textdiff.Color(out), target.LastLevelCache()
	if timeTable {
		j.Times = cmd.ErrOrStderr()
	}
	var text strings.Builder
	j.Out = &text
	if output == "" && (j.PrintAfterAll || j.Diff) && !j.JSON {
		j.Out = nil
	}
	list, err := j.Run(file)
	if err == nil {
		err = cmd.Context().Err()
	}
	if err != nil {
		return err
	}
	if list.HasErrors() && !j.JSON {
		return list
	}
	if output != "" && !list.HasErrors() {
		if err := wholefile.Text(output, text.String()); err != nil {
			return err
		}
	} else if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	if list.HasErrors() {
		return exitCode(exitError)
	}
	if list.Len() > 0 && !j.JSON {
		printWarnings(cmd.ErrOrStderr(), list)
	}
	return nil
}

func passList() string {
	var b strings.Builder
	b.WriteString("Passes:\n")
	for _, p := range passes.Passes() {
		b.WriteString("  " + p.Name + strings.Repeat(" ", max(1, 29-len(p.Name))) + p.Doc + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
