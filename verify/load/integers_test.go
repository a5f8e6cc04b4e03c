package load

import (
	"testing"
)

// The counter of a loop may pass the end of the integers behind its last turn: this one turns twice.
func TestALoopUpToTheLastIntegerEnds(t *testing.T) {
	u := unit(t, around(`    c = 0
    for i in pl.range(9223372036854775800, 9223372036854775807, 5):
        c = c + 1
    for i in pl.range(-9223372036854775800, -9223372036854775807, -5):
        c = c + 1
    pld.notify(signal, (me + 1) % n, [0, 0], c)
    pld.wait(signal, [0, 0], 4)
    pld.notify(signal, me, [0, 0], -4)
    pl.store(pl.load(x, [0, 0], [1, 64]), [0, 0], y)
`))
	r := reportOf(t, u, 2, 2, 1, []string{"signals", "order"})
	wantProved(t, r)
	for _, f := range r.Findings() {
		t.Errorf("%s: the cell is not taken back to 0", f.Error())
	}
}
