package check

import (
	"os"
	"path/filepath"
	"testing"

	"ptoc/ir"
	"ptoc/ir/irtest"
)

// Everything that checks without errors prints as a program that checks to the same module.
func TestPrintedModulesReadBackEqual(t *testing.T) {
	var files []string
	for _, pat := range []string{"testdata/good/*.p[ly]", "../../examples/*.p[ly]", "../../examples/*/*.p[ly]"} {
		more, _ := filepath.Glob(pat)
		files = append(files, more...)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(name), func(t *testing.T) { roundTrip(t, name, string(text), Options{}) })
	}
}

func roundTrip(t *testing.T, name, text string, opts Options) *ir.Module {
	t.Helper()
	m, _, list := checkText(name, text, opts)
	if list.HasErrors() {
		t.Fatalf("%v", list)
	}
	for _, err := range ir.Verify(m) {
		t.Errorf("verify: %v", err)
	}
	printed := ir.Print(m)
	m2, _, list := checkText("printed.pl", printed, Options{})
	if list.HasErrors() {
		t.Fatalf("%v\n%s", list, printed)
	}
	if err := ir.Equal(m, m2); err != nil {
		t.Fatalf("%v\n%s\n---- read back:\n%s", err, printed, ir.Print(m2))
	}
	if again := ir.Print(m2); again != printed {
		t.Errorf("printed differently:\n%s\n----\n%s", printed, again)
	}
	return m
}

func TestRandomModulesReadBackEqual(t *testing.T) {
	for seed := uint64(0); seed < 200; seed++ {
		m := irtest.Random(seed, 60)
		printed := ir.Print(m)
		m2, _, list := checkText("printed.pl", printed, Options{})
		if list.HasErrors() {
			t.Fatalf("seed %d: %v\n%s", seed, list, printed)
		}
		if err := ir.Equal(m, m2); err != nil {
			t.Fatalf("seed %d: %v\n%s\n---- read back:\n%s", seed, err, printed, ir.Print(m2))
		}
	}
}
