# Class 14: a flag word that is also written byte by byte. Seen in vLLM PR#2760.
# ranks: 2..3

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
         bytes: pl.InOut[pld.DistributedTensor[[NR, 4], pl.INT8]]):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    right = (me + 1) % n
    left = (me + n - 1) % n
    pl.write(bytes, [0, 0], pl.const(1, pl.INT8))  # ERROR "E0613"
    pld.notify(signal, right, [0, 0], 1)
    pld.wait(signal, [0, 0], 1)
    pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], pld.window(signal, [NR, 1], dtype=pl.INT32),  # ERROR "E0719"
             pld.window(signal, [NR, 4], dtype=pl.INT8), device=r)
