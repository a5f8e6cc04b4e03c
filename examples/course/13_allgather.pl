# 13. All-gather.
#
# Everybody gets everybody's vector: row r of the target is what rank r gave. What is given may be any
# tensor of the rank, here x itself; only the target must be a window, because peers write into it.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
SIZE = 48


@pl.jit.incore
def gather(
    x: pl.Tensor[[1, SIZE], pl.FP32],
    y: pl.Out[pl.Tensor[[NR, SIZE], pl.FP32]],
    target: pl.InOut[pld.DistributedTensor[[NR, SIZE], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    target = pld.tensor.allgather(x, target, signal)
    for r in pl.range(pld.nranks(pld.get_comm_ctx(target))):
        y = pl.store(pl.load(target, [r, 0], [1, SIZE]), [r, 0], y)
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, NR, SIZE], pl.FP32]]):
    target_buf = pld.alloc_window_buffer([NR, SIZE], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    target = pld.window(target_buf, [NR, SIZE], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        gather(x[r], y[r], target, signal, device=r)


@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        for s in pl.range(NR):
            y[r, s : s + 1, :] = x[s]
