# Class 10: each block waits for the one that comes after it, which starts only when a core is free.
# Seen in FlashMoE#3, ATOM PR#1401 (128 blocks on 80 cores), pypto#2369.
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
        if b < n - 1:
            pld.wait(signal, [b, 0], 1)  # ERROR "E0616"
        if b > 0:
            pld.notify(signal, me, [b - 1, 0], 1)
        pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r],
             pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
