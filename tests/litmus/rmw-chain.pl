# RMW chain: both writers add to one cell, whoever waits for the sum has heard from both.
# ranks: 3..3
# verify: proved
# allowed: y[2,0,0] = 1, y[2,0,1] = 2
# forbidden: y[2,0,0] = 0
# forbidden: y[2,0,1] = 0

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 2], pl.INT32]],
         flag: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]],
         data: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(flag))
    if me < 2:
        t = pl.full([1, 1], pl.INT32, me + 1)
        pld.remote_store(t, data, 2, [0, me])
        pld.notify(flag, 2, [0, 0], 1)
    else:
        pld.wait(flag, [0, 0], 2)
        pl.write(y, [0, 0], data[0, 0])
        pl.write(y, [0, 1], data[0, 1])


@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, 2], pl.INT32]]):
    flag = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    data = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    for r in pl.range(3):
        step(y[r], pld.window(flag, [1, 2], dtype=pl.INT32), pld.window(data, [1, 2], dtype=pl.INT32), device=r)
