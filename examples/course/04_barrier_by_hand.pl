# 4. A barrier, by hand.
#
# Nothing orders ranks but signals. A signal is a window of INT32 cells. `notify` adds to a cell of a peer,
# and publishes everything that this kernel has written before; `wait` blocks until a cell of this rank is
# large enough, and then sees what was published. Cell [s, 0] here counts what rank s has told us.
#
# Here everybody writes its window, meets everybody else, reads the window of its right neighbour, and
# meets again. Without the first barrier the read would race with the neighbour's store; without the second a
# rank that is fast enough to call `shift` again would overwrite what its neighbour still reads. `ptoc verify`
# finds both mistakes (try it: --repeat 2).
#
# A barrier takes its credits back, so that the next one starts from zero. It must subtract them, not set the
# cell to 0: a fast peer may already have added its credit for the next barrier.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
SIZE = 64


@pl.jit.inline  # spliced into its callers: costs no call
def meet(
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
    me: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
):
    for peer in pl.range(n):
        if peer != me:
            pld.system.notify(signal, peer, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)
    for peer in pl.range(n):
        if peer != me:
            pld.system.wait(signal, [peer, 0], 1, cmp=pld.WaitCmp.Ge)
            pld.system.notify(signal, me, [peer, 0], -1, op=pld.NotifyOp.AtomicAdd)


@pl.jit.incore
def shift(
    x: pl.Tensor[[1, SIZE], pl.FP32],
    y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    data = pl.store(pl.load(x, [0, 0], [1, SIZE]), [0, 0], data)
    meet(signal, me, n)
    right = (me + 1) % n
    y = pl.store(pld.tile.remote_load(data, right, [0, 0], [1, SIZE]), [0, 0], y)
    meet(signal, me, n)
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        shift(x[r], y[r], data, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = x[(r + 1) % NR]
