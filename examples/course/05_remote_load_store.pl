# 5. Remote loads and stores.
#
# A tile can come from a peer's window, and go there. Here each rank writes its result straight into the
# window of its right neighbour (a push), tells it, and waits for what its left neighbour pushed. Only
# neighbours need to agree, so there is no barrier: cell 0 says "something lies in your inbox", cell 1, on the
# sender, "I have read it, you may push again".

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
SIZE = 64


@pl.jit.incore
def push(
    x: pl.Tensor[[1, SIZE], pl.FP32],
    y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    inbox: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(inbox)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    right = (me + 1) % n
    left = (me + n - 1) % n
    t = pl.load(x, [0, 0], [1, SIZE])
    pld.tile.remote_store(t * 2.0, inbox, right, [0, 0])
    pld.system.notify(signal, right, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
    pld.system.wait(signal, [0, 0], 1, cmp=pld.WaitCmp.Ge)
    y = pl.store(t + pl.load(inbox, [0, 0], [1, SIZE]), [0, 0], y)
    pld.system.notify(signal, left, [1, 0], 1, op=pld.NotifyOp.AtomicAdd)
    pld.system.wait(signal, [1, 0], 1, cmp=pld.WaitCmp.Ge)
    pld.system.notify(signal, me, [0, 0], -1, op=pld.NotifyOp.AtomicAdd)  # both cells back to zero
    pld.system.notify(signal, me, [1, 0], -1, op=pld.NotifyOp.AtomicAdd)
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]]):
    inbox_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    inbox = pld.window(inbox_buf, [1, SIZE], dtype=pl.FP32)
    signal = pld.window(signal_buf, [2, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        push(x[r], y[r], inbox, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = pl.load(x[r], [0, 0], [1, SIZE]) + x[(r + NR - 1) % NR] * 2.0
