# ranks: 3 4 5
# Overlapping domains {0, 1} and {1, 2}: rank 1 is number 1 in the first and number 0 in the second.

NR = pl.dynamic("NR")
SIZE = 40


@pl.jit.incore
def stage(x: pl.Tensor[[1, SIZE], pl.FP32], a: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]]):
    me = pld.rank(pld.get_comm_ctx(a))
    pl.store(pl.load(x, [0, 0], [1, SIZE]) + me, [0, 0], a)


@pl.jit.incore
def sum_and_take(
    a: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    s: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
    y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
):
    pld.tensor.allreduce(a, s, op=pld.ReduceOp.Sum)
    pl.store(pl.load(a, [0, 0], [1, SIZE]), [0, 0], y)


@pl.jit.host
def main(
    x: pl.Tensor[[NR, 1, SIZE], pl.FP32],
    low_sum: pl.Out[pl.Tensor[[2, 1, SIZE], pl.FP32]],
    high_sum: pl.Out[pl.Tensor[[2, 1, SIZE], pl.FP32]],
):
    low_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    low_signal_buf = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    high_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    high_signal_buf = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    low = pld.window(low_buf, [1, SIZE], dtype=pl.FP32)
    low_signal = pld.window(low_signal_buf, [2, 1], dtype=pl.INT32)
    high = pld.window(high_buf, [1, SIZE], dtype=pl.FP32)
    high_signal = pld.window(high_signal_buf, [2, 1], dtype=pl.INT32)
    for r in pl.range(2):
        stage(x[r], low, device=r)
    for r in pl.range(1, 3):
        stage(x[r], high, device=r)
    pld.tensor.allreduce(high, op=pld.ReduceOp.Max)
    pld.tensor.broadcast(low, low_signal, root=1)
    for r in pl.range(2):
        sum_and_take(low, low_signal, low_sum[r], device=r)
    for r in pl.range(1, 3):
        sum_and_take(high, high_signal, high_sum[r - 1], device=r)


@pl.golden(of=main)
def expected(x, low_sum, high_sum):
    for r in pl.range(2):
        low_sum[r] = (x[1] + 1) * 2.0
        high_sum[r] = pl.max(pl.load(x[1], [0, 0], [1, SIZE]), x[2] + 1) * 2.0
