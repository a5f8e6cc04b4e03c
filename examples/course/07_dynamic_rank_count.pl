# 7. Any number of ranks.
#
# `NR` is a symbol: a dimension that is bound when the program runs. Shapes may use it, and the compiler
# proves what it can with it in place; in a kernel, `pld.nranks` is the same number. Here every rank reads
# one value from each of the others, so its output has a column per rank.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def survey(
    x: pl.Tensor[[1, NR], pl.FP32],
    y: pl.Out[pl.Tensor[[1, NR], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[1, NR], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    for i in pl.range(n):
        data[0, i] = x[0, i]
    pld.tensor.barrier(signal)
    for peer in pl.range(n):  # what each peer has for me: row `peer` of the matrix, column `me`
        y = pl.store(pld.tile.remote_load(data, peer, [0, me], [1, 1]), [0, peer], y)
    pld.tensor.barrier(signal)  # the barrier of lesson 4, from the library; here: everybody has read
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, NR], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, NR], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([1, NR], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [1, NR], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        survey(x[r], y[r], data, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        for s in pl.range(NR):
            y[r, 0, s] = x[s, 0, r]
