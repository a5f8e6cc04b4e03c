package load

import (
	"testing"

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
