# 19-block-before-it, with a signal from each block to the next one.
# ranks: 2..3

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
B = 4  # blocks


@pl.jit.incore
def step(x: pl.Tensor[[B, 8], pl.FP32], y: pl.Out[pl.Tensor[[B, 8], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[B, 8], pl.FP32]],
         signal: pl.InOut[pld.DistributedTensor[[B, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    for b in pl.spmd(B):
        row = pl.load(x, [b, 0], [1, 8])
        if b > 0:
            pld.wait(signal, [b, 0], 1)
            pld.notify(signal, me, [b, 0], -1)
            row = row + pl.load(data, [b - 1, 0], [1, 8])
        pl.store(row, [b, 0], data)
        if b < B - 1:
            pld.notify(signal, me, [b + 1, 0], 1)
        pl.store(row, [b, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, B, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, B, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([B, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([B, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r],
             pld.window(data, [B, 8], dtype=pl.FP32),
             pld.window(signal, [B, 1], dtype=pl.INT32), device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        for b in pl.range(B):
            y[r, b : b + 1] = pl.sum(x[r, 0 : b + 1], axis=0, keepdims=True)
