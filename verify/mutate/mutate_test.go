package mutate

import (
	"testing"
	"time"

	"ptoc/lang/source"
	"ptoc/verify"
	_ "ptoc/verify/dynamic"
	"ptoc/verify/library"
	"ptoc/verify/load"
)

func TestEveryMutantOfALibraryCollectiveIsFoundOrEquivalent(t *testing.T) {
	for _, c := range library.Programs(40, 3) {
		if testing.Short() && c.Name != "barrier" {
			continue
		}
		u, err := load.Source(source.NewFile(c.Name+".pl", c.Text), load.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Of(u, []int{2, 3}, 1, nil)
		if err != nil {
			t.Fatal(c.Name, err)
		}
		for _, m := range s.Survivors {
			t.Errorf("%s: survives: %s at %s", c.Name, m, m.At)
		}
		for _, m := range s.Equal {
			proved(t, u, m)
		}
		t.Logf("%-18s %3d mutants, %3d found (%d by a warning only), %d equivalent, first %v, alone %v", c.Name, s.Mutants, s.Killed(), len(s.Warned), len(s.Equal), s.First, s.Alone)
	}
}

// proved: what is called equivalent is right in all schedules.
func proved(t *testing.T, u *load.Unit, m Mutant) {
	for _, n := range []int{2, 3} {
		p, err := verify.NewProgram(u.File.Name, u.Checked, m.Module, "")
		if err != nil {
			t.Fatal(err)
		}
		p.Budget = time.Hour // not how long it takes on a busy machine
		for _, v := range verify.Check(p, []string{"schedules"}, []verify.Scope{p.Scope(n, 1, u.Syms)}).Verdicts {
			if v.Status != verify.Proved {
				t.Errorf("%s: %s: %s, %s", u.File.Name, m, v.Status, v.Reason)
			}
		}
	}
}
