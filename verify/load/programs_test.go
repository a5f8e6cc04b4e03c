package load

import (
	"path/filepath"
	"testing"
	"time"

	"ptoc/verify"
)

func TestNoExampleRaisesAnAlarm(t *testing.T) {
	var names []string
	for _, pattern := range []string{"../../examples/*.pl", "../../examples/course/*.pl"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			u, err := File(name, Options{})
			if err != nil {
				t.Fatal(err)
			}
			const most = 8
			for n := 1; n <= most; n++ {
				p, err := u.Program(n)
				if err != nil {
					t.Logf("%d ranks: %v", n, err)
					continue
				}
				begin := time.Now()
				r := verify.Check(p, static, []verify.Scope{p.Scope(n, 2, nil)})
				if r.Status() == verify.Counterexample {
					t.Errorf("%d ranks:%s", n, reasons(r))
				}
				if n == most {
					t.Logf("%d ranks: %v in %v%s", n, r.Status(), time.Since(begin), reasons(r))
				}
			}
		})
	}
}
