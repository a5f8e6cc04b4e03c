package load

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/diag/diagtest"
	"ptoc/verify"
)

// static are the layers of this package's neighbour; the dynamic ones have tests of their own.
var static = []string{"uniform", "bounds", "signals", "order", "cores", "values"}

var header = regexp.MustCompile(`(?m)^# (ranks|repeats|verify): (.*)$`)

// headers reads the lines "# ranks: 2..4" of a corpus program.
func headers(text string) map[string]string {
	out := map[string]string{}
	for _, m := range header.FindAllStringSubmatch(text, -1) {
		out[m[1]] = m[2]
	}
	return out
}

func ranksOf(t *testing.T, h map[string]string) (lo, hi int) {
	a, b, ok := strings.Cut(h["ranks"], "..")
	lo, err := strconv.Atoi(a)
	hi, err2 := strconv.Atoi(b)
	if !ok || err != nil || err2 != nil {
		t.Fatalf("bad ranks: %q", h["ranks"])
	}
	return lo, hi
}

// reportOf verifies a corpus program at all the rank counts that it names.
func reportOf(t *testing.T, u *Unit, lo, hi, repeats int, layers []string) *verify.Report {
	t.Helper()
	all := &verify.Report{File: u.File.Name}
	for n := lo; n <= hi; n++ {
		p, err := u.Program(n)
		if err != nil {
			t.Fatalf("%d ranks: %v", n, err)
		}
		r := verify.Check(p, layers, []verify.Scope{p.Scope(n, repeats, u.Syms)})
		all.Verdicts = append(all.Verdicts, r.Verdicts...)
	}
	return all
}

func corpus(t *testing.T, dir string) []string {
	names, err := filepath.Glob(filepath.Join("..", "..", "tests", dir, "*.pl"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no programs in tests/%s: %v", dir, err)
	}
	return names
}

func errorsOf(r *verify.Report) *diag.List {
	list := &diag.List{}
	for _, f := range r.Findings() {
		if f.Severity == diag.Error {
			list.Add(f.Diagnostic)
		}
	}
	return list
}

func TestEveryFaultOfTheCorpusIsReportedWhereItIsAndItsTwinIsProved(t *testing.T) {
	for _, name := range corpus(t, "bugs") {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".pl"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			u, err := File(name, Options{})
			if err != nil {
				t.Fatal(err)
			}
			lo, hi := ranksOf(t, headers(string(text)))
			r := reportOf(t, u, lo, hi, 1, static)
			diagtest.Check(t, u.File, errorsOf(r))
			if strings.HasSuffix(name, "_fixed.pl") {
				wantProved(t, r)
			} else if r.Status() != verify.Counterexample {
				t.Errorf("no counterexample")
			}
		})
	}
}

// At 2 ranks the left and the right neighbour are the same rank, and cells coincide that are told apart with more.
func TestNoTwinRaisesAnAlarmAtTwoRanks(t *testing.T) {
	for _, name := range corpus(t, "bugs") {
		if !strings.HasSuffix(name, "_fixed.pl") || strings.Contains(name, "16-passes-by-luck") { // which names rank 2
			continue
		}
		u, err := File(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if lo, _ := ranksOf(t, headers(u.File.Text)); lo > 2 {
			t.Logf("%s", filepath.Base(name))
			wantProved(t, reportOf(t, u, 2, 2, 1, static))
		}
	}
}

// Two cells that fall together are an alarm where the second notify releases something.
func TestAWaitThatOrdersLessThanItSaysIsStillFound(t *testing.T) {
	body := func(between string) string {
		return around(`    right = (me + 1) % n
    pld.tile.remote_store(pl.load(x, [0, 0], [1, 64]), data, peer=right, offsets=[0, 0])
    pld.notify(signal, right, [0, 0], 1)
` + between + `    pld.notify(signal, right, [0, 0], 1)
    pld.wait(signal, [0, 0], 1)
    pld.wait(signal, [0, 0], 1)
    pl.store(pl.load(data, [0, 0], [1, 64]), [0, 0], y)
    pld.notify(signal, me, [0, 0], -2)
`)
	}
	for between, want := range map[string]verify.Status{"": verify.Proved,
		"    pld.tile.remote_store(pl.load(x, [0, 0], [1, 64]), data, peer=right, offsets=[1, 0])\n": verify.Counterexample} {
		r := reportOf(t, unit(t, body(between)), 2, 2, 1, []string{"signals"})
		if r.Status() != want {
			t.Errorf("%q: want %s%s", between, want, reasons(r))
		}
	}
}

// wantProved: every layer proves; values only where there is something to compare with.
func wantProved(t *testing.T, r *verify.Report) {
	t.Helper()
	for _, v := range r.Verdicts {
		if v.Status != verify.Proved && !(v.Layer == "values" && v.Status == verify.NotChecked) {
			t.Errorf("%s: %s: %s %s", v.Layer, v.Scope, v.Status, v.Reason)
		}
	}
}

func TestLitmusProgramsHaveTheVerdictsThatTheyState(t *testing.T) {
	for _, name := range corpus(t, "litmus") {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".pl"), func(t *testing.T) {
			u, err := File(name, Options{})
			if err != nil {
				t.Fatal(err)
			}
			h := headers(u.File.Text)
			lo, hi := ranksOf(t, h)
			r := reportOf(t, u, lo, hi, 1, []string{"bounds", "signals", "order", "cores"})
			got := r.Status().String()
			if fs := errorsOf(r); fs.HasErrors() {
				got = fs.Sorted()[0].Code.String()
			}
			if got != h["verify"] {
				t.Errorf("%s, want %s%s", got, h["verify"], reasons(r))
			}
		})
	}
}

func reasons(r *verify.Report) string {
	var b strings.Builder
	for _, v := range r.Verdicts {
		fmt.Fprintf(&b, "\n  %s: %s %s", v.Layer, v.Status, v.Reason)
		for _, f := range v.Findings {
			fmt.Fprintf(&b, "\n    %s", f.Error())
		}
	}
	return b.String()
}
