package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ptoc/lang/source"
	"ptoc/runtime/bench"
	"ptoc/verify/library"
	"ptoc/verify/load"
	"ptoc/verify/mutate"
)

func init() { commands = append(commands, newMutate()) }

func newMutate() *cobra.Command {
	var (
		o       load.Options
		ranks   string
		repeats int
		layers  string
		defines []string
		lib     bool
	)
	cmd := &cobra.Command{
		Use:   "mutate FILE... [flags]",
		Short: "Break a program's synchronisation in every single way and see whether verify notices",
		Long: `Mutate makes every single fault in the synchronisation of the lowered program:
it drops and duplicates notifies, waits, fences and barriers, shifts cells,
peers and counts, swaps neighbours, weakens releases and acquires. Each mutant
is verified. The table says which layer finds how many; what survives is
listed. The exit code is 1 if anything survives.

With --library the mutants are those of the standard library's collectives,
in three calls in a row on the same windows.`,
		Example: "  ptoc mutate ring.pl --ranks 2,3\n  ptoc mutate --library",
		RunE: func(cmd *cobra.Command, args []string) error {
			counts, err := rankCounts(ranks)
			if err != nil {
				return err
			}
			if o.Defines, err = pairs("-D", defines); err != nil {
				return err
			}
			names := splitList(layers)
			if err := knownLayers(names); err != nil {
				return err
			}
			if len(args) == 0 && !lib {
				return usagef("expected a file, or --library")
			}
			units, err := mutateUnits(args, lib, o)
			if err != nil {
				return err
			}
			return mutateAll(cmd.OutOrStdout(), units, counts, repeats, names)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&ranks, "ranks", "n", "2,3", "numbers of ranks at which each mutant is verified: `N`, N..M or a list")
	repeatFlag(f, &repeats, 1, "how often the host program runs on the same windows")
	f.StringVar(&layers, "layers", "", "look only with these layers: `A,B`")
	f.StringVar(&o.Entry, "entry", "", "the host function, or the factory or class that defines it")
	f.StringArrayVarP(&defines, "define", "D", nil, "`NAME=VALUE`: replaces a constant, or binds a dynamic dimension")
	f.BoolVar(&lib, "library", false, "mutate the standard library's collectives")
	return cmd
}

func mutateUnits(files []string, lib bool, o load.Options) ([]*load.Unit, error) {
	var out []*load.Unit
	for _, name := range files {
		u, err := load.File(name, o)
		if err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	if !lib {
		return out, nil
	}
	for _, p := range library.Programs(40, 3) {
		u, err := load.Source(source.NewFile(p.Name+".pl", p.Text), load.Options{})
		if err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	return out, nil
}

// mutateAll prints the scores.
func mutateAll(w io.Writer, units []*load.Unit, ranks []int, repeats int, layers []string) error {
	t := bench.NewTable("program", "mutants", "found", "by a warning", "equivalent", "survive", "found first by", "each layer alone finds")
	var scores []mutate.Score
	for _, u := range units {
		s, err := mutate.Of(u, ranks, repeats, layers)
		if err != nil {
			return err
		}
		scores = append(scores, s)
		t.Row(s.Name, s.Mutants, s.Killed(), len(s.Warned), len(s.Equal), len(s.Survivors), counts(s.First), counts(s.Alone))
	}
	if jsonErrors {
		return t.WriteJSON(w)
	}
	t.WriteText(w)
	survivors := 0
	for _, s := range scores {
		for _, m := range s.Equal {
			fmt.Fprintf(w, "%s: equivalent: %s at %s: %s\n", s.Name, m, m.At, mutate.Equivalent(s.Name, m))
		}
		for _, m := range s.Survivors {
			fmt.Fprintf(w, "%s: survives: %s at %s\n", s.Name, m, m.At)
			survivors++
		}
	}
	if survivors > 0 {
		return exitCode(exitError)
	}
	return nil
}

// counts is "order 15, signals 19".
func counts(m map[string]int) string {
	var parts []string
	for _, l := range layerNames() {
		if m[l] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", l, m[l]))
		}
	}
	if len(parts) == 0 && len(m) > 0 {
		parts = slices.Sorted(maps.Keys(m))
	}
	return strings.Join(parts, ", ")
}
