# 2+2W with an order between the writers: the second one's values stay.
# ranks: 3..3
# verify: proved
# allowed: y[2,0,0] = 2, y[2,0,1] = 2
# forbidden: y[2,0,0] = 1
# forbidden: y[2,0,1] = 1

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 2], pl.INT32]],
         flag: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]],
         data: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(flag))
    if me == 0:
        t = pl.full([1, 2], pl.INT32, 1)
        pld.remote_store(t, data, 2, [0, 0])
        pld.notify(flag, 1, [0, 0], 1)
    elif me == 1:
        pld.wait(flag, [0, 0], 1)
        t = pl.full([1, 2], pl.INT32, 2)
        pld.remote_store(t, data, 2, [0, 0])
        pld.notify(flag, 2, [0, 1], 1)
    else:
        pld.wait(flag, [0, 1], 1)
        pl.write(y, [0, 0], data[0, 0])
        pl.write(y, [0, 1], data[0, 1])


@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, 2], pl.INT32]]):
    flag = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    data = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    for r in pl.range(3):
        step(y[r], pld.window(flag, [1, 2], dtype=pl.INT32), pld.window(data, [1, 2], dtype=pl.INT32), device=r)
