# No block at all, even where that is known when the kernel is compiled, and one.
# ranks: 1..2
# blocks: 1

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def fill(y: pl.InOut[pl.Tensor[[4, 8], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    for b in pl.spmd(n):
        y = pl.store(pl.load(y, [b, 0], [1, 8]) + 1.0, [b, 0], y)
    y = pl.write(y, [3, 0], pl.cast(n, pl.FP32))
    return y


@pl.jit.incore
def never(y: pl.InOut[pl.Tensor[[4, 8], pl.FP32]]):
    for b in pl.spmd(0):
        t = pl.transpose(pl.load(y, [0, 0], [4, 8]))
        y = pl.store(pl.transpose(t) + 1.0, [0, 0], y)
    y = pl.write(y, [2, 0], 5.0)
    return y


@pl.jit.host
def main(y: pl.InOut[pl.Tensor[[NR, 4, 8], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        fill(y[r], 0, device=r)
        fill(y[r], 1, device=r)
        never(y[r], device=r)
