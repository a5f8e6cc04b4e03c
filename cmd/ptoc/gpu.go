package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ptoc/runtime/gpucheck"
)

func init() { commands = append(commands, newGPUCheck(), newGPUBundles()) }

func newGPUBundles() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "gpu-bundles FILE...",
		Short: "Compile what gpu-check runs",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return gpucheck.Make(cmd.Context(), dir, files)
		},
	}
	c.Flags().StringVarP(&dir, "output", "o", "gpu", "`folder` of the bundles")
	return c
}

func newGPUCheck() *cobra.Command {
	o := gpucheck.Options{Peers: true}
	var report string
	c := &cobra.Command{
		Use:   "gpu-check DIR",
		Short: "Check and measure a GPU with the bundles in DIR",
		Long: `Gpu-check runs the bundles that gpu-bundles made on the first GPU: every example on
1 to 8 ranks against its golden function, every op against the simulator, and a
few benchmarks. It needs the driver; no compiler, and no network. Without a GPU
it says so.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir = args[0]
			progress := startProgress(os.Stderr)
			o.Stage = progress.stage
			r, err := gpucheck.Run(cmd.Context(), o)
			progress.stop()
			if err != nil {
				return err
			}
			if err := r.WriteFile(report); err != nil {
				return err
			}
			if err := printReport(cmd.OutOrStdout(), r); err != nil {
				return err
			}
			if r.Failed() > 0 || r.Late || r.Stopped {
				return exitCode(exitError)
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&report, "report", "gpu-report.md", "`file` to write")
	f.BoolVar(&o.NoBench, "no-bench", false, "only check")
	f.StringVar(&o.Only, "only", "", "measure only benchmarks whose name has this `text` in it")
	f.DurationVar(&o.Budget, "time", 285*time.Second, "when to stop")
	return c
}

func printReport(w io.Writer, r *gpucheck.Report) error {
	if !jsonErrors {
		_, err := fmt.Fprint(w, r.Markdown())
		return err
	}
	text, err := r.JSON()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}
