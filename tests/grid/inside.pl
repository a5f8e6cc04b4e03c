# What a block calls stands in the block: its get_block_idx is the caller's, but for loops of its own.
# ranks: 1..2
# blocks: 5

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")

N = 5


@pl.jit.incore
def where(y: pl.Out[pl.Tensor[[1, 2], pl.INT32]]):
    y = pl.write(y, [0, 0], pl.cast(pl.get_block_idx(), pl.INT32))
    y = pl.write(y, [0, 1], pl.cast(pl.get_block_num(), pl.INT32))
    return y


@pl.jit.incore
def through(y: pl.Out[pl.Tensor[[4, 2], pl.INT32]]):
    where(y[0:1, :])
    for b in pl.spmd(3):
        where(y[b + 1 : b + 2, :])
    return y


@pl.jit
def chip(y: pl.Out[pl.Tensor[[N + 1, 4, 2], pl.INT32]]):
    for b in pl.spmd(N):
        through(y[b])
    through(y[N])


@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, N + 1, 4, 2], pl.INT32]]):
    for r in pl.range(pld.world_size()):
        chip(y[r], device=r)


@pl.golden(of=main)
def expected(y):
    for r in pl.range(NR):
        for b in pl.range(N + 1):
            y[r, b, 0, 0] = b % N
            y[r, b, 0, 1] = N - 4 * (b // N)
            for c in pl.range(3):
                y[r, b, c + 1, 0] = c
                y[r, b, c + 1, 1] = 3
