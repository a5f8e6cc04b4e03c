# C = A @ B with the rows of A shared out over the ranks; every rank has all of B.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
M = 64  # rows of A per rank, a multiple of TM
K = 96
N = 80
TM = 16  # rows of one tile


@pl.jit.incore
def gemm(
    a: pl.Tensor[[M, K], pl.FP32],
    b: pl.Tensor[[K, N], pl.FP32],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    right = pl.load(b, [0, 0], [K, N])
    for i in pl.range(0, M, TM):
        c = pl.store(pl.matmul(pl.load(a, [i, 0], [TM, K]), right), [i, 0], c)
    return c


@pl.jit.host
def main(
    a: pl.Tensor[[NR, M, K], pl.FP32],
    b: pl.Tensor[[K, N], pl.FP32],
    c: pl.Out[pl.Tensor[[NR, M, N], pl.FP32]],
):
    for r in pl.range(pld.world_size()):
        gemm(a[r], b, c[r], device=r)


@pl.golden(of=main)
def expected(a, b, c):
    for r in pl.range(NR):
        c[r] = pl.matmul(a[r], b)
