package load

import (
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/diag/diagtest"
	"ptoc/lang/source"
)

func TestTheExampleOfEveryCodeFiresIt(t *testing.T) {
	for _, row := range diag.Rows() {
		if row.Code.Family() != "signalling" || row.Example == "" {
			continue
		}
		t.Run(row.Code.String(), func(t *testing.T) {
			u, err := Source(source.NewFile("example.pl", row.Example), Options{})
			if err != nil {
				t.Fatalf("%v\n%s", err, row.Example)
			}
			list := &diag.List{}
			for _, f := range reportOf(t, u, 2, 3, 1, static).Findings() {
				if f.Code == row.Code || f.Severity == diag.Error {
					list.Add(f.Diagnostic)
				}
			}
			diagtest.Check(t, u.File, list)
		})
	}
}
