# The barrier that PyPTO had before its credits: Set(1) and Ge(1) on a signal that is used again
# (pypto#2156, #2175, #1829). From the second call on it lets everybody through.
# ranks: 2..4

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
         signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    right = (me + 1) % n
    left = (me + n - 1) % n
    pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], data)
    for i in pl.range(1, n):
        pld.notify(signal, (me + i) % n, [me, 0], 1, op=pld.NotifyOp.Set)
    for i in pl.range(1, n):
        pld.wait(signal, [(me + i) % n, 0], 1)  # ERROR "E0610"
    pl.store(pld.remote_load(data, right, [0, 0], [1, 8]), [0, 0], y)  # ERROR "E0612"


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for k in pl.range(2):
        for r in pl.range(pld.world_size()):
            step(x[r], y[r],
                 pld.window(data, [1, 8], dtype=pl.FP32),
                 pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
