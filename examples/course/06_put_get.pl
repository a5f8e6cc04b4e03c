# 6. Put and get.
#
# Where nothing is computed on the way, `put` and `get` copy memory to memory, whole tensors or rectangles.
# A put may be still under way when it returns, but a later notify of the same kernel publishes it. Here
# each rank puts the first half of its rows to the right, and gets the second half from the left. Cell 0 says
# "your data is there", cell 1 "I am done with yours".

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
ROWS = 8
COLS = 32
HALF = ROWS // 2


@pl.jit.incore
def trade(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    mine: pl.InOut[pld.DistributedTensor[[HALF, COLS], pl.FP32]],
    inbox: pl.InOut[pld.DistributedTensor[[HALF, COLS], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(mine)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    right = (me + 1) % n
    left = (me + n - 1) % n
    mine = pl.store(pl.load(x, [HALF, 0], [HALF, COLS]), [0, 0], mine)  # what the right neighbour gets
    pld.tensor.put(inbox, right, x, [0, 0], [0, 0], [HALF, COLS])
    pld.system.notify(signal, right, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
    pld.system.wait(signal, [0, 0], 1, cmp=pld.WaitCmp.Ge)
    # Left has told us: its put has arrived, and its `mine` is ready.
    y = pl.store(pl.load(inbox, [0, 0], [HALF, COLS]), [0, 0], y)
    pld.tensor.get(y, left, mine, [HALF, 0], [0, 0], [HALF, COLS])
    pld.system.notify(signal, left, [1, 0], 1, op=pld.NotifyOp.AtomicAdd)
    pld.system.wait(signal, [1, 0], 1, cmp=pld.WaitCmp.Ge)
    pld.system.notify(signal, me, [0, 0], -1, op=pld.NotifyOp.AtomicAdd)
    pld.system.notify(signal, me, [1, 0], -1, op=pld.NotifyOp.AtomicAdd)
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[NR, ROWS, COLS], pl.FP32]]):
    mine_buf = pld.alloc_window_buffer([HALF, COLS], dtype=pl.FP32)
    inbox_buf = pld.alloc_window_buffer([HALF, COLS], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    mine = pld.window(mine_buf, [HALF, COLS], dtype=pl.FP32)
    inbox = pld.window(inbox_buf, [HALF, COLS], dtype=pl.FP32)
    signal = pld.window(signal_buf, [2, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        trade(x[r], y[r], mine, inbox, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = x[(r + NR - 1) % NR]
