# 07-shared-cell with the barrier counting on from the flag.
# ranks: 2..2

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.inline
def meet(signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]], count: pl.Scalar[pl.INDEX]):
    """Barrier number count of a kernel; clear() takes the credits back."""
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    for i in pl.range(1, n):
        pld.notify(signal, (me + i) % n, [me, 0], 1)
    for i in pl.range(1, n):
        pld.wait(signal, [(me + i) % n, 0], count)


@pl.jit.inline
def clear(signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]], count: pl.Scalar[pl.INDEX]):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    for i in pl.range(1, n):
        pld.notify(signal, me, [(me + i) % n, 0], -count)


@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
         signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    right = (me + 1) % n
    left = (me + n - 1) % n
    pld.put(data, right, x)
    pld.notify(signal, right, [me, 0], 1)
    pld.wait(signal, [left, 0], 1)
    pl.store(pl.load(data, [0, 0], [1, 8]), [0, 0], y)
    meet(signal, 2)
    clear(signal, 2)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for k in pl.range(3):
        for r in pl.range(pld.world_size()):
            step(x[r], y[r],
                 pld.window(data, [1, 8], dtype=pl.FP32),
                 pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
