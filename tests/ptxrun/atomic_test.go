package ptxrun

import (
	"os"
	"path/filepath"
	"testing"
)

// Additions to elements of 16 bits touch no others: the owner may store to the neighbours at the same time.
func TestAtomicAdditionsLeaveNeighboursAlone(t *testing.T) {
	const text = `import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.BF16], y: pl.Out[pl.Tensor[[1, 8], pl.BF16]], data: pl.InOut[pld.DistributedTensor[[1, 8], pl.BF16]],
         sig: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(data))
    n = pld.nranks(pld.get_comm_ctx(data))
    data = pl.store(pl.load(x, [0, 5], [1, 3]), [0, 5], data)
    for p in pl.range(n):
        pld.tile.remote_store(pl.load(x, [0, 0], [1, 5]), data, p, [0, 0], atomic=pld.AtomicType.Add)
        pld.system.notify(sig, p, [0, 0], 1)
    pld.system.wait(sig, [0, 0], n)
    return pl.store(pl.load(data, [0, 0], [1, 8]), [0, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.BF16], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.BF16]]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.BF16)
    sig = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], pld.window(data, [1, 8], dtype=pl.BF16), pld.window(sig, [1, 1], dtype=pl.INT32), device=r)

@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r][:, 0:5] = pl.sum(x, axis=0)[:, 0:5]
        y[r][:, 5:8] = x[r][:, 5:8]
`
	file := filepath.Join(t.TempDir(), "neighbours.pl")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, ranks := range []int{1, 2, 3} {
		checkExample(t, file, ranks)
	}
}
