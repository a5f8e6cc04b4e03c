# Class 19: blocks add to a sum in memory, each of them by a load and a store.
# ranks: 2..3

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
B = 4  # blocks


@pl.jit.incore
def step(x: pl.Tensor[[B, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
    total = pl.create_tensor([1, 8], pl.FP32)
    pl.store(pl.full([1, 8], pl.FP32, 0.0), [0, 0], total)
    for b in pl.spmd(B):
        sum = pl.load(total, [0, 0], [1, 8]) + pl.load(x, [b, 0], [1, 8])  # ERROR "E0621.*block 0 of rank 0 reads total.* while block 1 may be writing it"
        pl.store(sum, [0, 0], total)  # ERROR "E0621.*writes total"
    pl.store(pl.load(total, [0, 0], [1, 8]), [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, B, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = pl.sum(x[r], axis=0, keepdims=True)
