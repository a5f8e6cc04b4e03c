# Class 16: right in every run of a simulator that lets ranks take turns, wrong on a machine: rank 0 tells
# rank 1, which tells rank 2, about data that rank 0 has not written yet. Seen in simpler#266, pypto PR#2279.
# ranks: 3..4

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
    if me == 0:
        pld.notify(signal, 1, [0, 0], 1)
        pld.put(data, 2, x)  # ERROR "E0614"
    elif me == 1:
        pld.wait(signal, [0, 0], 1)
        pld.notify(signal, 2, [1, 0], 1)
    elif me == 2:
        pld.wait(signal, [1, 0], 1)
        pl.store(pl.load(data, [0, 0], [1, 8]), [0, 0], y)  # ERROR "E0612"


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r],
             pld.window(data, [1, 8], dtype=pl.FP32),
             pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
