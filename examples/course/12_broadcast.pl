# 12. Broadcast.
#
# Everybody gets the root's window. Only the root's content matters, so only the root writes it. The
# collective has a barrier on both sides: the first says that the root is ready, the second lets the root
# (or anybody else) write the window again at once.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
SIZE = 96


@pl.jit.incore
def spread(
    x: pl.Tensor[[1, SIZE], pl.FP32],
    y: pl.Out[pl.Tensor[[2, SIZE], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    me = pld.rank(pld.get_comm_ctx(data))
    for round in pl.range(2):  # the same window, the same signal, twice
        if me == 0:
            data = pl.store(pl.load(x, [0, 0], [1, SIZE]) + round, [0, 0], data)
        data = pld.tensor.broadcast(data, signal, root=0)
        y = pl.store(pl.load(data, [0, 0], [1, SIZE]), [round, 0], y)
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, 2, SIZE], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        spread(x[r], y[r], data, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        for round in pl.range(2):
            y[r, round : round + 1, :] = x[0] + round
