package dynamic

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"ptoc/lang/source"
	"ptoc/verify"
	"ptoc/verify/library"
	"ptoc/verify/load"
)

func TestNoLibraryCollectiveRaisesAnAlarmInThreeCallsInARow(t *testing.T) {
	for _, c := range library.Programs(40, 3) {
		t.Run(c.Name, func(t *testing.T) {
			u, err := load.Source(source.NewFile(c.Name+".pl", c.Text), load.Options{})
			if err != nil {
				t.Fatalf("%v\n%s", err, c.Text)
			}
			for _, n := range []int{1, 2, 3, 5, 8} {
				begin := time.Now()
				r := check(t, u, n, 1, layers)
				if r.Status() != verify.Proved {
					t.Errorf("%d ranks:%s", n, reasons(r))
				}
				for _, v := range r.Verdicts {
					if v.Given != "" {
						t.Errorf("%d ranks: %s holds %s, but what the library does depends on no input", n, v.Layer, v.Given)
					}
				}
				t.Logf("%d ranks: %v", n, time.Since(begin).Round(time.Microsecond))
			}
		})
	}
}

func TestNoExampleRaisesAnAlarmWhenRunTwiceOnItsWindows(t *testing.T) {
	for _, name := range corpus(t, "examples/*.pl", "examples/course/*.pl") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			u, _ := open(t, name)
			most := 8
			if filepath.Base(filepath.Dir(name)) == "examples" || testing.Short() {
				most = 3 // large tensors
			}
			for n := 1; n <= most; n++ {
				p, err := u.Program(n)
				if err != nil {
					t.Logf("%d ranks: %v", n, err)
					continue
				}
				begin := time.Now()
				r := verify.Check(p, layers, []verify.Scope{p.Scope(n, 2, u.Syms)})
				if errorsIn(r) {
					t.Errorf("%d ranks:%s", n, reasons(r))
				} else if r.Status() != verify.Proved || n == most {
					t.Logf("%d ranks: %v%s", n, time.Since(begin).Round(time.Microsecond), reasons(r))
				}
			}
		})
	}
}

func TestLateVisibilityChangesNothingInProgramsWithoutRaces(t *testing.T) {
	for _, c := range library.Programs(40, 3) {
		u, err := load.Source(source.NewFile(c.Name+".pl", c.Text), load.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := u.Program(4)
		if err != nil {
			t.Fatal(err)
		}
		var first []byte
		for _, k := range policies() {
			o, fs := runOnce(t.Context(), p, p.Scope(4, 2, nil), nil, k, "memory")
			if hasErrors(fs) || o.err != nil {
				t.Fatalf("%s, %s: %v %v", c.Name, k.policy, fs, o.err)
			}
			var got []byte
			for _, args := range o.calls {
				got = append(got, args["y"].Data...)
			}
			if first == nil {
				first = got
			} else if !bytes.Equal(first, got) {
				t.Errorf("%s: %s, seed %d computes something else", c.Name, k.policy, k.seed)
			}
		}
	}
}
