package load

import (
	"fmt"
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/verify"
)

// kept is a program in which each rank sets a mark on its right neighbour and waits for its own; which mark, says
// next, in terms of what the rank keeps in state[0, 0].
const kept = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         slots: pl.InOut[pld.DistributedTensor[[2, 8], pl.FP32]],
         state: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]],
         signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
         back: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(signal))
    n = pld.nranks(pld.get_comm_ctx(signal))
    turn = pl.cast(pl.read(state, [0, 0]), pl.INDEX)
    pl.write(state, [0, 0], pl.cast((turn + 1) %% 4, pl.INT32))
    half = %s
    mark = %s
    pld.put(slots, (me + 1) %% n, x, [half, 0], [0, 0], [1, 8])
    pld.notify(signal, (me + 1) %% n, [half, 0], mark, op=pld.NotifyOp.Set)
    pld.wait(signal, [half, 0], mark, cmp=pld.WaitCmp.Eq)
    pl.store(pl.load(slots, [half, 0], [1, 8]), [0, 0], y)
    pld.tensor.barrier(back)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    slots = pld.alloc_window_buffer([2, 8], dtype=pl.FP32)
    state = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
    signal = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    back = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], pld.window(slots, [2, 8], dtype=pl.FP32), pld.window(state, [1, 1], dtype=pl.INT32),
             pld.window(signal, [2, 1], dtype=pl.INT32), pld.window(back, [NR, 1], dtype=pl.INT32), device=r)
`

// What a set leaves in its cell is reported where the next run would take it for its own mark, and not where the program
// knows which mark comes next.
func TestWhatASetLeavesIsReportedIfItMisleads(t *testing.T) {
	for _, c := range []struct {
		half, mark string
		repeats    int
		misleads   bool
	}{
		{"0", "1", 1, true},
		{"turn % 2", "1", 1, false}, // the run after the next is misled
		{"turn % 2", "1", 2, true},
		{"0", "1 + turn % 2", 1, false},
		{"turn % 2", "1 + turn // 2", 1, false},
		{"turn % 2", "1 + turn // 2", 3, false},
	} {
		text := fmt.Sprintf(kept, c.half, c.mark)
		u, err := Source(source.NewFile("kept.pl", text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := u.Program(3)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		r := verify.Check(p, static, []verify.Scope{p.Scope(3, c.repeats, nil)})
		for _, v := range r.Verdicts {
			for _, f := range v.Findings {
				found = found || f.Code == diag.CreditsLeft
			}
		}
		if found != c.misleads {
			t.Errorf("half %s, mark %s, %d repeats: reported %v, want %v:%s", c.half, c.mark, c.repeats, found, c.misleads, reasons(r))
		}
	}
}
