package passes

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"ptoc/ir"
	"ptoc/ir/irtest"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

func TestPipelineKeepsItsOrderConstraints(t *testing.T) {
	rows := func(name string) (at []int) {
		for i, p := range table {
			if p.Name == name {
				at = append(at, i)
			}
		}
		return at
	}
	for _, c := range order {
		if c.reason == "" {
			t.Errorf("%s before %s: no reason given", c.first, c.then)
		}
		for _, i := range rows(c.first) {
			for _, j := range rows(c.then) {
				if i >= j {
					t.Errorf("%s must stand before %s: %s", c.first, c.then, c.reason)
				}
			}
		}
	}
	for _, p := range table {
		if strings.ToUpper(p.Name[:1]) != p.Name[:1] || p.Doc == "" {
			t.Errorf("row %q: a name and a sentence, please", p.Name)
		}
	}
}

func TestEveryPassFindsWhatItNeeds(t *testing.T) {
	var have Props
	for _, p := range table {
		if missing := p.Needs &^ have; missing != 0 {
			t.Errorf("%s needs properties %b that nothing before it makes", p.Name, missing)
		}
		have = have&^p.Breaks | p.Makes
	}
}

// broken swaps a pass in that does what must not happen.
func runBroken(t *testing.T, pass func(*ir.Module, *Context)) *diag.List {
	t.Helper()
	m := irtest.Random(3, 30)
	rows := []Pass{
		{Name: "InlineFunctions", run: inlineFunctions},
		{Name: "Broken", run: pass},
		{Name: "Simplify", run: simplify},
	}
	r := &runner{m: m, rows: rows, c: &Context{Diags: &diag.List{}}, o: Options{VerifyEach: true, ReproducerDir: t.TempDir()}}
	r.run()
	return r.c.Diags
}

func TestAPassThatBreaksTheIRIsNamedAndReproduced(t *testing.T) {
	list := runBroken(t, func(m *ir.Module, c *Context) {
		for _, f := range m.Funcs {
			if f.Name == "step" {
				f.Body.Ops = f.Body.Ops[1:]
			}
		}
	})
	checkReport(t, list, "pass Broken broke the IR: function step")
}

func TestAPanicInAPassIsAnInternalError(t *testing.T) {
	list := runBroken(t, func(m *ir.Module, c *Context) {
		var none []int
		_ = none[len(m.Funcs)]
	})
	checkReport(t, list, "pass Broken failed: runtime error: index out of range")
	if strings.Contains(list.Error(), "goroutine") {
		t.Error("the report shows a stack trace")
	}
}

func checkReport(t *testing.T, list *diag.List, want string) {
	t.Helper()
	all := list.Sorted()
	if len(all) != 1 || all[0].Code != diag.Internal || !strings.HasPrefix(all[0].Message, want) {
		t.Fatalf("got %v, want %s", list, want)
	}
	if len(all[0].Helps) != 1 {
		t.Fatalf("no reproducer: %v", all[0].Notes)
	}
	_, path, _ := strings.Cut(all[0].Helps[0], "was written to ")
	path, _, _ = strings.Cut(path, ";")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names, ok := PassesOf(string(text))
	if got := strings.Join(names, ","); !ok || got != "Broken,Simplify" {
		t.Errorf("the reproducer runs %q", got)
	}
	m := irtest.Random(3, 30)
	inlineFunctions(m, &Context{Diags: &diag.List{}})
	if !strings.HasSuffix(string(text), ir.Print(m)) {
		t.Errorf("the reproducer is not the module before the pass:\n%s", text)
	}
}

func TestUnknownPassesAreNamed(t *testing.T) {
	if _, err := Select([]string{"Simplify", "Fuse"}, ""); err == nil || !strings.Contains(err.Error(), "no pass is called Fuse; there are InlineFunctions, Simplify,") {
		t.Errorf("got %v", err)
	}
	if _, err := Select([]string{"Simplfy"}, ""); err == nil || err.Error() != "no pass is called Simplfy; did you mean Simplify?" {
		t.Errorf("got %v", err)
	}
	if rows, err := Select([]string{"inline-functions"}, ""); err != nil || rows[0].Name != "InlineFunctions" {
		t.Errorf("inline-functions: %v, %v", rows, err)
	}
	rows, err := Select(nil, "simplify")
	if err != nil || len(rows) < 2 || rows[len(rows)-1].Name != "Simplify" {
		t.Errorf("until Simplify: %v, %v", rows, err)
	}
}

func TestFoundErrorsStopThePipeline(t *testing.T) {
	ran := false
	r := &runner{m: irtest.Random(1, 5), c: &Context{Diags: &diag.List{}}, rows: []Pass{
		{Name: "A", run: func(_ *ir.Module, c *Context) { c.Diags.Errorf(diag.LoopBound, source.Span{}, "no") }},
		{Name: "B", run: func(*ir.Module, *Context) { ran = true }},
	}}
	r.run()
	if ran || r.c.Diags.Len() != 1 {
		t.Errorf("ran on: %v", r.c.Diags)
	}
}

func TestRulesThatNeverSettleAreAnInternalError(t *testing.T) {
	defer func(n int) { maxRounds = n }(maxRounds)
	maxRounds = 0
	list := Run(irtest.Random(3, 30), Options{ReproducerDir: t.TempDir()})
	if all := list.Sorted(); len(all) != 1 || all[0].Code != diag.Internal || !strings.Contains(all[0].Message, "pass Simplify failed: ") ||
		!strings.Contains(all[0].Message, "still changes after 0 rounds") {
		t.Errorf("got %v", list)
	}
}

func TestPassesEndWhereTheirContextDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var after []string
	list := Run(irtest.Random(3, 30), Options{Context: ctx, After: func(p Pass, _ *ir.Module, _ time.Duration) {
		after = append(after, p.Name)
		cancel()
	}})
	if all := list.Sorted(); len(all) != 1 || all[0].Code != diag.Interrupted {
		t.Errorf("got %v", list)
	}
	if len(after) != 1 {
		t.Errorf("ran %v", after)
	}
}

func TestSimplifyEndsInTheMiddleWhereItsContextDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	defer func() {
		if _, ok := recover().(interrupted); !ok {
			t.Error("it ran to its end")
		}
	}()
	m := irtest.Random(3, 30)
	inlineFunctions(m, &Context{Diags: &diag.List{}})
	simplify(m, &Context{Diags: &diag.List{}, ctx: ctx})
}

// What a watcher finds is put down to the pass that did it, although it looks only here and there.
func TestWhatAWatcherFindsIsPutDownToItsPass(t *testing.T) {
	for _, each := range []bool{false, true} {
		watch := func(*ir.Module) func(string, *ir.Module) *diag.Diagnostic {
			return func(pass string, m *ir.Module) *diag.Diagnostic {
				if m.Func("step").Doc != "spoilt" {
					return nil
				}
				return diag.New(diag.SyncChanged, source.Span{}, "pass %s did it", pass)
			}
		}
		rows := []Pass{
			{Name: "InlineFunctions", run: inlineFunctions},
			{Name: "Broken", run: func(m *ir.Module, _ *Context) { m.Func("step").Doc = "spoilt" }},
			{Name: "Simplify", run: simplify},
		}
		r := &runner{m: irtest.Random(3, 30), rows: rows, c: &Context{Diags: &diag.List{}},
			o: Options{Watch: watch, VerifyEach: each, ReproducerDir: t.TempDir()}}
		r.run()
		if all := r.c.Diags.Sorted(); len(all) != 1 || all[0].Message != "pass Broken did it" {
			t.Errorf("each = %v: %v", each, r.c.Diags)
		}
	}
}
