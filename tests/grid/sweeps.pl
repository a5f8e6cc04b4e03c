# Blocks in a loop, in a branch and in a while loop: all go through it together. Each turn reads what the
# neighbours wrote in the one before.
# ranks: 1..2
# blocks: 5

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")

N = 5


@pl.jit.incore
def sweeps(
    x: pl.Tensor[[N, 16], pl.FP32],
    y: pl.InOut[pl.Tensor[[2, N, 16], pl.FP32]],
    turns: pl.Scalar[pl.INDEX],
):
    for b in pl.spmd(N):
        y = pl.store(pl.reshape(pl.load(x, [b, 0], [1, 16]), [1, 1, 16]), [0, b, 0], y)
    acc = pl.load(x, [0, 0], [1, 16])
    for t in pl.range(turns):
        old = t % 2
        for b in pl.spmd(N):
            left = pl.load(y, [old, (b + N - 1) % N, 0], [1, 1, 16])
            right = pl.load(y, [old, (b + 1) % N, 0], [1, 1, 16])
            y = pl.store((left + right) * 0.5 + pl.reshape(acc, [1, 1, 16]), [1 - old, b, 0], y)
        acc = acc * 0.5
        if t == 1:
            for b in pl.spmd(2):
                y = pl.write(y, [0, b, 3], 9.0)
        else:
            y = pl.write(y, [1 - old, 1, 4], 7.0)
    left = turns
    while left > 0:
        for b in pl.spmd(3):
            y = pl.write(y, [0, b, left], pl.cast(left, pl.FP32))
        left = left - 2
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, N, 16], pl.FP32], y: pl.InOut[pl.Tensor[[NR, 2, N, 16], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        sweeps(x[r], y[r], 3, device=r)
