package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ptoc/codegen/ptx"
	"ptoc/lang/diag"
	"ptoc/passes"
	"ptoc/runtime/run"
)

// completions tell the shell what the flags with a fixed set of values take, by command and flag.
func completions(root *cobra.Command) {
	for _, c := range root.Commands() {
		for _, f := range []struct {
			commands, flag string
			values         []string
		}{
			{"run compile opt", "target", run.Targets},
			{"run", "backend", run.Backends},
			{"test", "backend", append([]string{"native,sim"}, run.Backends...)},
			{"run", "workers", []string{"thread", "process"}},
			{"run compile", "arch", ptx.Architectures()},
			{"compile", "emit", []string{"ir", "cpp", "so", "llvm", "ptx"}},
			{"verify", "emit", []string{"promela"}},
			{"verify mutate test", "layers", layerNames()},
			{"opt", "until", passNames()},
			{"opt", "passes", passNames()},
		} {
			for _, name := range strings.Fields(f.commands) {
				if name != c.Name() {
					continue
				}
				fixed := cobra.FixedCompletions(f.values, cobra.ShellCompDirectiveNoFileComp)
				if err := c.RegisterFlagCompletionFunc(f.flag, fixed); err != nil {
					panic(err) // no such flag: the table is wrong
				}
			}
		}
		if c.Name() == "explain" {
			c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
				var out []cobra.Completion
				for _, r := range diag.Rows() {
					out = append(out, cobra.CompletionWithDesc(r.Code.String(), r.Title))
				}
				return out, cobra.ShellCompDirectiveNoFileComp
			}
		}
	}
}

// passNames are the passes of the pipeline, each once.
func passNames() []string {
	var out []string
	for _, p := range passes.Passes() {
		if !slices.Contains(out, p.Name) {
			out = append(out, p.Name)
		}
	}
	return out
}
