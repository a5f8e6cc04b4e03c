# Class 19: blocks count in one cell by setting it. On one core the last one sets the highest number.
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
        pl.store(pl.load(x, [b, 0], [1, 8]), [b, 0], data)
        pld.notify(signal, me, [0, 0], b + 1, op=pld.NotifyOp.Set)  # ERROR "E0619.*block 1 of rank 0 sets signal.*, which block 0 of rank 0 may be setting"
    for b in pl.range(B):
        pld.wait(signal, [0, 0], B)
    for b in pl.range(B):
        pld.notify(signal, me, [b, 0], 0, op=pld.NotifyOp.Set)
    for b in pl.spmd(B):
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
        y[r] = x[r]
