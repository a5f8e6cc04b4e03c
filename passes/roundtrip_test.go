package passes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/ir/irtest"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/passes"
)

// What is printed reads back equal: for random modules as they are, and after inlining and
// simplifying them.
func roundTrip(t *testing.T, m *ir.Module) {
	t.Helper()
	if err := passes.RoundTrip(m, passes.Reparse); err != nil {
		t.Fatalf("%v\n%s", err, ir.Print(m))
	}
	list := passes.Run(m, passes.Options{Passes: []string{"InlineFunctions", "Simplify"}, VerifyEach: true,
		Reparse: passes.Reparse, ReproducerDir: t.TempDir()})
	for _, d := range list.Sorted() {
		if d.Code == diag.Internal {
			t.Fatal(d)
		}
	}
}

func TestRandomModulesSurviveTheRoundTrip(t *testing.T) {
	n := uint64(300)
	if testing.Short() {
		n = 30
	}
	for seed := uint64(0); seed < n; seed++ {
		roundTrip(t, irtest.Random(1000+seed, int(seed%100)))
	}
}

func TestExamplesSurviveEveryPass(t *testing.T) {
	files, err := filepath.Glob("../examples/*.pl")
	course, err2 := filepath.Glob("../examples/course/*.pl")
	if files = append(files, course...); err != nil || err2 != nil || len(files) < 10 {
		t.Fatalf("%d examples, %v, %v", len(files), err, err2)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		list := &diag.List{}
		m := passes.Load(source.NewFile(name, string(text)), check.Options{}, list)
		if !list.HasErrors() {
			list = passes.Run(m, passes.Options{VerifyEach: true, Reparse: passes.Reparse, ReproducerDir: t.TempDir()})
		}
		if list.HasErrors() {
			t.Errorf("%s: %v", name, list)
		}
	}
}

// A kernel of about 200 lines through the front end and all passes; it should stay under 10 ms.
func BenchmarkFrontEndAndPasses(b *testing.B) {
	text := ir.Print(irtest.Random(17, 150))
	for b.Loop() {
		list := &diag.List{}
		m := passes.Load(source.NewFile("kernel.pl", text), check.Options{}, list)
		if !list.HasErrors() {
			list = passes.Run(m, passes.Options{})
		}
		if list.HasErrors() {
			b.Fatal(list)
		}
	}
	b.ReportMetric(float64(strings.Count(text, "\n")), "lines")
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("some bytes to start from"))
	f.Add([]byte{13, 2, 13, 0, 1, 7, 7, 12, 15, 3, 9, 200, 14, 1})
	f.Fuzz(func(t *testing.T, data []byte) { roundTrip(t, irtest.FromBytes(data)) })
}

// One program holds every op that there is; a new row of the op table has to join it.
func TestEveryOpSurvivesTheRoundTrip(t *testing.T) {
	text, err := os.ReadFile("testdata/every_op.pl")
	if err != nil {
		t.Fatal(err)
	}
	list := &diag.List{}
	m := passes.Load(source.NewFile("every_op.pl", string(text)), check.Options{}, list)
	if list.HasErrors() {
		t.Fatal(list)
	}
	for _, err := range ir.Verify(m) {
		t.Error(err)
	}
	seen := map[*ir.Kind]bool{}
	for _, f := range m.Funcs {
		f.Walk(func(op *ir.Op) { seen[op.Kind] = true })
	}
	for _, k := range ir.Kinds() {
		if !seen[k] {
			t.Errorf("%s does not occur", k.Name)
		}
	}
	roundTrip(t, m)
}
