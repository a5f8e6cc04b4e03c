package dynamic

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/verify"
	"ptoc/verify/library"
	"ptoc/verify/load"
	"ptoc/verify/model"
)

// modelOf is the model of a program; nil where its steps depend on the schedule.
func modelOf(t *testing.T, u *load.Unit, n, repeats int) (*model.Model, *verify.Program, verify.Scope) {
	p, err := u.Program(n)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Scope(n, repeats, u.Syms)
	m, exact, err := Model(p, s, nil)
	if err != nil || exact != "" {
		t.Logf("%d ranks: no exact model: %v %s", n, err, exact)
		return nil, p, s
	}
	return m, p, s
}

func TestOneScheduleOfALibraryCollectiveStandsForAllInterleavings(t *testing.T) {
	for _, c := range library.Programs(40, 2) {
		u, err := load.Source(source.NewFile(c.Name+".pl", c.Text), load.Options{})
		if err != nil {
			t.Fatal(err)
		}
		counts := []int{2, 3}
		if !testing.Short() && (c.Name == "barrier" || c.Name == "allreduce-oneshot") {
			counts = append(counts, 4)
		}
		for _, n := range counts {
			begin := time.Now()
			m, p, s := modelOf(t, u, n, 1)
			v := (scheduleLayer{}).Check(p, s)
			one := time.Since(begin)
			begin = time.Now()
			all := m.Search(3_000_000)
			steps, ok := m.Run()
			if v.Status != verify.Proved || v.States != steps+1 || !ok || len(all.Stuck) > 0 || !all.Complete {
				t.Errorf("%s, %d ranks: %s %s, %d steps, %v, all: %d states, complete %v, stuck %v", c.Name, n, v.Status, v.Reason, steps, ok, all.States, all.Complete, all.Stuck)
			}
			t.Logf("%-18s %d ranks: reduced %4d states %7v   all interleavings %7d states %7v", c.Name, n, v.States, one.Round(100*time.Microsecond), all.States, time.Since(begin).Round(100*time.Microsecond))
		}
	}
}

// hangs are the codes of deadlocks.
var hangs = []diag.Code{diag.LostWait, diag.WaitCycle, diag.NotResident}

func reportsHang(r *verify.Report) bool {
	for _, f := range r.Findings() {
		for _, c := range hangs {
			if f.Code == c {
				return true
			}
		}
	}
	return false
}

func TestTheModelOfACorpusProgramDeadlocksWhereTheDetectorSaysSo(t *testing.T) {
	for _, name := range corpus(t, "tests/bugs/*.pl") {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".pl"), func(t *testing.T) {
			u, h := open(t, name)
			n, _ := ranksOf(t, h)
			m, _, _ := modelOf(t, u, n, 1)
			if m == nil {
				return
			}
			hang := reportsHang(check(t, u, n, 1, []string{"schedules"}))
			res := m.Search(2_000_000)
			if res.Complete && hang != (len(res.Stuck) > 0) {
				t.Errorf("detector: hang %v, search: %d deadlocks in %d states", hang, len(res.Stuck), res.States)
			}
		})
	}
}

func TestSpinAgrees(t *testing.T) {
	if _, err := exec.LookPath("spin"); err != nil {
		t.Skip("spin is not installed")
	}
	if testing.Short() {
		t.Skip("spin compiles a program for each model")
	}
	for _, name := range corpus(t, "tests/bugs/1[023]-*.pl") {
		u, h := open(t, name)
		n, _ := ranksOf(t, h)
		if m, _, _ := modelOf(t, u, n, 1); m != nil {
			spin(t, filepath.Base(name), m)
		}
	}
	for _, c := range library.Programs(40, 2) {
		u, err := load.Source(source.NewFile(c.Name+".pl", c.Text), load.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{2, 3} {
			m, _, _ := modelOf(t, u, n, 1)
			spin(t, c.Name, m)
		}
	}
}

var (
	spinErrors = regexp.MustCompile(`errors: (\d+)`)
	spinStates = regexp.MustCompile(`(\d+) states, stored`)
)

// spin compares a model's verdict with spin's.
func spin(t *testing.T, name string, m *model.Model) {
	dir := t.TempDir()
	write := func(file, text string) {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("m.pml", m.Promela())
	do := func(args ...string) string {
		c := exec.Command(args[0], args[1:]...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil && args[0] != "./pan" {
			t.Fatalf("%s: %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	do("spin", "-a", "m.pml")
	do("cc", "-O0", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c")
	begin := time.Now()
	out := do("./pan", "-m200000")
	took := time.Since(begin)
	es := spinErrors.FindStringSubmatch(out)
	if es == nil {
		t.Fatalf("%s: %s", name, out)
	}
	begin = time.Now()
	res := m.Search(5_000_000)
	own := time.Since(begin)
	if (es[1] != "0") != (len(res.Stuck) > 0) {
		t.Errorf("%s: spin says %s errors, the search %d deadlocks", name, es[1], len(res.Stuck))
	}
	if st := spinStates.FindStringSubmatch(out); st != nil {
		t.Logf("%-24s %d ranks: spin %s states %v, search %d states %v", name, len(m.Ranks), st[1], took.Round(time.Millisecond), res.States, own.Round(100*time.Microsecond))
	}
}
