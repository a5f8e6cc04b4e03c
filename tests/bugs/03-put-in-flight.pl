# Class 3: a rank reads back what it has just put into a peer's window. The put is on its way until a notify or a fence.
# ranks: 2..4

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
         signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    right = (me + 1) % n
    pld.put(data, right, x)
    pl.store(pld.remote_load(data, right, [0, 0], [1, 8]), [0, 0], y)  # ERROR "E0612"
    signal = pld.tensor.barrier(signal)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r],
             pld.window(data, [1, 8], dtype=pl.FP32),
             pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = x[r]
