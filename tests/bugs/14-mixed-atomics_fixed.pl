# 14-mixed-atomics, with all adds in FP32.
# ranks: 2..4

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def add(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
              sums: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
              signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    pld.remote_store(pl.load(x, [0, 0], [1, 8]), sums, 1, [0, 0], atomic=pld.AtomicType.Add)
    signal = pld.tensor.barrier(signal)
    pl.store(pld.remote_load(sums, 1, [0, 0], [1, 8]), [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    sums = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        add(x[r], y[r], pld.window(sums, [1, 8], dtype=pl.FP32), pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = pl.sum(x, axis=0)
