# MP between blocks of one rank: what the parent did before the loop and block 0 before its notify, block 1 sees
# behind its wait; what follows the loop sees all of it.
# ranks: 1..1
# verify: proved
# allowed: y[0,0,0] = 3,  y[0,0,1] = 3
# forbidden: y[0,0,0] = 0
# forbidden: y[0,0,0] = 1

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 2], pl.INT32]],
         flag: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]],
         data: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]]):
    pl.write(data, [0, 1], pl.const(1, pl.INT32))
    for b in pl.spmd(3):
        if b == 0:
            pl.write(data, [0, 0], pl.const(2, pl.INT32))
            pld.notify(flag, 0, [0, 0], 1)
        if b == 2:
            pld.wait(flag, [0, 0], 1)
            pl.write(y, [0, 0], data[0, 0] + data[0, 1])
    pl.write(y, [0, 1], data[0, 0] + data[0, 1])


@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, 2], pl.INT32]]):
    flag = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    data = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    for r in pl.range(1):
        step(y[r], pld.window(flag, [1, 2], dtype=pl.INT32), pld.window(data, [1, 2], dtype=pl.INT32), device=r)
