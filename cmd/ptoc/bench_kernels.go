package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ptoc/runtime/bench"
	"ptoc/runtime/run"
)

func newBenchKernels() *cobra.Command {
	o := run.Options{WarmUp: 3, Timeout: 30 * time.Second}
	var ranks string
	c := &cobra.Command{
		Use:   "kernels FILE|DIR...",
		Short: "Time programs, on the CPU or on a GPU",
		Long: `Kernels runs each program a few times to warm up, then --repeat times, and prints
medians: of the whole run as the host sees it, and with --target cuda of the
kernels alone, between events on the GPU.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			ns, err := intList("--ranks", ranks)
			if err != nil {
				return err
			}
			t, err := benchKernels(cmd.Context(), o, files, ns)
			return printTable(cmd, t, err)
		},
	}
	f := c.Flags()
	f.StringVar(&ranks, "ranks", "1,2,4,8", "numbers of ranks")
	repeatFlag(f, &o.Repeat, 20, "runs that are timed")
	f.StringVar(&o.Target, "target", "", "cpu or cuda (default: what a bundle was compiled for, else cpu)")
	f.StringVar(&o.Arch, "arch", "", "oldest GPU architecture to compile for (default sm_80)")
	f.BoolVar(&o.GPU.FastMath, "fast-math", false, "approximate division, roots and functions on GPUs")
	return c
}

func benchKernels(ctx context.Context, o run.Options, files []string, ranks []int) (*bench.Table, error) {
	t := bench.NewTable("program", "ranks", "run", "kernels on the GPU")
	for _, f := range files {
		for _, n := range ranks {
			o.File, o.Ranks = f, n
			r, err := run.Run(ctx, o)
			if err != nil {
				return nil, err
			}
			row := []any{filepath.Base(f), n, bench.Nanos(r.RunNS)}
			if r.GPUNS > 0 {
				row = append(row, bench.Nanos(r.GPUNS))
			}
			t.Row(row...)
		}
	}
	return t, nil
}
