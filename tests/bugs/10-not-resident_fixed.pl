# 10-not-resident, each block waiting for the one before it.
# ranks: 2..3

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    for b in pl.spmd(n):
        if b > 0:
            pld.wait(signal, [b, 0], 1)
        pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], y)
        if b < n - 1:
            pld.notify(signal, me, [b + 1, 0], 1)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r],
             pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
