package stdlib

import (
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/syntax"
)

func TestEveryFileParses(t *testing.T) {
	if len(Files()) == 0 {
		t.Fatal("no files")
	}
	for _, f := range Files() {
		var list diag.List
		syntax.Parse(f, syntax.Strict, &list)
		if err := list.Err(); err != nil {
			t.Error(err)
		}
	}
}
