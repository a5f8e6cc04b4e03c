package load

import (
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/verify"
)

// The cell is set to 0 by its owner, and then two ranks add to it: a wait for 1 may take either credit, so it
// orders what neither of them wrote.
func TestAWaitForOneOfTwoCreditsInACellThatIsSetOrdersNeither(t *testing.T) {
	for expected, want := range map[string]verify.Status{"1": verify.Counterexample, "2": verify.Proved} {
		u := unit(t, around(`    if me == 0:
        pld.notify(signal, 0, [1, 0], 0, op=pld.NotifyOp.Set)
        for i in pl.range(1, n):
            pld.notify(signal, i, [0, 0], 1)
        pld.wait(signal, [1, 0], `+expected+`)
        pl.store(pl.load(data, [1, 0], [1, 64]), [0, 0], y)
    else:
        pld.wait(signal, [0, 0], 1)
        pld.tile.remote_store(pl.load(x, [0, 0], [1, 64]), data, peer=0, offsets=[me, 0])
        pld.notify(signal, 0, [1, 0], 1)
`))
		p, err := u.Program(3)
		if err != nil {
			t.Fatal(err)
		}
		r := verify.Check(p, []string{"order"}, []verify.Scope{p.Scope(3, 1, nil)})
		if r.Status() != want {
			t.Errorf("wait for %s: want %s%s", expected, want, reasons(r))
		}
	}
}

// With 2 ranks, for which each compile compares what passes do, this one hangs. That is no fault of a pass.
func TestAProgramForThreeRanksCompiles(t *testing.T) {
	u := unit(t, around(`    if me == 0:
        pld.wait(signal, [0, 0], 2)
        pl.store(pl.load(data, [2, 0], [1, 64]), [0, 0], y)
        pld.notify(signal, 0, [0, 0], -2)
    else:
        pld.tile.remote_store(pl.load(x, [0, 0], [1, 64]), data, peer=0, offsets=[me, 0])
        pld.notify(signal, 0, [0, 0], 1)
`))
	wantProved(t, reportOf(t, u, 3, 3, 1, []string{"uniform", "bounds", "signals", "order"}))
}

// A flag that its owner puts up and a peer takes down is waited for by equality with 0. One that somebody else puts up
// again may be missed.
func TestAFlagThatAPeerTakesDownIsWaitedForByEquality(t *testing.T) {
	body := `    right = (me + 1) % n
    left = (me + n - 1) % n
    pl.store(pl.load(x, [0, 0], [1, 64]), [0, 0], data)
    pld.notify(signal, me, [0, 0], 1)
    pld.notify(signal, right, [1, 0], 1)
    pld.wait(signal, [1, 0], 1)
    pld.notify(signal, me, [1, 0], -1)
    pl.store(pld.remote_load(data, left, [0, 0], [1, 64]), [0, 0], y)
    pld.notify(signal, left, [0, 0], -1)
    pld.wait(signal, [0, 0], 0, cmp=pld.WaitCmp.Eq)
    pl.store(pl.load(x, [1, 0], [1, 64]), [0, 0], data)
`
	layers := []string{"signals", "order"}
	wantProved(t, reportOf(t, unit(t, around(body)), 2, 3, 1, layers))

	again := body[:strings.Index(body, "    pld.wait(signal, [0, 0]")] + "    pld.notify(signal, left, [0, 0], 1)\n" + body[strings.Index(body, "    pld.wait(signal, [0, 0]"):]
	r := reportOf(t, unit(t, around(again)), 2, 2, 1, []string{"signals"})
	if fs := r.Findings(); len(fs) == 0 || fs[0].Code != diag.EqualityWait {
		t.Errorf("a flag that is put up again is said to be seen down%s", reasons(r))
	}
}

// A cell has 32 bits: what would come to more is not called right.
func TestACellThatMayOverflowIsNotCalledRight(t *testing.T) {
	u := unit(t, around(`    for i in pl.range(2):
        pld.notify(signal, (me + 1) % n, [0, 0], 1073741824)
    pld.wait(signal, [0, 0], 1073741824)
    pl.store(pl.load(x, [0, 0], [1, 64]), [0, 0], y)
`))
	r := reportOf(t, u, 2, 2, 1, []string{"signals"})
	if r.Status() != verify.NotChecked || !strings.Contains(reasons(r), "more than an INT32") {
		t.Errorf("signals: %s%s", r.Status(), reasons(r))
	}
}
