# Class 5: an equality wait on a cell that several ranks add to: it may jump from 0 to 2 between two looks.
# Seen in tt-metal#50314.
# ranks: 3..4

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    for i in pl.range(1, n):
        pld.notify(signal, (me + i) % n, [0, 0], 1)
    for k in pl.range(1, n):
        pld.wait(signal, [0, 0], k, cmp=pld.WaitCmp.Eq)  # ERROR "E0608"
    pld.notify(signal, me, [0, 0], 1 - n)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32]):
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
