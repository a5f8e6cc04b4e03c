# 16. Composition: softmax over a vector that no rank holds as a whole.
#
# Each rank has a shard. The largest element of all (an all-reduce with Max) makes the exponentials safe;
# the sum of all exponentials (an all-reduce with Sum) normalises them. Two collectives share one signal, one
# generic helper serves both: `op` is a compile-time parameter, and `pl.jit.inline` code costs no call.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
SIZE = 200


@pl.jit.inline
def everywhere(
    t: pl.Tile[[1, 1], pl.FP32],
    cell: pl.InOut[pld.DistributedTensor[[1, 1], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
    op: pl.Const[pld.ReduceOp],
):
    cell = pl.store(t, [0, 0], cell)
    cell = pld.tensor.allreduce(cell, signal, op=op)
    return pl.load(cell, [0, 0], [1, 1])


@pl.jit.incore
def softmax(
    x: pl.Tensor[[1, SIZE], pl.FP32],
    y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    cell: pl.InOut[pld.DistributedTensor[[1, 1], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    t = pl.load(x, [0, 0], [1, SIZE])
    largest = everywhere(pl.row_max(t), cell, signal, pld.ReduceOp.Max)
    e = pl.exp(t - largest)
    total = everywhere(pl.row_sum(e), cell, signal, pld.ReduceOp.Sum)
    return pl.store(e / total, [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]]):
    cell_buf = pld.alloc_window_buffer([1, 1], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    cell = pld.window(cell_buf, [1, 1], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        softmax(x[r], y[r], cell, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    all = pl.reshape(x, [1, NR * SIZE])
    e = pl.exp(all - pl.row_max(all))
    p = pl.reshape(e / pl.row_sum(e), [NR, SIZE])
    for r in pl.range(NR):
        y[r] = p[r : r + 1, :]
