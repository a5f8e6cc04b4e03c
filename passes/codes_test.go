package passes

import (
	"testing"

	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/diag/diagtest"
	"ptoc/lang/source"
)

// The examples of the codes that passes report: each fires its code, on the line that it names.
func TestEveryCodeOfPassesHasAnExampleThatFiresIt(t *testing.T) {
	for _, r := range diag.Rows() {
		if r.Code < 550 || r.Code > 599 || r.Example == "" {
			continue
		}
		t.Run(r.Code.String(), func(t *testing.T) {
			src := source.NewFile(r.Code.String()+".pl", r.Example)
			var list diag.List
			m := Load(src, check.Options{}, &list)
			if list.HasErrors() {
				t.Fatal(&list)
			}
			list.Merge(Run(m, Options{VerifyEach: true}))
			diagtest.Check(t, src, &list)
			for _, d := range list.Sorted() {
				if d.Code != r.Code {
					t.Errorf("fires %s", d)
				}
			}
		})
	}
}
