package dynamic

import (
	"path/filepath"
	"strings"
	"testing"

	"ptoc/verify"
)

func TestAllSchedulesOfALitmusProgramGiveTheAllowedOutcomes(t *testing.T) {
	for _, name := range corpus(t, "tests/litmus/*.pl") {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".pl"), func(t *testing.T) {
			u, h := open(t, name)
			n, _ := ranksOf(t, h)
			p, err := u.Program(n)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			x := explore(p, p.Scope(n, 1, u.Syms), nil, func(o *outcome) {
				for _, bad := range h["forbidden"] {
					if outcomeOf(t, o, bad) {
						t.Errorf("forbidden: %s", bad)
					}
				}
				for _, ok := range h["allowed"] {
					if outcomeOf(t, o, ok) {
						seen[ok] = true
					}
				}
			})
			t.Logf("%d states, %d runs, %d wild cells, complete %v %s", x.states, x.runs, len(x.wild), x.complete, x.why)
			if hasErrors(x.findings) {
				return // a race: there is no list of outcomes
			}
			if !x.complete {
				t.Error(x.why, x.err)
			}
			for _, ok := range h["allowed"] {
				if !seen[ok] {
					t.Errorf("never seen, but allowed: %s", ok)
				}
			}
		})
	}
}

func TestASchedulesVerdictSaysHowMuchItSaw(t *testing.T) {
	for name, want := range map[string]string{"tests/litmus/mp.pl": "one schedule stands for all", "tests/litmus/sb.pl": "all schedules, in"} {
		u, h := open(t, filepath.Join("..", "..", name))
		n, _ := ranksOf(t, h)
		v := check(t, u, n, 1, []string{"schedules"}).Verdicts[0]
		if v.Status != verify.Proved || !strings.Contains(v.Reason, want) || v.States == 0 {
			t.Errorf("%s: %s, %d states: %s", name, v.Status, v.States, v.Reason)
		}
	}
}
