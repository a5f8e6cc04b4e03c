# Each block has rows of its own; how many is known when the kernel starts.
# ranks: 1..2
# blocks: 7

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


ROWS = pl.dynamic("ROWS")


@pl.jit.incore
def scale(x: pl.Tensor[[ROWS, 40], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, 40], pl.FP32]]):
    for b in pl.spmd(ROWS):
        t = pl.load(x, [b, 0], [1, 40])
        y = pl.store(t * 2.0 + pl.cast(b, pl.FP32), [b, 0], y)
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, 7, 40], pl.FP32], y: pl.Out[pl.Tensor[[NR, 7, 40], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        scale(x[r], y[r], device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        for b in pl.range(7):
            y[r, b, :] = x[r, b, :] * 2.0 + pl.cast(b, pl.FP32)
