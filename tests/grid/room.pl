# A created tensor that all blocks use takes no room of theirs: it is larger than shared memory, their tiles are in it.
# ranks: 1..2
# blocks: 5


import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
N = 5


@pl.jit.incore
def step(x: pl.Tensor[[N, 8, 24], pl.FP32], y: pl.Out[pl.Tensor[[N, 24, 8], pl.FP32]]):
    buf = pl.create_tensor([N * 100, 8, 24], pl.FP32)
    few = pl.create_tensor([N, 4], pl.FP32)
    for b in pl.spmd(N):
        buf = pl.store(pl.load(x, [b, 0, 0], [1, 8, 24]), [100 * b + 7, 0, 0], buf)
        few = pl.write(few, [N - 1 - b, 2], pl.cast(b, pl.FP32))
    for b in pl.spmd(N):
        t = pl.transpose(pl.reshape(pl.load(buf, [100 * (N - 1 - b) + 7, 0, 0], [1, 8, 24]), [8, 24]))
        y = pl.store(pl.reshape(t, [1, 24, 8]) + pl.read(few, [b, 2]), [b, 0, 0], y)
    return y


@pl.jit
def chip(x: pl.Tensor[[N, 8, 24], pl.FP32], y: pl.Out[pl.Tensor[[N, 24, 8], pl.FP32]]):
    between = pl.create_tensor([N, 24, 8], pl.FP32)
    between = step(x, between)
    for b in pl.spmd(N):
        y = pl.store(pl.load(between, [b, 0, 0], [1, 24, 8]) * 2.0, [b, 0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, N, 8, 24], pl.FP32], y: pl.Out[pl.Tensor[[NR, N, 24, 8], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        chip(x[r], y[r], device=r)
