package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ptoc/lang/diag"
	"ptoc/runtime/native"
	"ptoc/runtime/run"
)

func init() { commands = append(commands, newRun()) }

func newRun() *cobra.Command {
	var o run.Options
	var defines, set []string
	var workers string
	var watch watching
	c := &cobra.Command{
		Use:   "run FILE|DIR [flags]",
		Short: "Run a program on many ranks and check what it computes",
		Long: `Run compiles the program in FILE (or takes the bundle in DIR), makes inputs,
and runs it on N ranks. Inputs that are not given are random, from --seed.

  ptoc run allreduce.pl --ranks 8 --check
  ptoc run gemm.pl --in a=@a.npy --in b=randn:7 --out c=c.npy --print c

An input is @FILE.npy, @FILE.npz:KEY, randn[:SEED], seed:SEED, ints:LO..HI,
iota, zeros or full:VALUE; a scalar parameter takes a plain value.`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			var err error
			if o.Workers, err = workerMode(workers); err != nil {
				return err
			}
			if o.Defines, err = pairs("-D", defines); err != nil {
				return err
			}
			if o.Set, err = pairs("--set", set); err != nil {
				return err
			}
			if watch.on() {
				return watch.run(cmd, o)
			}
			return runProgram(cmd, o)
		},
	}
	watch.flags(c)
	f := c.Flags()
	f.VarP((*rankCount)(&o.Ranks), "ranks", "n", fmt.Sprintf("number of ranks, 1 to 64 (default: what the inputs say, else %d)", run.DefaultRanks))
	f.StringVar(&o.Entry, "entry", "", "function to run, or the factory or class that defines it")
	f.StringArrayVar(&set, "set", nil, "`NAME=VALUE`: argument of the factory")
	f.StringArrayVarP(&defines, "define", "D", nil, "`NAME=VALUE`: replaces a constant, or binds a dynamic dimension")
	f.StringArrayVar(&o.Ins, "in", nil, "`NAME=SPEC`: an input")
	f.StringArrayVar(&o.Outs, "out", nil, "`NAME=FILE.npy`: where an output goes")
	f.StringArrayVar(&o.Print, "print", nil, "`NAME` of a tensor to print")
	f.BoolVar(&o.Check, "check", false, "compare every output with the golden function, or else with the simulator")
	repeatFlag(f, &o.Repeat, 1, "how often to run, each time on fresh windows")
	f.StringVar(&workers, "workers", "thread", "what a rank is: thread or process (on GPUs: blocks of a launch, or a process with a GPU)")
	f.StringVar(&o.Backend, "backend", "native", "native or sim")
	f.StringVar(&o.Target, "target", "", "where ranks run: cpu or cuda (default: what a bundle was compiled for, else cpu)")
	f.StringVar(&o.Arch, "arch", "", "oldest GPU architecture to compile for: sm_80, sm_90, ... (default sm_80)")
	f.BoolVar(&o.GPU.TF32, "tf32", false, "FP32 products on tensor cores of GPUs: operands are rounded to 10 bits")
	f.BoolVar(&o.GPU.FastMath, "fast-math", false, "approximate division, root and functions on GPUs")
	f.DurationVar(&o.Timeout, "timeout", 30*time.Second, "how long to wait while no rank gets on")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of inputs that are not given")
	return c
}

// oneFile wants exactly one argument.
func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("expected one file or folder, got %d arguments", len(args))
	}
	return nil
}

func workerMode(name string) (native.Mode, error) {
	for _, m := range []native.Mode{native.Threads, native.Processes} {
		if name == m.String() {
			return m, nil
		}
	}
	return 0, usagef("--workers must be thread or process, got %q", name)
}

func runProgram(cmd *cobra.Command, o run.Options) error {
	progress := startProgress(os.Stderr)
	o.Stage = progress.stage
	res, err := run.Run(cmd.Context(), o)
	progress.stop()
	if err != nil {
		return err
	}
	if jsonErrors {
		e := json.NewEncoder(cmd.OutOrStdout())
		e.SetIndent("", "  ")
		e.Encode(res)
	} else {
		diag.Print(os.Stderr, res.Warnings)
		res.WriteText(cmd.OutOrStdout())
	}
	return res.Err()
}
