"""An allreduce in two phases, and what dispatches it. Benchmarks repeat this file."""

import ptoc.language as pl
import ptoc.language.distributed as pld

NR = pl.dynamic("NR")  # the world size
SIZE = 256
STEPS = SIZE // 64 + 1


@pl.jit.incore
def reduce_scatter(
    x: pl.Tensor[[1, SIZE], pl.FP32],
    y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    """Each rank owns a segment, and adds up what all ranks have of it."""
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    tile = pl.load(x, [0, 0], [1, SIZE])
    data = pl.store(tile, [0, 0], data)

    # Everybody must have stored before anybody loads.
    for peer in pl.range(n):
        if peer != me:
            pld.system.notify(
                signal, peer=peer, offsets=[me, 0], value=1, op=pld.NotifyOp.AtomicAdd
            )
    for peer in pl.range(n):
        if peer != me:
            pld.system.wait(signal, offsets=[peer, 0], expected=1, cmp=pld.WaitCmp.Ge)

    lo = me * SIZE // n
    hi = (me + 1) * SIZE // n
    acc = pl.full([1, 64], 0.0, dtype=pl.FP32)
    for step, (acc_,) in pl.range(0, STEPS, init_values=(acc,)):
        offset = lo + step * 64
        if offset >= hi or not (offset < SIZE and n > 1):
            break
        width = hi - offset if hi - offset < 64 else 64
        for peer in pl.range(n):
            remote = pld.tile.remote_load(
                data, peer=peer, offsets=[0, offset], shape=[1, 64], valid_shape=[1, width]
            )
            acc_ = pl.add(acc_, remote)
        y = pl.store(acc_ * 2.0 - 1e-3, [0, offset], y)
    return y


@pl.jit
def chip(
    x: pl.Tensor[[1, SIZE], pl.FP32],
    y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="reduce") as tid:
        y = reduce_scatter(x, y, data, signal)
    y[0, 0:SIZE] += x[0, 0:SIZE]
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
        signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
        chip(x[r], y[r], data, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = pl.sum(x, axis=0) * 2.0 + x[r]
