# No block at all, and one.
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


@pl.jit.host
def main(y: pl.InOut[pl.Tensor[[NR, 4, 8], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        fill(y[r], 0, device=r)
        fill(y[r], 1, device=r)
