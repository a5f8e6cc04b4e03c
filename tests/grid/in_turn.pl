# A block that goes on with what the one before it computed: these run one after the other, the others do not.
# ranks: 2..3
# blocks: 4

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(
    x: pl.Tensor[[4, 16], pl.FP32],
    y: pl.Out[pl.Tensor[[4, 16], pl.FP32]],
    z: pl.Out[pl.Tensor[[4, 16], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    data = pl.store(pl.load(x, [0, 0], [1, 16]), [0, 0], data)
    acc = pl.load(x, [1, 0], [1, 16])
    for p in pl.range(n):
        pld.notify(signal, p, [me, 0], 1)
    for p in pl.range(n):
        pld.wait(signal, [p, 0], 1)
        acc = acc + pld.remote_load(data, p, [0, 0], [1, 16])
    for b in pl.spmd(4):
        y = pl.store(acc + pl.load(x, [b, 0], [1, 16]), [b, 0], y)
    for b in pl.spmd(4):
        z = pl.store(pl.load(x, [b, 0], [1, 16]) * 2.0, [b, 0], z)
    run = pl.load(x, [2, 0], [1, 16])
    for b in pl.spmd(4):
        run = run * 0.5
        z = pl.store(pl.load(z, [b, 0], [1, 16]) + run, [b, 0], z)
    return y


@pl.jit.host
def main(
    x: pl.Tensor[[NR, 4, 16], pl.FP32],
    y: pl.Out[pl.Tensor[[NR, 4, 16], pl.FP32]],
    z: pl.Out[pl.Tensor[[NR, 4, 16], pl.FP32]],
):
    data_buf = pld.alloc_window_buffer([1, 16], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [1, 16], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], z[r], data, signal, device=r)
