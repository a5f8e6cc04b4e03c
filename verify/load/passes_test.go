package load

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/passes"
	"ptoc/verify"
)

// everyProgram are the corrected twins, the programs that test the library, and one around each collective.
func everyProgram(t *testing.T, fn func(name string, u *Unit)) {
	library, err := filepath.Glob("../../stdlib/testdata/*.pl")
	if err != nil || len(library) == 0 {
		t.Fatal("no library programs: ", err)
	}
	for _, name := range append(library, corpus(t, "bugs")...) {
		if strings.Contains(name, "/bugs/") && !strings.HasSuffix(name, "_fixed.pl") {
			continue
		}
		u, err := File(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fn(name, u)
	}
	for _, c := range collectives {
		u, err := Source(source.NewFile(c.name+".pl", c.program()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		fn(c.name, u)
	}
}

func TestNoPassChangesTheSynchronisation(t *testing.T) {
	compared := 0
	everyProgram(t, func(name string, u *Unit) {
		before := ir.CloneModule(u.Checked)
		scope := verify.Scope{Ranks: 3, Syms: map[string]int64{"NR": 3}, Repeats: 1}
		m := ir.CloneModule(u.Checked)
		list := passes.Run(m, passes.Options{After: func(p passes.Pass, m *ir.Module, _ time.Duration) {
			if f := verify.SyncChanged(p.Name, before, m, "main", scope); f != nil {
				t.Errorf("%s: %v", name, f.Error())
			}
			compared++
			before = ir.CloneModule(m)
		}})
		if list.HasErrors() {
			t.Errorf("%s: %v", name, list)
		}
	})
	t.Logf("%d passes compared", compared)
}

func TestAPassThatDropsOrMovesSynchronisationIsNamed(t *testing.T) {
	for _, c := range collectives[:2] {
		u, err := Source(source.NewFile(c.name+".pl", c.program()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := ir.CloneModule(u.Checked)
		if l := passes.Run(m, passes.Options{Passes: frontPasses(), Ranks: 2}); l.HasErrors() {
			t.Fatal(l)
		}
		scope := verify.Scope{Ranks: 2, Syms: map[string]int64{"NR": 2}, Repeats: 1}
		all := 0
		mutants(m, func(name string, mutant *ir.Module) {
			all++
			f := verify.SyncChanged("Broken", m, mutant, "main", scope)
			if f == nil || f.Code != diag.SyncChanged || !strings.Contains(f.Message, "Broken") {
				t.Errorf("%s: %s is not found", c.name, name)
			}
		})
		if all == 0 {
			t.Errorf("%s: no mutants", c.name)
		}
		t.Logf("%s: %d", c.name, all)
	}
}

func TestAPassThatOrdersBlocksOrSetsThemFreeIsNamed(t *testing.T) {
	u, err := File("../../tests/bugs/19-last-block-notifies_fixed.pl", Options{})
	if err != nil {
		t.Fatal(err)
	}
	scope := verify.Scope{Ranks: 2, Syms: map[string]int64{"NR": 2}, Repeats: 1}
	kinds := func(from, to string) *ir.Module {
		m := ir.CloneModule(u.Checked)
		for _, f := range m.Funcs {
			f.Walk(func(op *ir.Op) {
				if op.Kind == ir.For && op.Enum("kind").Is(from) {
					op.SetAttr("kind", ir.LoopKind.Of(to))
				}
			})
		}
		return m
	}
	ordered := kinds("spmd", "range")
	for _, c := range []struct{ before, after *ir.Module }{{u.Checked, ordered}, {ordered, u.Checked}} {
		if f := verify.SyncChanged("Broken", c.before, c.after, "main", scope); f == nil || f.Code != diag.SyncChanged {
			t.Errorf("not found: %v", f)
		}
	}
	if f := verify.SyncChanged("Right", u.Checked, kinds("spmd", "spmd"), "main", scope); f != nil {
		t.Error(f.Error())
	}
}

func TestTheChecksOfEveryCompileRaiseNoAlarm(t *testing.T) {
	everyProgram(t, func(name string, u *Unit) {
		if strings.Contains(name, "12-whole-domain") {
			return // right only for the rank counts that it names
		}
		if fs := verify.Static(u.Checked); len(fs) > 0 {
			t.Errorf("%s: as checked: %s", name, verify.Summary(fs))
		}
		p, err := u.Program(3)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*ir.Module{p.Lowered, p.Final} {
			if fs := verify.Static(m); len(fs) > 0 {
				t.Errorf("%s: lowered: %s", name, verify.Summary(fs))
			}
		}
	})
}

func TestEveryCompileFindsWhatNeedsNoRankCount(t *testing.T) {
	for name, code := range map[string]diag.Code{
		"03-signal-before-data": diag.SignalBeforeData, "11-hidden-collective": diag.RankDependent,
		"12-divergent-trips": diag.RankDependent, "12-early-return": diag.RankDependent, "g26-tile-tail": diag.OutOfBounds,
	} {
		u, err := File("../../tests/bugs/"+name+".pl", Options{})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		fs := verify.Static(u.Checked)
		if len(fs) == 0 || fs[0].Code != code {
			t.Errorf("%s: want %s, got %s", name, code, verify.Summary(fs))
		}
		t.Logf("%s: %v", name, time.Since(begin))
	}
}
