# An output is read before it is written.
# ranks: 2..2

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    acc = pl.load(y, [0, 0], [1, 8]) + pl.load(x, [0, 0], [1, 8])  # ERROR "E0618"
    pl.store(acc, [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r],
             pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = pl.sum(x, axis=0)
