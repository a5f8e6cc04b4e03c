# 14. Reduce-scatter.
#
# The first half of an all-reduce: everybody brings a matrix with a row per rank, and rank r leaves with
# the sum of all rows r. Afterwards only row r of rank r's window has a meaning.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
SIZE = 80


@pl.jit.incore
def scatter_sums(
    x: pl.Tensor[[NR, SIZE], pl.FP32],
    y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[NR, SIZE], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    for r in pl.range(pld.nranks(ctx)):
        data = pl.store(pl.load(x, [r, 0], [1, SIZE]), [r, 0], data)
    data = pld.tensor.reduce_scatter(data, signal, op=pld.ReduceOp.Sum)
    return pl.store(pl.load(data, [me, 0], [1, SIZE]), [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, NR, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([NR, SIZE], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [NR, SIZE], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        scatter_sums(x[r], y[r], data, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = pl.sum(x[:, r : r + 1, :], axis=0)
