# Class 19: iterations that the program says to be independent share one row of scratch memory.
# ranks: 2..3

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
B = 4  # blocks


@pl.jit.incore
def step(x: pl.Tensor[[B, 8], pl.FP32], y: pl.Out[pl.Tensor[[B, 8], pl.FP32]]):
    tmp = pl.create_tensor([1, 8], pl.FP32)
    for b in pl.parallel(B):
        pl.store(pl.load(x, [b, 0], [1, 8]) * 2.0, [0, 0], tmp)  # ERROR "E0621.*iteration 1 of rank 0 writes tmp"
        pl.store(pl.load(tmp, [0, 0], [1, 8]) + 1.0, [b, 0], y)  # ERROR "E0621.*iteration . of rank 0 reads tmp"


@pl.jit.host
def main(x: pl.Tensor[[NR, B, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, B, 8], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = x[r] * 2.0 + 1.0
