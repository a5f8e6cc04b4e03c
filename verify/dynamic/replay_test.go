package dynamic

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/runtime/controller"
	"ptoc/runtime/sim"
)

func TestTheTokenOfEveryFaultReplaysIt(t *testing.T) {
	for _, name := range corpus(t, "tests/bugs/*.pl", "tests/litmus/*.pl") {
		if strings.HasSuffix(name, "_fixed.pl") {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ".pl"), func(t *testing.T) {
			u, h := open(t, name)
			_, n := ranksOf(t, h)
			p, err := u.Program(n)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range check(t, u, n, 1, layers).Findings() {
				if f.Severity != diag.Error || f.Replay == "" {
					continue
				}
				r, err := Replay(p, n, f.Replay, nil)
				if err != nil {
					t.Fatal(err)
				}
				again := false
				for _, g := range r.Findings {
					again = again || g.Code == f.Code && g.At == f.At && g.Message == f.Message
				}
				if !again {
					t.Errorf("%s: not seen again:\n%s\n%v", f.Replay, f.Error(), r.Findings)
				}
			}
		})
	}
}

func TestATokenThatIsNotWholeIsRefused(t *testing.T) {
	k := token{policy: Random, seed: 77, repeats: 3, syms: map[string]int64{"N": 6, "NR": 4}, choices: []byte{0, 0, 1, 2, 2}, wild: []cellID{{1, 2, 64}}}
	text := k.String()
	got, err := parseToken(text)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(k) {
		t.Fatalf("%v, %v, want %v", got, err, k)
	}
	for i := range len(text) {
		if _, err := parseToken(text[:i]); err == nil {
			t.Errorf("%q was taken", text[:i])
		}
	}
}

func FuzzToken(f *testing.F) {
	f.Add(token{repeats: 1, syms: map[string]int64{"NR": 2}, choices: []byte{1}}.String())
	f.Fuzz(func(t *testing.T, text string) {
		if k, err := parseToken(text); err == nil && k.String() == "" {
			t.Error("empty")
		}
	})
}

func TestASanitizedRunIsWatched(t *testing.T) {
	for name, want := range map[string]diag.Code{"02-no-read-complete": diag.DataRace, "13-wait-cycle": diag.WaitCycle, "02-no-read-complete_fixed": 0} {
		u, _ := open(t, filepath.Join("..", "..", "tests", "bugs", name+".pl"))
		p, err := u.Program(3)
		if err != nil {
			t.Fatal(err)
		}
		b, s, err := Sanitize(p.Lowered, 3, sim.Config{})
		if err != nil {
			t.Fatal(err)
		}
		prog, err := controller.Prepare(p.Lowered, p.Lowered.Func(p.Entry), b, map[string]int64{"NR": 3})
		if err != nil {
			t.Fatal(err)
		}
		o := &outcome{prog: prog}
		args, err := o.arguments(p.Lowered.Func(p.Entry), p.Scope(3, 1, nil), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		prog.Run(t.Context(), args)
		found := s.Findings()
		got := diag.Code(0)
		for _, f := range found {
			if f.Severity == diag.Error {
				got = f.Code
			}
		}
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
