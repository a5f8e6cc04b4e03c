package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ptoc/codegen/bundle"
	"ptoc/ir"
	"ptoc/runtime/run"
)

func init() { commands = append(commands, newCompile()) }

func newCompile() *cobra.Command {
	var o run.BuildOptions
	var defines, sets []string
	var dir string
	c := &cobra.Command{
		Use:   "compile FILE",
		Short: "Compile a program into a folder that runs without a compiler",
		Long: `Compile runs all passes and compiles the kernels. With -o DIR it writes a bundle
(manifest, host program, kernels, engine), which ptoc run DIR runs on any
machine with this CPU's instructions, without a compiler. With --emit it prints
the program after all passes (ir), the C++ of its kernels (cpp), or their shared
object (so) instead; with --target cuda, their LLVM IR (llvm) or PTX (ptx). A
bundle for GPUs runs wherever there is an NVIDIA driver.`,
		Example: "  ptoc compile allreduce.pl -o allreduce.bundle\n  ptoc compile gemm.pl --emit cpp\n  ptoc compile allreduce.pl --target cuda -o allreduce.gpu",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(run.Targets, o.Target) {
				return usagef("--target must be cpu or cuda, got %q", o.Target)
			}
			var err error
			if o.Check.Defines, err = pairs("-D", defines); err != nil {
				return err
			}
			if o.Check.Set, err = pairs("--set", sets); err != nil {
				return err
			}
			o.File = args[0]
			if o.Emit != "" {
				if dir != "" {
					return usagef("--emit prints: redirect it to a file instead of using -o")
				}
				return emit(cmd, o)
			}
			if dir == "" {
				dir = strings.TrimSuffix(filepath.Base(o.File), filepath.Ext(o.File)) + ".bundle"
			}
			return compileBundle(cmd, o, dir)
		},
	}
	f := c.Flags()
	f.StringVarP(&dir, "output", "o", "", "`folder` of the bundle (default: the file's name with .bundle)")
	f.StringVar(&o.Emit, "emit", "", "print ir, cpp or so (for a GPU: ir, llvm or ptx) instead of writing a bundle")
	f.StringVar(&o.Target, "target", "cpu", "what to compile for: cpu or cuda")
	f.BoolVar(&o.GPU.TF32, "tf32", false, "FP32 products on tensor cores, for --target cuda: operands are rounded to 10 bits")
	f.BoolVar(&o.GPU.FastMath, "fast-math", false, "approximate division, roots and functions, for --target cuda")
	f.StringVar(&o.Arch, "arch", "", "the oldest GPU `architecture` that shall run it, for --target cuda (default sm_80)")
	f.StringArrayVarP(&defines, "define", "D", nil, "`NAME=VALUE`: replaces a constant, or binds a dynamic dimension")
	f.StringVar(&o.Check.Entry, "entry", "", "function to run, or the factory or class that defines it")
	f.StringArrayVar(&sets, "set", nil, "`NAME=VALUE`: argument of the factory")
	f.VarP((*rankCount)(&o.Ranks), "ranks", "n", "compile for this number of ranks only (default: for any)")
	return c
}

// emit prints one stage of the compilation.
func emit(cmd *cobra.Command, o run.BuildOptions) error {
	if kinds := run.Emits[o.Target]; !slices.Contains(kinds, o.Emit) {
		for _, target := range run.Targets {
			if slices.Contains(run.Emits[target], o.Emit) {
				return usagef("--emit %s needs --target %s", o.Emit, target)
			}
		}
		return usagef("--emit must be %s, got %q", strings.Join(kinds, ", "), o.Emit)
	}
	a, warnings, err := run.Build(cmd.Context(), o)
	if err != nil {
		return err
	}
	defer a.Done()
	printWarnings(cmd.ErrOrStderr(), warnings)
	out := cmd.OutOrStdout()
	switch o.Emit {
	case "ir":
		_, err = io.WriteString(out, ir.Print(a.Module))
	case "llvm":
		_, err = io.WriteString(out, a.GPU.LLVM)
	case "ptx":
		_, err = io.WriteString(out, a.GPU.Text)
	case "cpp":
		_, err = io.WriteString(out, a.Code.Text)
	default:
		var object []byte
		if object, err = run.Binary(a); err == nil {
			_, err = out.Write(object)
		}
	}
	return err
}

func compileBundle(cmd *cobra.Command, o run.BuildOptions, dir string) error {
	a, warnings, err := run.Build(cmd.Context(), o)
	if err != nil {
		return err
	}
	defer a.Done()
	printWarnings(cmd.ErrOrStderr(), warnings)
	if err := bundle.Write(dir, a); err != nil {
		return err
	}
	if jsonErrors {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"bundle": dir, "entry": a.Entry, "kernels": a.Entries()})
	}
	fmt.Fprintf(os.Stderr, "wrote %s: entry %s, kernels: %d\n", dir, a.Entry, a.Entries())
	return nil
}
