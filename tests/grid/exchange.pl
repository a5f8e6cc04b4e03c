# As many blocks as ranks, each of which sends a row to a peer and waits for one.
# ranks: 1..4
# blocks: NR

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(
    x: pl.Tensor[[NR, 16], pl.FP32],
    y: pl.Out[pl.Tensor[[NR, 16], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[NR, 16], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    for p in pl.spmd(pld.nranks(ctx)):
        pld.remote_store(pl.load(x, [p, 0], [1, 16]), data, p, [me, 0])
        pld.notify(signal, p, [me, 0], 1)
        pld.wait(signal, [p, 0], 1)
        y = pl.store(pl.load(data, [p, 0], [1, 16]), [p, 0], y)
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, NR, 16], pl.FP32], y: pl.Out[pl.Tensor[[NR, NR, 16], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([NR, 16], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [NR, 16], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], data, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        for p in pl.range(NR):
            y[r, p, :] = x[p, r, :]
