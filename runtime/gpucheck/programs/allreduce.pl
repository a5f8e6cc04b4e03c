# All-reduce again and again in one kernel. With the maximum, every call finds what the last one left.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
SIZE = 256
CALLS = 1


@pl.jit.incore
def allreduces(x: pl.Tensor[[1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
               data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    for at in pl.range(0, SIZE, 256):
        data = pl.store(pl.load(x, [0, at], [1, 256]), [0, at], data)
    for call in pl.range(CALLS):
        data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Max, mode="MODE")
    for at in pl.range(0, SIZE, 256):
        y = pl.store(pl.load(data, [0, at], [1, 256]), [0, at], y)
    return y


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        allreduces(x[r], y[r], data, signal, device=r)
