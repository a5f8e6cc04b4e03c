# What `ptoc bench allreduce` runs. A kernel has no clock, so each repeats its work and the host times
# the whole: `allreduces` rewrites its input before every call, so that no call finds its data untouched
# in a cache; `rewrites` is the same without the calls.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
SIZE = 256
CHUNK = 2048


@pl.jit.inline
def rewrite(base: pl.Tensor[[1, SIZE], pl.DTYPE], data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.DTYPE]],
            call: pl.Scalar[pl.INDEX]):
    """data = base + call % 8."""
    shift = pl.cast(call % 8, pl.DTYPE)
    for at in pl.range(0, SIZE, CHUNK):
        x = pl.load(base, [0, at], [1, CHUNK], valid_shape=[1, pl.min(SIZE - at, CHUNK)])
        pl.store(x + shift, [0, at], data)


@pl.jit.incore
def rewrites(base: pl.Tensor[[1, SIZE], pl.DTYPE], data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.DTYPE]],
             signal: pl.InOut[pld.DistributedTensor[SIGNAL, pl.INT32]], calls: pl.Scalar[pl.INDEX]):
    for call in pl.range(calls):
        rewrite(base, data, call)


@pl.jit.incore
def allreduces(base: pl.Tensor[[1, SIZE], pl.DTYPE], data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.DTYPE]],
               signal: pl.InOut[pld.DistributedTensor[SIGNAL, pl.INT32]], calls: pl.Scalar[pl.INDEX]):
    for call in pl.range(calls):
        rewrite(base, data, call)
        pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum, mode="MODE")


@pl.jit.host
def main(base: pl.Tensor[[NR, 1, SIZE], pl.DTYPE], calls: pl.Scalar[pl.INDEX]):
    data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.DTYPE)
    signal_buf = pld.alloc_window_buffer(SIGNAL, dtype=pl.INT32)
    data = pld.window(data_buf, [1, SIZE], dtype=pl.DTYPE)
    signal = pld.window(signal_buf, SIGNAL, dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        rewrites(base[r], data, signal, calls, device=r)
        allreduces(base[r], data, signal, calls, device=r)
