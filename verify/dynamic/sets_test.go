package dynamic

import (
	"strings"
	"testing"

	"ptoc/verify"
)

const setsProgram = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[1, 64], pl.FP32], y: pl.InOut[pl.Tensor[[1, 64], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[4, 64], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    if me == 0:
        pld.notify(signal, 0, [1, 0], 0, op=pld.NotifyOp.Set)
        for i in pl.range(1, n):
            pld.notify(signal, i, [0, 0], 1)
        pld.wait(signal, [1, 0], EXPECTED)
        pl.store(pl.load(data, [ROW, 0], [1, 64]), [0, 0], y)
    else:
        pld.wait(signal, [0, 0], 1)
        pld.tile.remote_store(pl.load(x, [0, 0], [1, 64]), data, peer=0, offsets=[me, 0])
        pld.notify(signal, 0, [1, 0], 1)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 64], pl.FP32], y: pl.InOut[pl.Tensor[[NR, 1, 64], pl.FP32]]):
    data = pld.alloc_window_buffer([4, 64], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], pld.window(data, [4, 64], dtype=pl.FP32), pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
`

// Which of two credits comes first in a cell that is set is not for one run to say: a wait for 1 orders neither
// row, a wait for 2 orders both.
func TestWaitsOnCellsThatAreSetAreOrderedAsInEverySchedule(t *testing.T) {
	for _, row := range []string{"1", "2"} {
		for expected, want := range map[string]verify.Status{"1": verify.Counterexample, "2": verify.Proved} {
			for _, layer := range layers {
				r := check(t, fromText(t, strings.NewReplacer("EXPECTED", expected, "ROW", row).Replace(setsProgram)), 3, 1, []string{layer})
				if r.Status() != want {
					t.Errorf("%s: row %s, wait for %s: want %s%s", layer, row, expected, want, reasons(r))
				}
			}
		}
	}
}
