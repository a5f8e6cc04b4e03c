# LB, load buffering: each rank looks at its cell and then notifies the other. A rank cannot see a notify
# that depends, through program order and acquire, on its own later one.
# ranks: 2..2
# verify: not checked
# allowed: y[0,0,0] = 0, y[1,0,0] = 0
# allowed: y[0,0,0] = 0, y[1,0,0] = 1
# allowed: y[0,0,0] = 1, y[1,0,0] = 0
# forbidden: y[0,0,0] = 1, y[1,0,0] = 1

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 2], pl.INT32]],
         flag: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(flag))
    pl.write(y, [0, 0], flag[0, 0])
    pld.notify(flag, 1 - me, [0, 0], 1)


@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, 2], pl.INT32]]):
    flag = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    for r in pl.range(2):
        step(y[r], pld.window(flag, [1, 2], dtype=pl.INT32), device=r)
