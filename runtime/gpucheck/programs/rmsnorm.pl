# RMSNorm of rows, a share for each rank.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
ROWS = 8
COLS = 384


@pl.jit.incore
def rmsnorm(x: pl.Tensor[[ROWS, COLS], pl.BF16], w: pl.Tensor[[1, COLS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.BF16]]):
    weight = pl.load(w, [0, 0], [1, COLS])
    for i in pl.range(ROWS):
        t = pl.cast(pl.load(x, [i, 0], [1, COLS]), pl.FP32)
        scale = pl.rsqrt(pl.row_sum(t * t) * (1.0 / COLS) + 0.00001)
        y = pl.store(pl.cast(t * scale * weight, pl.BF16), [i, 0], y)
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, ROWS, COLS], pl.BF16], w: pl.Tensor[[1, COLS], pl.FP32], y: pl.Out[pl.Tensor[[NR, ROWS, COLS], pl.BF16]]):
    for r in pl.range(pld.world_size()):
        rmsnorm(x[r], w, y[r], device=r)
