package dynamic

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptoc/lang/diag"
	"ptoc/verify"
	"ptoc/verify/load"
)

var layers = []string{"memory", "schedules"}

var header = regexp.MustCompile(`(?m)^# (ranks|repeats|verify|allowed|forbidden): (.*)$`)

func headers(text string) map[string][]string {
	out := map[string][]string{}
	for _, m := range header.FindAllStringSubmatch(text, -1) {
		out[m[1]] = append(out[m[1]], m[2])
	}
	return out
}

func corpus(t testing.TB, patterns ...string) []string {
	var names []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join("..", "..", p))
		if err != nil || len(found) == 0 {
			t.Fatalf("no programs in %s: %v", p, err)
		}
		names = append(names, found...)
	}
	return names
}

func open(t testing.TB, name string) (*load.Unit, map[string][]string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	u, err := load.File(name, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return u, headers(string(text))
}

func ranksOf(t testing.TB, h map[string][]string) (lo, hi int) {
	if len(h["ranks"]) == 0 {
		return 2, 3
	}
	a, b, _ := strings.Cut(h["ranks"][0], "..")
	lo, err := strconv.Atoi(a)
	hi, err2 := strconv.Atoi(b)
	if err != nil || err2 != nil {
		t.Fatalf("bad ranks %q", h["ranks"])
	}
	return lo, hi
}

func check(t testing.TB, u *load.Unit, n, repeats int, layers []string) *verify.Report {
	t.Helper()
	p, err := u.Program(n)
	if err != nil {
		t.Fatal(err)
	}
	p.Budget = time.Hour // what is tested is the answer, not how long it takes on a busy machine
	return verify.Check(p, layers, []verify.Scope{p.Scope(n, repeats, u.Syms)})
}

func reasons(r *verify.Report) string {
	var b strings.Builder
	for _, v := range r.Verdicts {
		fmt.Fprintf(&b, "\n  %s: %s: %s %s", v.Layer, v.Scope, v.Status, v.Reason)
		for _, f := range v.Findings {
			fmt.Fprintf(&b, "\n    %s", f.Error())
			for _, n := range f.Notes {
				fmt.Fprintf(&b, "\n      %s %s", n.At, n.Text)
			}
		}
	}
	return b.String()
}

func errorsIn(r *verify.Report) bool {
	for _, f := range r.Findings() {
		if f.Severity == diag.Error {
			return true
		}
	}
	return false
}

func TestEveryFaultOfTheCorpusThatARunCanShowIsFoundAndNoTwinRaisesAnAlarm(t *testing.T) {
	for _, name := range corpus(t, "tests/bugs/*.pl") {
		base := strings.TrimSuffix(filepath.Base(name), ".pl")
		t.Run(base, func(t *testing.T) {
			u, h := open(t, name)
			lo, hi := ranksOf(t, h)
			all := &verify.Report{}
			for n := lo; n <= hi; n++ {
				all.Verdicts = append(all.Verdicts, check(t, u, n, 1, layers).Verdicts...)
			}
			fixed := strings.HasSuffix(base, "_fixed")
			switch {
			case fixed && all.Status() != verify.Proved:
				t.Errorf("%s%s", all.Status(), reasons(all))
			case !fixed && all.Status() != verify.Counterexample:
				t.Errorf("no counterexample%s", reasons(all))
			}
		})
	}
}

// outcomeOf reads "y[1,0,0] = 1, ..." off a run.
func outcomeOf(t *testing.T, o *outcome, state string) bool {
	for _, part := range strings.Split(state, ",  ") {
		for _, m := range condition.FindAllStringSubmatch(part, -1) {
			x := o.calls[0][m[1]]
			if x == nil {
				t.Fatalf("no output %s", m[1])
			}
			at := int64(0)
			for d, s := range strings.Split(m[2], ",") {
				k, _ := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
				at = at*x.Shape[d] + k
			}
			want, _ := strconv.ParseInt(m[3], 10, 64)
			if x.Ints()[at] != want {
				return false
			}
		}
	}
	return true
}

var condition = regexp.MustCompile(`(\w+)\[([\d, ]+)\] = (-?\d+)`)

func TestLitmusProgramsHaveTheOutcomesThatTheyStateAndNoOthers(t *testing.T) {
	for _, name := range corpus(t, "tests/litmus/*.pl") {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".pl"), func(t *testing.T) {
			u, h := open(t, name)
			n, _ := ranksOf(t, h)
			p, err := u.Program(n)
			if err != nil {
				t.Fatal(err)
			}
			s := p.Scope(n, 1, u.Syms)
			seen := map[string]int{}
			ks := policies()
			for seed := uint64(10); seed < 400; seed++ {
				ks = append(ks, token{policy: Random, seed: seed})
			}
			for _, k := range ks {
				o, _ := runOnce(t.Context(), p, s, nil, k, "memory")
				if o.err != nil {
					t.Fatal(o.text())
				}
				for _, bad := range h["forbidden"] {
					if outcomeOf(t, o, bad) {
						t.Fatalf("%s, seed %d: forbidden: %s", k.policy, k.seed, bad)
					}
				}
				for _, ok := range h["allowed"] {
					if outcomeOf(t, o, ok) {
						seen[ok]++
					}
				}
			}
			for _, ok := range h["allowed"] {
				if seen[ok] == 0 {
					t.Errorf("never seen, but allowed: %s", ok)
				}
			}
			r := check(t, u, n, 1, layers)
			got := r.Status().String()
			for _, f := range r.Findings() {
				if f.Severity == diag.Error {
					got = f.Code.String()
					break
				}
			}
			if want := h["verify"][0]; got != want && want != "not checked" {
				t.Errorf("%s, want %s%s", got, want, reasons(r))
			}
		})
	}
}
