# Functions with blocks, called one after the other, in a loop (with a number that is known only then), and from a block.
# ranks: 1..2
# blocks: 99

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")

N = 6


@pl.jit.incore
def add(
    x: pl.Tensor[[N, 16], pl.FP32],
    y: pl.InOut[pl.Tensor[[N, 16], pl.FP32]],
    k: pl.Scalar[pl.FP32],
    n: pl.Scalar[pl.INDEX],
):
    buf = pl.create_tensor([N, 16], pl.FP32)
    for b in pl.spmd(n):
        buf = pl.store(pl.load(x, [n - 1 - b, 0], [1, 16]) * k, [b, 0], buf)
    for b in pl.spmd(n):
        y = pl.store(pl.load(y, [b, 0], [1, 16]) + pl.load(buf, [n - 1 - b, 0], [1, 16]), [b, 0], y)
    return y


@pl.jit.incore
def one(x: pl.Tensor[[1, 16], pl.FP32], y: pl.Out[pl.Tensor[[1, 16], pl.FP32]]):
    for b in pl.spmd(2):
        y = pl.store(pl.load(x, [0, 8 * b], [1, 8]) + 1.0, [0, 8 * b], y)
    return y


@pl.jit
def chip(
    x: pl.Tensor[[N, 16], pl.FP32],
    y: pl.InOut[pl.Tensor[[N, 16], pl.FP32]],
    z: pl.Out[pl.Tensor[[N, 16], pl.FP32]],
):
    y = add(x, y, 2.0, N)
    for i in pl.range(3):
        y = add(x, y, 0.5, i + 2)
    for b in pl.spmd(N):
        one(y[b : b + 1, :], z[b : b + 1, :])


@pl.jit.host
def main(
    x: pl.Tensor[[NR, N, 16], pl.FP32],
    y: pl.InOut[pl.Tensor[[NR, N, 16], pl.FP32]],
    z: pl.Out[pl.Tensor[[NR, N, 16], pl.FP32]],
):
    for r in pl.range(pld.world_size()):
        chip(x[r], y[r], z[r], device=r)
