package dynamic

import (
	"context"
	"strings"
	"testing"
	"time"

	"ptoc/verify"
)

// A budget that is used up, or an interrupt, is said, and soon.
func TestABudgetThatIsUsedUpIsSaid(t *testing.T) {
	const program = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 64], pl.FP32]]):
    t = pl.full([1, 64], dtype=pl.FP32, value=0.0)
    for i in pl.range(TURNS):
        t = t + 1.0
    pl.store(t, [0, 0], y)

@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, 64], pl.FP32]]):
    for r in pl.range(CALLS):
        step(y[r % NR], device=r % NR)
`
	for _, interrupted := range []bool{false, true} {
		aLongKernel := strings.NewReplacer("TURNS", "4000000", "CALLS", "NR").Replace(program)
		manyShortOnes := strings.NewReplacer("TURNS", "1", "CALLS", "9223372036854775807").Replace(program)
		stops(t, aLongKernel, interrupted)
		stops(t, manyShortOnes, interrupted)
	}
}

func stops(t *testing.T, program string, interrupted bool) {
	t.Helper()
	u := fromText(t, program)
	p, err := u.Program(1)
	if err != nil {
		t.Fatal(err)
	}
	want := "budget: 200ms are over"
	p.Budget = 200 * time.Millisecond
	if interrupted {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(200*time.Millisecond, cancel)
		p.Context, p.Budget, want = ctx, time.Hour, "interrupted"
	}
	begin := time.Now()
	for _, v := range verify.Check(p, layers, []verify.Scope{p.Scope(1, 1, nil)}).Verdicts {
		if v.Status != verify.NotChecked || !strings.Contains(v.Reason, want) {
			t.Errorf("%s: %s %s", v.Layer, v.Status, v.Reason)
		}
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("it took %v", d)
	}
}
