# Class 12: a barrier under a condition that holds on the first four ranks only. The twin is the same program
# at four ranks and fewer, where it is right.
# ranks: 5..6

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    if me < 4:
        signal = pld.tensor.barrier(signal)  # ERROR "E0603"
    pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
