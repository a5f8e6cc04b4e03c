# Class 14: one rank adds FP32 to a cell to which another adds INT32. Adds of one type come out the same in any order,
# these do not.
# ranks: 2..4

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def add_reals(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
              sums: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
              signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    pld.remote_store(pl.load(x, [0, 0], [1, 8]), sums, 1, [0, 0], atomic=pld.AtomicType.Add)
    signal = pld.tensor.barrier(signal)
    pl.store(pld.remote_load(sums, 1, [0, 0], [1, 8]), [0, 0], y)


@pl.jit.incore
def add_wholes(x: pl.Tensor[[1, 8], pl.INT32], y: pl.Out[pl.Tensor[[1, 8], pl.INT32]],
               sums: pl.InOut[pld.DistributedTensor[[1, 8], pl.INT32]],
               signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    pld.remote_store(pl.load(x, [0, 0], [1, 8]), sums, 1, [0, 0], atomic=pld.AtomicType.Add)  # ERROR "E0612"
    signal = pld.tensor.barrier(signal)
    pl.store(pld.remote_load(sums, 1, [0, 0], [1, 8]), [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         z: pl.Tensor[[NR, 1, 8], pl.INT32], w: pl.Out[pl.Tensor[[NR, 1, 8], pl.INT32]]):
    sums = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    add_reals(x, y, pld.window(sums, [1, 8], dtype=pl.FP32), pld.window(signal, [NR, 1], dtype=pl.INT32), device=0)
    for r in pl.range(1, pld.world_size()):
        add_wholes(z[r], w[r], pld.window(sums, [1, 8], dtype=pl.INT32), pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
