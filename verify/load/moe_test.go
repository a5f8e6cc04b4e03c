package load

import (
	"strings"
	"testing"
	"time"

	"ptoc/verify"
)

// dataDependent is a program in which data decides where tokens go, how many loads there are, and to whom.
const dataDependent = "../../tests/moe/dispatch_combine.pl"

func TestWhatDependsOnDataIsProvedForTheGivenInputsAndSaysSo(t *testing.T) {
	u, err := File(dataDependent, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 4, 8} {
		p, err := u.Program(n)
		if err != nil {
			t.Fatal(err)
		}
		r := verify.Check(p, static, []verify.Scope{p.Scope(n, 2, nil)})
		if r.Status() != verify.Proved {
			t.Errorf("%d ranks:%s", n, reasons(r))
		}
		for _, v := range r.Verdicts {
			if v.Layer != "uniform" && !strings.Contains(v.Given, "given inputs") {
				t.Errorf("%d ranks: %s does not say that it holds for these inputs only", n, v.Layer)
			}
		}
	}
}

func TestDispatchOf128TokensTo6ExpertsEachOn4RanksIsProved(t *testing.T) {
	u, err := File(dataDependent, Options{Defines: map[string]string{"T": "128", "TOPK": "6", "NE": "16", "D": "16"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := u.Program(4)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	r := verify.Check(p, static, []verify.Scope{p.Scope(4, 1, nil)})
	if r.Status() != verify.Proved {
		t.Error(reasons(r))
	}
	t.Logf("%v", time.Since(begin).Round(time.Millisecond))
}
