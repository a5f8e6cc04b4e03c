# 10. All-reduce on a ring, by hand.
#
# Every rank talks to its neighbours only. The vector is cut into n rows. In step s a rank takes row
# me - s - 1 from its left neighbour and adds its own: after n - 1 steps row me + 1 is complete here. Then
# complete rows travel on for n - 1 steps more.
#
# One cell counts the steps that the left neighbour has finished. When may a row be overwritten? Only when it
# comes back complete, and by then it has passed through the rank that was still to read it: no barrier is
# needed. Only at the end must a rank know that its right neighbour has read everything: the second cell.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
COLS = 32


@pl.jit.incore
def allreduce(
    x: pl.Tensor[[NR, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[NR, COLS], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[NR, COLS], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    left = (me + n - 1) % n
    right = (me + 1) % n
    for i in pl.range(n):
        data = pl.store(pl.load(x, [i, 0], [1, COLS]), [i, 0], data)

    steps = 2 * (n - 1)
    for s in pl.range(steps):
        pld.system.notify(signal, right, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
        pld.system.wait(signal, [0, 0], s + 1, cmp=pld.WaitCmp.Ge)
        row = (me + steps - s + 1) % n
        incoming = pld.tile.remote_load(data, left, [row, 0], [1, COLS])
        if s < n - 1:
            incoming = incoming + pl.load(data, [row, 0], [1, COLS])
        data = pl.store(incoming, [row, 0], data)
    pld.system.notify(signal, left, [1, 0], 1, op=pld.NotifyOp.AtomicAdd)
    pld.system.wait(signal, [1, 0], 1, cmp=pld.WaitCmp.Ge)
    pld.system.notify(signal, me, [0, 0], -steps, op=pld.NotifyOp.AtomicAdd)
    pld.system.notify(signal, me, [1, 0], -1, op=pld.NotifyOp.AtomicAdd)

    for i in pl.range(n):
        y = pl.store(pl.load(data, [i, 0], [1, COLS]), [i, 0], y)
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, NR, COLS], pl.FP32], y: pl.Out[pl.Tensor[[NR, NR, COLS], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([NR, COLS], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [NR, COLS], dtype=pl.FP32)
    signal = pld.window(signal_buf, [2, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        allreduce(x[r], y[r], data, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = pl.sum(x, axis=0)
