# IRIW: ranks 0 and 1 write, independently; ranks 2 and 3 are told of both, in different orders. After both
# waits each sees both.
# ranks: 4..4
# verify: proved
# allowed: y[2,0,0] = 1, y[2,0,1] = 2, y[3,0,0] = 1, y[3,0,1] = 2
# forbidden: y[2,0,0] = 0
# forbidden: y[2,0,1] = 0
# forbidden: y[3,0,0] = 0
# forbidden: y[3,0,1] = 0

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 2], pl.INT32]],
         flag: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]],
         data: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(flag))
    if me < 2:
        pl.write(data, [0, me], pl.cast(me + 1, pl.INT32))
        for i in pl.range(2, 4):
            pld.put(data, i, data, [0, me], [0, me], [1, 1])
            pld.notify(flag, i, [0, me], 1)
    else:
        pld.wait(flag, [0, me - 2], 1)
        pld.wait(flag, [0, 3 - me], 1)
        pl.write(y, [0, 0], data[0, 0])
        pl.write(y, [0, 1], data[0, 1])


@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, 2], pl.INT32]]):
    flag = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    data = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    for r in pl.range(4):
        step(y[r], pld.window(flag, [1, 2], dtype=pl.INT32), pld.window(data, [1, 2], dtype=pl.INT32), device=r)
