package ptxrun

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A loop reads a window and then, in its next turn, tells the peer that it may be written again: all threads must
// have read by then.
func TestATurnHasReadBeforeTheNextOneNotifies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credits.pl")
	const text = `import ptoc.language as pl
import ptoc.distributed as pld

TURNS = 6

@pl.jit.incore
def step(x: pl.Tensor[[TURNS, 256], pl.FP32], y: pl.Out[pl.Tensor[[1, 256], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[1, 256], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]],
         me: pl.Scalar[pl.INDEX]):
    if me == 0:
        total = pl.full([1, 256], pl.FP32, 0.0)
        for i in pl.range(TURNS):
            pld.system.notify(signal, 1, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
            pld.system.wait(signal, [0, 0], i + 1, cmp=pld.WaitCmp.Ge)
            total = total + pl.load(data, [0, 0], [1, 256])
        y = pl.store(total, [0, 0], y)
    else:
        for i in pl.range(TURNS):
            pld.system.wait(signal, [0, 0], i + 1, cmp=pld.WaitCmp.Ge)
            pld.tile.remote_store(pl.load(x, [i, 0], [1, 256]), data, 0, [0, 0])
            pld.system.notify(signal, 0, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
        y = pl.store(pl.full([1, 256], pl.FP32, 0.0), [0, 0], y)
    return y

@pl.jit.host
def main(x: pl.Tensor[[TURNS, 256], pl.FP32], y: pl.Out[pl.Tensor[[2, 1, 256], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([1, 256], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [1, 256], dtype=pl.FP32)
    signal = pld.window(signal_buf, [1, 1], dtype=pl.INT32)
    for r in pl.range(2):
        step(x, y[r], data, signal, r, device=r)

@pl.golden(of=main)
def expected(x, y):
    y[0] = pl.sum(x, axis=0)
    y[1] = pl.full([1, 256], pl.FP32, 0.0)
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(4) {
		_, r, err := runFile(file, 2, Config{Races: true, Seed: seed})
		if errors.Is(err, ErrMissing) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if bad := wrong(r); bad != "" {
			t.Error(bad)
		}
	}
}
