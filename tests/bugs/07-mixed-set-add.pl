# Class 7, and pypto section B: a credit is cleared by setting 0, which may wipe out the next one.
# ranks: 2..3

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
    pld.put(data, right, x)
    pld.notify(signal, right, [0, 0], 1)
    pld.wait(signal, [0, 0], 1)
    pl.store(pl.load(data, [0, 0], [1, 8]), [0, 0], y)
    pld.notify(signal, left, [1, 0], 1)
    pld.wait(signal, [1, 0], 1)
    pld.notify(signal, me, [0, 0], 0, op=pld.NotifyOp.Set)  # ERROR "E0607"
    pld.notify(signal, me, [1, 0], 0, op=pld.NotifyOp.Set)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for k in pl.range(2):
        for r in pl.range(pld.world_size()):
            step(x[r], y[r],
                 pld.window(data, [1, 8], dtype=pl.FP32),
                 pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
