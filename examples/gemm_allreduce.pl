# C = A @ B with the inner dimension shared out over the ranks, as in a tensor-parallel layer: each rank
# multiplies its columns of A by its rows of B, and an all-reduce adds up the partial products.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
M = 32
K = 48  # inner extent per rank
N = 64


@pl.jit.incore
def partial_product(
    a: pl.Tensor[[M, K], pl.FP32],
    b: pl.Tensor[[K, N], pl.FP32],
    sum: pl.InOut[pld.DistributedTensor[[M, N], pl.FP32]],
):
    return pl.store(pl.matmul(pl.load(a, [0, 0], [M, K]), pl.load(b, [0, 0], [K, N])), [0, 0], sum)


@pl.jit.incore
def take(
    sum: pl.InOut[pld.DistributedTensor[[M, N], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    sum = pld.tensor.allreduce(sum, signal, op=pld.ReduceOp.Sum)
    return pl.store(pl.load(sum, [0, 0], [M, N]), [0, 0], c)


@pl.jit
def layer(
    a: pl.Tensor[[M, K], pl.FP32],
    b: pl.Tensor[[K, N], pl.FP32],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    sum: pl.InOut[pld.DistributedTensor[[M, N], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    sum = partial_product(a, b, sum)
    return take(sum, signal, c)


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
