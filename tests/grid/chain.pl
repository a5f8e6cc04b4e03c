# Block b goes on where block b - 1 signalled that it is done, over two loops.
# ranks: 1..3
# blocks: 9

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")

N = 9


@pl.jit.incore
def step(
    x: pl.Tensor[[N, 8], pl.FP32],
    y: pl.Out[pl.Tensor[[N, 8], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[2 * N, 1], pl.INT32]],
):
    me = pld.rank(pld.get_comm_ctx(signal))
    for b in pl.spmd(N):
        if b > 0:
            pld.wait(signal, [b, 0], 1)
            y = pl.store(pl.load(x, [b, 0], [1, 8]) + pl.load(y, [b - 1, 0], [1, 8]), [b, 0], y)
        else:
            y = pl.store(pl.load(x, [b, 0], [1, 8]), [b, 0], y)
        if b < N - 1:
            pld.notify(signal, me, [b + 1, 0], 1)
    for b in pl.spmd(N):
        if b > 0:
            pld.wait(signal, [N + b, 0], 1)
            y = pl.store(pl.load(y, [b, 0], [1, 8]) + pl.load(y, [b - 1, 0], [1, 8]), [b, 0], y)
        if b < N - 1:
            pld.notify(signal, me, [N + b + 1, 0], 1)


@pl.jit.host
def main(x: pl.Tensor[[NR, N, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, N, 8], pl.FP32]]):
    signal_buf = pld.alloc_window_buffer([2 * N, 1], dtype=pl.INT32)
    signal = pld.window(signal_buf, [2 * N, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], signal, device=r)
