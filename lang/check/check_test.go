package check

import (
	"os"
	"path/filepath"
	"testing"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/diag/diagtest"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// checkText parses and checks a program.
func checkText(name, text string, opts Options) (*ir.Module, *source.File, *diag.List) {
	var list diag.List
	src := source.NewFile(name, text)
	f := syntax.Parse(src, syntax.ModeFor(name), &list)
	return File(f, opts, &list), src, &list
}

func TestEveryCodeHasAnExampleThatFiresIt(t *testing.T) {
	for _, r := range diag.Rows() {
		switch r.Code.Family() {
		case "names", "types", "shapes", "distributed":
			if r.Code >= 550 && r.Code < 600 {
				continue // found by passes
			}
		default:
			continue
		}
		if r.Example == "" {
			continue
		}
		t.Run(r.Code.String(), func(t *testing.T) {
			_, src, list := checkText(r.Code.String()+".pl", r.Example, Options{})
			diagtest.Check(t, src, list)
		})
	}
}

func TestErrorsStandWhereThePrograms(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.p[ly]")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			_, src, list := checkText(name, string(text), Options{})
			diagtest.Check(t, src, list)
		})
	}
}
