# Class 19: iterations of two ranks meet. Where one rank begins with iteration 0 and the other one with iteration 1, each
# waits for one that comes later.
# ranks: 2..2

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
    right = (me + 1) % n
    for b in pl.parallel(B):
        pld.remote_store(pl.load(x, [b, 0], [1, 8]), data, right, [b, 0])
        pld.notify(signal, right, [b, 0], 1)
        pld.wait(signal, [b, 0], 1)  # ERROR "E0616.*iteration . of rank . waits for iteration . of rank"
        pld.notify(signal, me, [b, 0], -1)
        pl.store(pl.load(data, [b, 0], [1, 8]), [b, 0], y)


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
        y[r] = x[(r + NR - 1) % NR]
