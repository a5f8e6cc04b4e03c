# IRIW on signal cells: ranks 0 and 1 notify ranks 2 and 3, which look at the cells in different orders.
# There is no single order of notifies to different cells: the readers may disagree.
# ranks: 4..4
# verify: not checked
# allowed: y[2,0,0] = 1, y[2,0,1] = 0, y[3,0,0] = 0, y[3,0,1] = 1
# allowed: y[2,0,0] = 1, y[2,0,1] = 1, y[3,0,0] = 1, y[3,0,1] = 1

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 2], pl.INT32]],
         flag: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(flag))
    if me < 2:
        for i in pl.range(2, 4):
            pld.notify(flag, i, [0, me], 1)
    else:
        first = flag[0, me - 2]
        second = flag[0, 3 - me]
        pl.write(y, [0, me - 2], first)
        pl.write(y, [0, 3 - me], second)


@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, 2], pl.INT32]]):
    flag = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    for r in pl.range(4):
        step(y[r], pld.window(flag, [1, 2], dtype=pl.INT32), device=r)
