# PyPTO's allgather: everybody puts its row to everybody, then a barrier. No barrier before: a fast rank's
# next call overwrites a row that a slow one has not read yet.
# ranks: 2..4

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
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 8], pl.FP32]],
         rows: pl.InOut[pld.DistributedTensor[[NR, 8], pl.FP32]],
         signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    for i in pl.range(n):
        pld.put(rows, (me + i) % n, x, [me, 0], [0, 0], [1, 8])
    meet(signal, 1)
    clear(signal, 1)
    for i in pl.range(n):
        pl.store(pl.load(rows, [i, 0], [1, 8]), [i, 0], y)  # ERROR "E0612"


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, NR, 8], pl.FP32]]):
    rows = pld.alloc_window_buffer([NR, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for k in pl.range(2):
        for r in pl.range(pld.world_size()):
            step(x[r], y[r],
                 pld.window(rows, [NR, 8], dtype=pl.FP32),
                 pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
