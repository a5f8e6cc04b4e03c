package mutate

import (
	"testing"

	"ptoc/lang/source"
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
		t.Logf("%-18s %3d mutants, %3d found (%d by a warning only), %d equivalent, first %v, alone %v", c.Name, s.Mutants, s.Killed(), len(s.Warned), len(s.Equal), s.First, s.Alone)
	}
}
