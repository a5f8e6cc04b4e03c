package cpp_test

import (
	"strings"
	"testing"

	"ptoc/codegen/cpp"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/passes"
	"ptoc/tests/golden"
)

// The text of small programs, from the first kernel on: prelude and helpers have tests of their own.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", golden.Commands{"cpp": func(c golden.Call) (string, error) {
		file := source.NewFile(c.Args[0], c.Files[c.Args[0]])
		list := &diag.List{}
		m := passes.Load(file, check.Options{}, list)
		if list.HasErrors() {
			return "", list
		}
		if l := passes.Run(m, passes.Options{}); l.HasErrors() {
			return "", l
		}
		out, err := cpp.Generate(m)
		if err != nil {
			return err.Error() + "\n", nil
		}
		for _, first := range []string{"\n// incore ", "\n// chip "} {
			if i := strings.Index(out.Text, first); i >= 0 {
				return strings.TrimSpace(out.Text[i:]) + "\n", nil
			}
		}
		return "", nil
	}})
}
