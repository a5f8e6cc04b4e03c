package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/runtime/bench"
	"ptoc/runtime/bench/suites"
	"ptoc/runtime/run"
)

func init() { commands = append(commands, newBench()) }

func newBench() *cobra.Command {
	var o run.Options
	var defines, set []string
	var warmup, repeat int
	c := &cobra.Command{
		Use:   "bench FILE | bench COMMAND",
		Short: "Measure programs, the runtime, and the compiler",
		Long: `Bench FILE runs a program as ptoc run does, again and again, and prints how long it takes.
The commands measure ptoc itself: docs/performance.md says how, and what came out.
Tables are for reading; --json makes them for machines, --markdown for pages.`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Defines, err = pairs("-D", defines); err != nil {
				return err
			}
			if o.Set, err = pairs("--set", set); err != nil {
				return err
			}
			if repeat < 1 || warmup < 0 {
				return usagef("--repeat must be at least 1, and --warmup not negative")
			}
			o.File = args[0]
			t, err := suites.Program(cmd.Context(), o, warmup, repeat)
			return printTable(cmd, t, err)
		},
	}
	f := c.Flags()
	f.IntVarP(&o.Ranks, "ranks", "n", 0, "number of ranks (default: what the inputs say)")
	f.StringVar(&o.Entry, "entry", "", "function to run, or the factory or class that defines it")
	f.StringArrayVar(&set, "set", nil, "`NAME=VALUE`: argument of the factory")
	f.StringArrayVarP(&defines, "define", "D", nil, "`NAME=VALUE`: replaces a constant, or binds a dynamic dimension")
	f.StringArrayVar(&o.Ins, "in", nil, "`NAME=SPEC`: an input")
	f.DurationVar(&o.Timeout, "timeout", 30*time.Second, "how long to wait while no rank gets on")
	f.IntVar(&warmup, "warmup", 10, "runs that do not count")
	repeatFlag(f, &repeat, 100, "runs that count")
	c.AddCommand(newBenchAllreduce(), newBenchDispatch(), newBenchCompile(), newBenchParse(), newBenchStartup(), newBenchKernels())
	c.PersistentFlags().Bool("markdown", false, "print the table as Markdown")
	return c
}

// printTable prints what a suite found, in the form that flags ask for.
func printTable(cmd *cobra.Command, t *bench.Table, err error) error {
	if err != nil {
		return err
	}
	if md, _ := cmd.Flags().GetBool("markdown"); md {
		return t.WriteMarkdown(cmd.OutOrStdout())
	}
	if jsonErrors {
		return t.WriteJSON(cmd.OutOrStdout())
	}
	return t.WriteText(cmd.OutOrStdout())
}

// intList reads "2,4,8".
func intList(flag, text string) ([]int, error) {
	var out []int
	for _, s := range splitList(text) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, usagef("%s takes numbers such as 2,4,8, got %q", flag, text)
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		return nil, usagef("%s takes numbers such as 2,4,8, got none", flag)
	}
	return out, nil
}

func newBenchAllreduce() *cobra.Command {
	a := suites.Allreduce{}
	var ranks, bytes string
	c := &cobra.Command{
		Use:   "allreduce",
		Short: "Compare the compiled all-reduce with MPI_Allreduce",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if a.Ranks, err = intList("--ranks", ranks); err != nil {
				return err
			}
			a.Bytes = nil
			for _, s := range splitList(bytes) {
				b, err := bench.ParseBytes(s)
				if err != nil {
					return usageError{fmt.Errorf("--bytes: %w", err)}
				}
				a.Bytes = append(a.Bytes, b)
			}
			progress := startProgress(os.Stderr)
			a.Progress = progress.stage
			t, err := a.Run(cmd.Context())
			progress.stop()
			return printTable(cmd, t, err)
		},
	}
	f := c.Flags()
	f.StringVar(&ranks, "ranks", "2,4,8", "numbers of ranks")
	f.StringVar(&bytes, "bytes", "4,1K,16K,64K,256K,1M,4M,32M", "message sizes")
	f.StringVar(&a.DType, "dtype", "fp32", "element type")
	f.StringVar(&a.Mode, "mode", "auto", "algorithm: "+strings.Join(ir.AllReduceModes, ", "))
	f.StringVar(&a.Peer, "peer", "mpi", "whom to compare with: mpi or none")
	f.DurationVar(&a.Time, "time", 300*time.Millisecond, "time for each side of each line")
	return c
}

func newBenchDispatch() *cobra.Command {
	var ranks, workers string
	var budget time.Duration
	c := &cobra.Command{
		Use:   "dispatch",
		Short: "Time the dispatch of an empty kernel",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ns, err := intList("--ranks", ranks)
			if err != nil {
				return err
			}
			mode, err := workerMode(workers)
			if err != nil {
				return err
			}
			t, err := suites.Dispatch(cmd.Context(), ns, mode, budget)
			return printTable(cmd, t, err)
		},
	}
	f := c.Flags()
	f.StringVar(&ranks, "ranks", "1,2,4,8", "numbers of ranks")
	f.StringVar(&workers, "workers", "thread", "what a rank is: thread or process")
	f.DurationVar(&budget, "time", time.Second, "time for each number")
	return c
}

func newBenchCompile() *cobra.Command {
	var defines []string
	var budget time.Duration
	c := &cobra.Command{
		Use:   "compile [FILE]",
		Short: "Time the front end, each pass, and the C++ generator on a file",
		Long:  "Time the front end, each pass, and the C++ generator on a file, or on a built-in one of 200 lines.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := pairs("-D", defines)
			if err != nil {
				return err
			}
			file := ""
			if len(args) > 0 {
				file = args[0]
			}
			t, err := suites.Compile(cmd.Context(), file, check.Options{Defines: d}, budget)
			return printTable(cmd, t, err)
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&defines, "define", "D", nil, "`NAME=VALUE`: replaces a constant")
	f.DurationVar(&budget, "time", time.Second, "how long to repeat")
	return c
}

func newBenchParse() *cobra.Command {
	var size string
	var budget time.Duration
	c := &cobra.Command{
		Use:   "parse FILE...",
		Short: "Time the parser on a large text made of the files",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := bench.ParseBytes(size)
			if err != nil {
				return usageError{fmt.Errorf("--bytes: %w", err)}
			}
			t, err := suites.Parse(cmd.Context(), args, int(n), budget)
			return printTable(cmd, t, err)
		},
	}
	f := c.Flags()
	f.StringVar(&size, "bytes", "250K", "size of the text")
	f.DurationVar(&budget, "time", time.Second, "how long to repeat")
	return c
}

func newBenchStartup() *cobra.Command {
	var ranks, repeat int
	c := &cobra.Command{
		Use:   "startup FILE",
		Short: "Time whole processes of `ptoc run FILE`, with an empty and with a filled cache",
		Args:  oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			file, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			t, err := suites.Startup(cmd.Context(), exe, []string{"run", file, "--ranks", strconv.Itoa(ranks)}, repeat)
			return printTable(cmd, t, err)
		},
	}
	c.Flags().IntVarP(&ranks, "ranks", "n", 8, "number of ranks")
	repeatFlag(c.Flags(), &repeat, 10, "runs with an empty cache; three times as many with a filled one")
	return c
}
