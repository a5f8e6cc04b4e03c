# Scratch of sizes that make no sense, and that is never made then: what is, keeps its place beside it.
# ranks: 1..2
# blocks: 11

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def twice(y: pl.InOut[pl.Tensor[[12, 8], pl.FP32]], k: pl.Scalar[pl.INDEX]):
    t = pl.create_tensor([k, 8], pl.FP32)
    for b in pl.spmd(k):
        t = pl.store(pl.load(y, [b, 0], [1, 8]) * 2.0, [k - 1 - b, 0], t)
    for b in pl.spmd(k):
        y = pl.store(pl.load(t, [k - 1 - b, 0], [1, 8]), [b, 0], y)
    return y


@pl.jit
def chip(y: pl.InOut[pl.Tensor[[12, 8], pl.FP32]], n: pl.Scalar[pl.INDEX], k: pl.Scalar[pl.INDEX]):
    if n > 0:
        t = pl.create_tensor([n * 2, 8], pl.FP32)
        for b in pl.spmd(n):
            t = pl.store(pl.load(y, [b, 0], [1, 8]) + 1.0, [2 * b, 0], t)
        for b in pl.spmd(n):
            y = pl.store(pl.load(t, [2 * b, 0], [1, 8]), [b, 0], y)
    else:
        u = pl.create_tensor([k + 1, 8], pl.FP32)
        for b in pl.spmd(k + 1):
            u = pl.store(pl.load(y, [b, 0], [1, 8]) + 2.0, [b, 0], u)
        for b in pl.spmd(k + 1):
            y = pl.store(pl.load(u, [b, 0], [1, 8]), [b, 0], y)
    if n != 0:
        v = pl.create_tensor([12 // n * n, 4], pl.FP32)
        v = pl.write(v, [12 // n * n - 1, 3], 3.0)
        y = pl.write(y, [11, 0], pl.read(v, [12 // n * n - 1, 3]))
    y = twice(y, k)


@pl.jit.host
def main(y: pl.InOut[pl.Tensor[[NR, 4, 12, 8], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        chip(y[r, 0], 3, 4, device=r)
        chip(y[r, 1], 0, 4, device=r)
        chip(y[r, 2], -2, 4, device=r)
        chip(y[r, 3], -12, 10, device=r)


@pl.golden(of=main)
def expected(y):
    for r in pl.range(NR):
        y[r, 0, 0:3, :] = y[r, 0, 0:3, :] + 1.0
        for i in pl.range(1, 4):
            y[r, i, 0:5, :] = y[r, i, 0:5, :] + 2.0
        y[r, 3, 5:11, :] = y[r, 3, 5:11, :] + 2.0
        for i in pl.range(4):
            if i != 1:
                y[r, i, 11, 0] = 3.0
            y[r, i, 0:4, :] = y[r, i, 0:4, :] * 2.0
        y[r, 3, 4:10, :] = y[r, 3, 4:10, :] * 2.0
