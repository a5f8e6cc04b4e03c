# LB with waits: each rank waits before it notifies. It hangs.
# ranks: 2..2
# verify: E0606

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 2], pl.INT32]],
         flag: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(flag))
    pld.wait(flag, [0, 0], 1)
    pld.notify(flag, 1 - me, [0, 0], 1)
    pl.write(y, [0, 0], pl.const(1, pl.INT32))


@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, 2], pl.INT32]]):
    flag = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    for r in pl.range(2):
        step(y[r], pld.window(flag, [1, 2], dtype=pl.INT32), device=r)
