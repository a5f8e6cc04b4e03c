# 14-mixed-atomics, with all adds in FP32.
# ranks: 2..4

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], z: pl.Tensor[[1, 8], pl.INT32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         reals: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
         signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(reals))
    if me == 0:
        pld.remote_store(pl.load(x, [0, 0], [1, 8]), reals, 1, [0, 0], atomic=pld.AtomicType.Add)
    else:
        pld.remote_store(pl.cast(pl.load(z, [0, 0], [1, 8]), pl.FP32), reals, 1, [0, 0], atomic=pld.AtomicType.Add)
    signal = pld.tensor.barrier(signal)
    pl.store(pld.remote_load(reals, 1, [0, 0], [1, 8]), [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], z: pl.Tensor[[NR, 1, 8], pl.INT32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    sums = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], z[r], y[r],
             pld.window(sums, [1, 8], dtype=pl.FP32),
             pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
