# 9. All-reduce in two phases, by hand.
#
# One shot reads n vectors per rank. Two phases read two: first each rank adds up only its own segment of
# everybody's vector, then it collects the finished segments from their owners. One barrier more, n / 2 times
# less traffic. Segments need not be equal: the last ranks may have less, or nothing.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
SIZE = 256


@pl.jit.incore
def allreduce(
    x: pl.Tensor[[1, SIZE], pl.FP32],
    y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    sums: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    seg = (SIZE + n - 1) // n
    data = pl.store(pl.load(x, [0, 0], [1, SIZE]), [0, 0], data)
    pld.tensor.barrier(signal)

    # Phase 1: my segment of everybody's vector. Its length is known only now: valid_shape.
    lo = pl.min(me * seg, SIZE)
    size = pl.min(SIZE - lo, seg)
    acc = pld.tile.remote_load(data, 0, [0, lo], [1, SIZE], valid_shape=[1, size])
    for peer in pl.range(1, n):
        acc = acc + pld.tile.remote_load(data, peer, [0, lo], [1, SIZE], valid_shape=[1, size])
    sums = pl.store(acc, [0, lo], sums)
    pld.tensor.barrier(signal)

    # Phase 2: everybody's segment of the sum.
    for owner in pl.range(n):
        at = pl.min(owner * seg, SIZE)
        part = pld.tile.remote_load(
            sums, owner, [0, at], [1, SIZE], valid_shape=[1, pl.min(SIZE - at, seg)]
        )
        y = pl.store(part, [0, at], y)
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    sums_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
    sums = pld.window(sums_buf, [1, SIZE], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        allreduce(x[r], y[r], data, sums, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = pl.sum(x, axis=0)
