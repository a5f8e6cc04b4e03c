package load

import (
	"strings"
	"testing"

	"ptoc/verify"
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

// integers is a program that makes y of x, and what y should be.
func integers(dtype, body, golden string) string {
	return strings.ReplaceAll(`
@pl.jit.incore
def k(x: pl.Tensor[[1, 16], pl.DT], y: pl.Out[pl.Tensor[[1, 16], pl.DT]]):
    t = pl.load(x, [0, 0], [1, 16])
    pl.store(`+body+`, [0, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[1, 16], pl.DT], y: pl.Out[pl.Tensor[[1, 16], pl.DT]]):
    k(x, y, device=0)

@pl.golden(of=main)
def expected(x, y):
    y[:, :] = `+golden+`
`, "DT", dtype)
}

// Terms are numbers of any size, and integers wrap: a proof that rests on it says so, and a cast that keeps the low bits is not
// taken for one that keeps the number.
func TestWhatIsProvedOfIntegersIsProvedOfThoseThatDoNotOverflow(t *testing.T) {
	for _, c := range []struct {
		body, golden string
		want         verify.Status
		overflow     bool
	}{
		{"t", "x", verify.Proved, false},
		{"t + t", "x * 2", verify.Proved, true},
		{"pl.cast(pl.cast(t, pl.INT64), pl.INT32)", "x", verify.Proved, true},
		{"pl.cast(pl.cast(t, pl.INT8), pl.INT32)", "x", verify.NotChecked, false},
		{"pl.cast(pl.cast(t * 256, pl.INT8), pl.INT32)", "x * 256", verify.Counterexample, false},
	} {
		r := reportOf(t, unit(t, integers("INT32", c.body, c.golden)), 1, 1, 1, []string{"values"})
		if v := r.Verdicts[0]; v.Status != c.want || strings.Contains(v.Given, "overflow") != c.overflow {
			t.Errorf("%s = %s: %s, given %q%s", c.body, c.golden, v.Status, v.Given, reasons(r))
		}
	}
}

// Terms that are not visibly the same are compared on random inputs, which are whole numbers where the program's are.
func TestRightIntegerArithmeticRaisesNoAlarm(t *testing.T) {
	for body, golden := range map[string]string{"t * 2 // 2": "x", "t & 1": "x % 2", "t - t % 2": "x // 2 * 2",
		"pl.cast(pl.cast(t, pl.FP32), pl.INT32)": "x", "t >> 1": "x // 2", "(t // 3) * 3 + t % 3": "x"} {
		r := reportOf(t, unit(t, integers("INT32", body, golden)), 1, 1, 1, []string{"values"})
		if r.Status() == verify.Counterexample {
			t.Errorf("%s = %s%s", body, golden, reasons(r))
		}
	}
	r := reportOf(t, unit(t, integers("INT32", "t & 3", "x % 2")), 1, 1, 1, []string{"values"})
	if r.Status() != verify.Counterexample {
		t.Errorf("a wrong bit is not found%s", reasons(r))
	}
}
