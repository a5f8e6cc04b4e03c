# 19-blocks-one-row, each block with a row of its own.
# ranks: 2..3

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
B = 4  # blocks


@pl.jit.incore
def step(x: pl.Tensor[[B, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
    part = pl.create_tensor([B, 8], pl.FP32)
    for b in pl.spmd(B):
        row = pl.load(x, [b, 0], [1, 8])
        pl.store(row + 1.0, [b, 0], part)
    pl.store(pl.load(part, [B - 1, 0], [1, 8]), [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, B, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = x[r, B - 1 : B] + 1.0
