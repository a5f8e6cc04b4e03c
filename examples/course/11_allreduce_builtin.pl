# 11. All-reduce, built in.
#
# `pld.tensor.allreduce` is the previous three lessons as library code in this very language: see
# stdlib/collectives/allreduce.pl. The compiler picks the algorithm by size (mode= asks for one) and inlines
# it. In a kernel it takes a signal window; the host form needs none, it gets one of its own.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
SIZE = 1000


@pl.jit.incore
def publish(
    x: pl.Tensor[[1, SIZE], pl.FP32], data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]]
):
    return pl.store(pl.load(x, [0, 0], [1, SIZE]), [0, 0], data)


@pl.jit.incore
def halve_and_add(
    y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    data = pl.store(pl.load(data, [0, 0], [1, SIZE]) * 0.5, [0, 0], data)
    data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum, mode="auto")
    return pl.store(pl.load(data, [0, 0], [1, SIZE]), [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        publish(x[r], data, device=r)
    pld.tensor.allreduce(data, op=pld.ReduceOp.Max)  # on every rank: now all windows hold the largest
    for r in pl.range(pld.world_size()):
        halve_and_add(y[r], data, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = pl.amax(x, axis=0) * (0.5 * NR)
