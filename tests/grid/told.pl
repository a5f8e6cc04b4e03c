# Tiles that take signals to make, so that only one block can make them, and all need: a row in registers, one of odd
# length, a matrix, and small numbers; again and again, while slower blocks still use the last ones.
# ranks: 1..3
# blocks: 4


import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
TURNS = 2


@pl.jit.incore
def step(
    x: pl.Tensor[[4, 512], pl.FP32],
    y: pl.Out[pl.Tensor[[TURNS, 4, 512], pl.FP32]],
    z: pl.Out[pl.Tensor[[TURNS, 4, 3, 24], pl.FP16]],
    data: pl.InOut[pld.DistributedTensor[[TURNS, 512], pl.FP32]],
    half: pl.InOut[pld.DistributedTensor[[TURNS, 3, 24], pl.FP16]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    for t in pl.range(TURNS):
        data = pl.store(pl.load(x, [t, 0], [1, 512]), [t, 0], data)
        half = pl.store(
            pl.reshape(pl.cast(pl.load(x, [t, 8], [1, 72]), pl.FP16), [1, 3, 24]), [t, 0, 0], half
        )
        for p in pl.range(n):
            pld.notify(signal, p, [me, 0], 1)
        row = pl.load(x, [2, 0], [1, 512])
        odd = pl.load(x, [3, 0], [1, 201])
        square = pl.full([3, 24], pl.FP16, 1.0)
        for p in pl.range(n):
            pld.wait(signal, [p, 0], t + 1)
            row = row + pld.remote_load(data, p, [t, 0], [1, 512])
            odd = odd + pld.remote_load(data, p, [t, 100], [1, 201])
            square = square + pl.reshape(pld.remote_load(half, p, [t, 0, 0], [1, 3, 24]), [3, 24])
        for b in pl.spmd(4):
            y = pl.store(pl.reshape(row * pl.cast(b, pl.FP32), [1, 1, 512]), [t, b, 0], y)
            y = pl.store(pl.reshape(odd, [1, 1, 201]), [t, b, 2 * b], y)
            z = pl.store(pl.reshape(square, [1, 1, 3, 24]), [t, b, 0, 0], z)


@pl.jit.host
def main(
    x: pl.Tensor[[NR, 4, 512], pl.FP32],
    y: pl.Out[pl.Tensor[[NR, TURNS, 4, 512], pl.FP32]],
    z: pl.Out[pl.Tensor[[NR, TURNS, 4, 3, 24], pl.FP16]],
):
    data_buf = pld.alloc_window_buffer([TURNS, 512], dtype=pl.FP32)
    half_buf = pld.alloc_window_buffer([TURNS, 3, 24], dtype=pl.FP16)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [TURNS, 512], dtype=pl.FP32)
    half = pld.window(half_buf, [TURNS, 3, 24], dtype=pl.FP16)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], z[r], data, half, signal, device=r)
