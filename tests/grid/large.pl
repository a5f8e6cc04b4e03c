# Tiles too large for shared memory: every block has scratch of its own, and a created tensor is everybody's.
# ranks: 1..2
# blocks: 3

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")

N = 3


@pl.jit.incore
def big(x: pl.Tensor[[N, 130, 200], pl.FP32], y: pl.Out[pl.Tensor[[N, 200, 130], pl.FP32]]):
    buf = pl.create_tensor([N, 130, 200], pl.FP32)
    for b in pl.spmd(N):
        buf = pl.store(pl.load(x, [b, 0, 0], [1, 130, 200]), [N - 1 - b, 0, 0], buf)
    for b in pl.spmd(N):
        t = pl.transpose(pl.reshape(pl.load(buf, [b, 0, 0], [1, 130, 200]), [130, 200]))
        y = pl.store(pl.reshape(t, [1, 200, 130]), [N - 1 - b, 0, 0], y)
    return y


@pl.jit.host
def main(
    x: pl.Tensor[[NR, N, 130, 200], pl.FP32], y: pl.Out[pl.Tensor[[NR, N, 200, 130], pl.FP32]]
):
    for r in pl.range(pld.world_size()):
        big(x[r], y[r], device=r)
