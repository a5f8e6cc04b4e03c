package load

import (
	"os"
	"strings"
	"testing"
	"time"

	"ptoc/lang/source"
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

func TestFaultsInCodeThatDependsOnDataAreFound(t *testing.T) {
	text, err := os.ReadFile(dataDependent)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, code string }{
		{"        pld.wait(returned, [p, 0], 1)\n        pld.notify(returned, me, [p, 0], -1)\n", "        pl.write(y, [0, 0], 0.0)\n", "E0612"},
		{"        pld.wait(arrived, [src, 0], 1)\n", "", "E0612"},
		{"pl.write(count, [0, best], at + 1)", "pl.write(count, [0, best], at)", "E0617"},
		{"acc + pl.load(outbox", "acc - pl.load(outbox", "E0617"},
		{"peer=e // local", "peer=e", "E0602"},
	} {
		changed := strings.Replace(string(text), c.old, c.new, 1)
		if changed == string(text) {
			t.Fatalf("%q is not there", c.old)
		}
		u, err := Source(source.NewFile("moe.pl", changed), Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := u.Program(2)
		if err != nil {
			t.Fatal(err)
		}
		r := verify.Check(p, static, []verify.Scope{p.Scope(2, 1, nil)})
		found := false
		for _, f := range r.Findings() {
			found = found || f.Code.String() == c.code
		}
		if !found {
			t.Errorf("%q for %q: no %s%s", c.new, c.old, c.code, reasons(r))
		}
	}
}

func TestGivenInputsDecideWhereDataDoes(t *testing.T) {
	u := unit(t, around(`    for i in pl.range(pl.cast(pl.read(x, [0, 0]), pl.INDEX)):
        pl.store(pl.load(x, [0, 0], [1, 64]), [0, i], y)
`))
	p, err := u.Program(2)
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]verify.Status{"x=zeros": verify.Proved, "x=full:1": verify.Proved, "x=full:2": verify.Counterexample} {
		s := p.Scope(2, 1, nil)
		s.Inputs = []string{in}
		if r := verify.Check(p, []string{"bounds"}, []verify.Scope{s}); r.Status() != want {
			t.Errorf("%s: want %s%s", in, want, reasons(r))
		}
	}
}
