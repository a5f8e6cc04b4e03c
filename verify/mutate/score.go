package mutate

import (
	"fmt"
	"slices"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/verify"
	"ptoc/verify/load"
)

// Score says which layers find the mutants of a program.
type Score struct {
	Name      string
	Mutants   int
	First     map[string]int // by the first layer that finds one
	Alone     map[string]int // by each layer that finds one
	ByKind    map[string]int
	Warned    []Mutant // found, but only by a warning
	Survivors []Mutant
	Equal     []Mutant // survivors that Equivalent explains
}

// Killed is how many mutants are found, by errors and by warnings.
func (s Score) Killed() int { return s.Mutants - len(s.Survivors) - len(s.Equal) }

// Of scores a program: its mutants, as they are lowered for the first of the rank counts, are verified
// at all of them.
func Of(u *load.Unit, ranks []int, repeats int, layers []string) (Score, error) {
	s := Score{Name: strings.TrimSuffix(u.File.Name, ".pl"), First: map[string]int{}, Alone: map[string]int{}, ByKind: map[string]int{}}
	p, err := u.Program(ranks[0])
	if err != nil {
		return s, err
	}
	if v := firstFault(u, p.Entry, p.Lowered, ranks, repeats, layers); v != "" {
		return s, fmt.Errorf("the program itself is not proved: %s", v)
	}
	for _, m := range Mutants(p.Lowered) {
		s.Mutants++
		s.ByKind[m.Kind]++
		s.add(m, killers(u, p.Entry, m.Module, ranks, repeats, layers))
	}
	return s, nil
}

// add counts a mutant and who found it.
func (s *Score) add(m Mutant, by found) {
	for i, l := range by.errors {
		if i == 0 {
			s.First[l]++
		}
		s.Alone[l]++
	}
	switch {
	case len(by.errors) > 0:
	case len(by.warnings) > 0:
		s.First[by.warnings[0]]++
		s.Alone[by.warnings[0]]++
		s.Warned = append(s.Warned, m)
	case Equivalent(s.Name, m) != "":
		s.Equal = append(s.Equal, m)
	default:
		s.Survivors = append(s.Survivors, m)
	}
}

// found are the layers that find a mutant, in their order.
type found struct{ errors, warnings []string }

func killers(u *load.Unit, entry string, m *ir.Module, ranks []int, repeats int, layers []string) found {
	var f found
	for _, n := range ranks {
		p, err := verify.NewProgram(u.File.Name, u.Checked, m, entry)
		if err != nil {
			return f
		}
		for _, v := range verify.Check(p, layers, []verify.Scope{p.Scope(n, repeats, u.Syms)}).Verdicts {
			if v.Status == verify.Counterexample && !slices.Contains(f.errors, v.Layer) {
				f.errors = append(f.errors, v.Layer)
			}
			for _, x := range v.Findings {
				if x.Severity == diag.Warning && !slices.Contains(f.warnings, v.Layer) {
					f.warnings = append(f.warnings, v.Layer)
				}
			}
		}
	}
	order := layerNames()
	byOrder := func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) }
	slices.SortFunc(f.errors, byOrder)
	slices.SortFunc(f.warnings, byOrder)
	return f
}

func layerNames() []string {
	var out []string
	for _, l := range verify.Layers() {
		out = append(out, l.Name())
	}
	return out
}

// firstFault is what keeps a program from being proved, other than a layer that does not apply to it.
func firstFault(u *load.Unit, entry string, m *ir.Module, ranks []int, repeats int, layers []string) string {
	if by := killers(u, entry, m, ranks, repeats, layers); len(by.errors)+len(by.warnings) > 0 {
		return fmt.Sprintf("layers %v find errors, %v warn", by.errors, by.warnings)
	}
	return ""
}
