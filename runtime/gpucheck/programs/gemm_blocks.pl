# C = A @ B by tiles, which the blocks of each rank share.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
M = 128
N = 128
K = 64
TM = 64
TN = 64
TK = 32


@pl.jit.incore
def gemm(a: pl.Tensor[[M, K], pl.DTYPE], b: pl.Tensor[[K, N], pl.DTYPE], c: pl.Out[pl.Tensor[[M, N], pl.FP32]]):
    for t in pl.spmd((M // TM) * (N // TN)):
        i = t // (N // TN) * TM
        j = t % (N // TN) * TN
        acc = pl.full([TM, TN], pl.FP32, 0.0)
        for k in pl.range(0, K, TK):
            acc = pl.matmul_acc(acc, pl.load(a, [i, k], [TM, TK]), pl.load(b, [k, j], [TK, TN]))
        c = pl.store(acc, [i, j], c)
    return c


@pl.jit.host
def main(a: pl.Tensor[[NR, M, K], pl.DTYPE], b: pl.Tensor[[K, N], pl.DTYPE], c: pl.Out[pl.Tensor[[NR, M, N], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        gemm(a[r], b, c[r], device=r)
