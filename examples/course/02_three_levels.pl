# 2. Three levels.
#
# host:    one controller. It owns the tensors, and decides which rank does what.
# chip:    `@pl.jit`. What one rank does: it makes tensors of its own and calls kernels in order.
# incore:  `@pl.jit.incore`. A kernel on one core: it loads tiles, computes, and stores.
#
# A tensor is memory; a tile is a value. `pl.load` makes a tile of a rectangle of memory, arithmetic makes
# new tiles, `pl.store` writes one back.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
ROWS = 4
COLS = 64


@pl.jit.incore
def scale(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    factor: pl.Scalar[pl.FP32],
):
    for i in pl.range(ROWS):
        row = pl.load(x, [i, 0], [1, COLS])
        y = pl.store(row * factor, [i, 0], y)
    return y


@pl.jit.incore
def center(x: pl.Tensor[[ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]):
    t = pl.load(x, [0, 0], [ROWS, COLS])
    mean = pl.row_sum(t) * (1.0 / COLS)
    return pl.store(t - mean, [0, 0], y)


@pl.jit
def chip(x: pl.Tensor[[ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]):
    half = pl.create_tensor([ROWS, COLS], dtype=pl.FP32)
    half = scale(x, half, 0.5)
    return center(half, y)


@pl.jit.host
def main(x: pl.Tensor[[NR, ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[NR, ROWS, COLS], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        chip(x[r], y[r], device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        half = pl.load(x[r], [0, 0], [ROWS, COLS]) * 0.5
        y[r] = half - pl.row_sum(half) * (1.0 / COLS)
