# Values that cross: a tile and a scalar that every block makes for itself, a created tensor that they share,
# signals that block 0 reads for all.
# ranks: 1..3
# blocks: 6

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")

N = 6


@pl.jit.incore
def step(
    x: pl.Tensor[[N, 24], pl.FP32],
    w: pl.Tensor[[1, 24], pl.FP32],
    k: pl.Tensor[[1, 2], pl.INT32],
    y: pl.Out[pl.Tensor[[N, 24], pl.FP32]],
    n: pl.Out[pl.Tensor[[1, 4], pl.INT32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    nr = pld.nranks(ctx)
    t = pl.load(w, [0, 0], [1, 24]) * 3.0
    shift = pl.read(k, [0, 1])
    part = pl.create_tensor([N, 24], pl.FP32)
    for b in pl.spmd(N):
        part = pl.store(pl.load(x, [b, 0], [1, 24]) * t, [b, 0], part)
    for p in pl.range(nr):
        pld.notify(signal, p, [me, 0], me + 2)
    for p in pl.range(nr):
        pld.wait(signal, [p, 0], 1)
    last = pl.read(signal, [nr - 1, 0])
    for b in pl.spmd(N):
        other = (b + 1) % N
        sum = pl.load(
            part, [b, 0], [1, 24]
        ) + pl.load(part, [other, 0], [1, 24]) * pl.cast(shift, pl.FP32)
        y = pl.store(sum + pl.cast(last, pl.FP32), [b, 0], y)
    total = last + shift
    n = pl.write(n, [0, 0], total)
    first = pl.read(signal, [0, 0])
    n = pl.write(n, [0, 1], first)
    for b in pl.spmd(2):
        n = pl.write(n, [0, 2 + b], first + pl.cast(b, pl.INT32))
    return y


@pl.jit.host
def main(
    x: pl.Tensor[[NR, N, 24], pl.FP32],
    w: pl.Tensor[[1, 24], pl.FP32],
    k: pl.Tensor[[1, 2], pl.INT32],
    y: pl.Out[pl.Tensor[[NR, N, 24], pl.FP32]],
    n: pl.Out[pl.Tensor[[NR, 1, 4], pl.INT32]],
):
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], w, k, y[r], n[r], signal, device=r)
