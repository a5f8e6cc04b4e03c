# All-reduce: each rank has a vector, and every rank gets the sum of all of them.
#
#   ptoc run examples/allreduce.pl --ranks 8 --check

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")  # the number of ranks, bound by --ranks
SIZE = 256             # -D SIZE=1024 overrides it


@pl.jit.incore  # a kernel: runs on one core of one rank
def step(
    x: pl.Tensor[[1, SIZE], pl.FP32],
    y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    data = pl.store(pl.load(x, [0, 0], [1, SIZE]), [0, 0], data)
    data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum)
    return pl.store(pl.load(data, [0, 0], [1, SIZE]), [0, 0], y)


@pl.jit.host  # the single controller: allocates windows, dispatches to ranks
def main(x: pl.Tensor[[NR, 1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], data, signal, device=r)


@pl.golden(of=main)  # the specification, as a plain single-device program
def expected(x, y):
    for r in pl.range(NR):
        y[r] = pl.sum(x, axis=0)
