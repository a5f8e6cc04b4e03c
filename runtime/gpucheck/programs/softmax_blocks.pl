# Softmax of rows, which the blocks of each rank share.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
ROWS = 16
COLS = 512


@pl.jit.incore
def softmax(x: pl.Tensor[[ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]):
    for i in pl.spmd(ROWS):
        t = pl.load(x, [i, 0], [1, COLS])
        e = pl.exp(t - pl.row_max(t))
        y = pl.store(e / pl.row_sum(e), [i, 0], y)
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[NR, ROWS, COLS], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        softmax(x[r], y[r], device=r)
