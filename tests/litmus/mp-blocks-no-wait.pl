# MP between blocks of one rank, without the wait: another block's notify orders nothing, nor does its number.
# ranks: 1..1
# verify: E0621
# allowed: y[0,0,0] = 1

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 2], pl.INT32]],
         flag: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]],
         data: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]]):
    for b in pl.spmd(2):
        if b == 0:
            pl.write(data, [0, 0], pl.const(1, pl.INT32))
            pld.notify(flag, 0, [0, 0], 1)
        if b == 1:
            pl.write(y, [0, 0], data[0, 0])


@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, 2], pl.INT32]]):
    flag = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    data = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    for r in pl.range(1):
        step(y[r], pld.window(flag, [1, 2], dtype=pl.INT32), pld.window(data, [1, 2], dtype=pl.INT32), device=r)
