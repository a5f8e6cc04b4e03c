# 8. All-reduce in one shot, by hand.
#
# Every rank ends up with the sum of everybody's vector. The direct way: write yours into the window, meet,
# and add up all of them yourself. Every rank reads the vectors of all n ranks: the least waiting, the most
# traffic. Adding in the same order everywhere gives the same bits everywhere.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
SIZE = 128


@pl.jit.incore
def allreduce(
    x: pl.Tensor[[1, SIZE], pl.FP32],
    y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    n = pld.nranks(pld.get_comm_ctx(data))
    data = pl.store(pl.load(x, [0, 0], [1, SIZE]), [0, 0], data)
    pld.tensor.barrier(signal)
    acc = pld.tile.remote_load(data, 0, [0, 0], [1, SIZE])
    for peer in pl.range(1, n):
        acc = acc + pld.tile.remote_load(data, peer, [0, 0], [1, SIZE])
    pld.tensor.barrier(signal)  # nobody writes its window again before everybody has read it
    return pl.store(acc, [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        allreduce(x[r], y[r], data, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = pl.sum(x, axis=0)
