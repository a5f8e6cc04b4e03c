# What `ptoc bench dispatch` runs: the host program gives an empty kernel to every rank, again and again.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def empty(x: pl.Tensor[[1, 4], pl.FP32], y: pl.Out[pl.Tensor[[1, 4], pl.FP32]],
          data: pl.InOut[pld.DistributedTensor[[1, 4], pl.FP32]]):
    pass


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 4], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 4], pl.FP32]], calls: pl.Scalar[pl.INDEX]):
    buf = pld.alloc_window_buffer([1, 4], dtype=pl.FP32)
    data = pld.window(buf, [1, 4], dtype=pl.FP32)
    for call in pl.range(calls):
        for r in pl.range(pld.world_size()):
            empty(x[r], y[r], data, device=r)
