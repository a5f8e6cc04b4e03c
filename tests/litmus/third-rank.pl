# Notify through a third rank: rank 0 puts to rank 2 and tells rank 1, which tells rank 2. The second
# notify hands on what the first one released.
# ranks: 3..3
# verify: proved
# allowed: y[2,0,0] = 1
# forbidden: y[2,0,0] = 0

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 2], pl.INT32]],
         flag: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]],
         data: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(flag))
    if me == 0:
        pl.write(data, [0, 0], pl.const(1, pl.INT32))
        pld.put(data, 2, data)
        pld.notify(flag, 1, [0, 0], 1)
    elif me == 1:
        pld.wait(flag, [0, 0], 1)
        pld.notify(flag, 2, [0, 1], 1)
    else:
        pld.wait(flag, [0, 1], 1)
        pl.write(y, [0, 0], data[0, 0])


@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, 2], pl.INT32]]):
    flag = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    data = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    for r in pl.range(3):
        step(y[r], pld.window(flag, [1, 2], dtype=pl.INT32), pld.window(data, [1, 2], dtype=pl.INT32), device=r)
