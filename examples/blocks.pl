# gemm_allreduce.pl in one kernel: the blocks of pl.spmd share the tiles of the product, then the ranks add up
# their products, then the blocks share the rows of the result. On a GPU they are blocks of a grid; on a CPU
# one core runs them in order.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
M = 48
K = 32  # inner extent per rank
N = 64
TM = 16  # a block's tile of the product
TN = 32


@pl.jit.incore
def layer(
    a: pl.Tensor[[M, K], pl.FP32],
    b: pl.Tensor[[K, N], pl.FP32],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    sum: pl.InOut[pld.DistributedTensor[[M, N], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    for t in pl.spmd((M // TM) * (N // TN)):
        row = t // (N // TN) * TM
        col = t % (N // TN) * TN
        tile = pl.matmul(pl.load(a, [row, 0], [TM, K]), pl.load(b, [0, col], [K, TN]))
        sum = pl.store(tile, [row, col], sum)
    sum = pld.tensor.allreduce(sum, signal, op=pld.ReduceOp.Sum)
    for t in pl.spmd(M // TM):
        c = pl.store(pl.load(sum, [t * TM, 0], [TM, N]), [t * TM, 0], c)
    return c


@pl.jit.host
def main(
    a: pl.Tensor[[NR, M, K], pl.FP32],
    b: pl.Tensor[[NR, K, N], pl.FP32],
    c: pl.Out[pl.Tensor[[NR, M, N], pl.FP32]],
):
    sum_buf = pld.alloc_window_buffer([M, N], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    sum = pld.window(sum_buf, [M, N], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        layer(a[r], b[r], c[r], sum, signal, device=r)


@pl.golden(of=main)
def expected(a, b, c):
    total = pl.full([M, N], pl.FP32, 0.0)
    for s in pl.range(NR):
        total = total + pl.matmul(a[s], b[s])
    for r in pl.range(NR):
        c[r] = total
