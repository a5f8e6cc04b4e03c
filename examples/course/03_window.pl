# 3. A window.
#
# Ranks share nothing but windows. `pld.alloc_window_buffer` reserves the same memory on every rank that it
# is handed to, filled with zeros; `pld.window` gives it a shape. In a kernel the window is this rank's
# copy, and works like any tensor. It also knows its domain: who am I, and how many are we?

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
SIZE = 16


@pl.jit.incore
def who_am_i(
    y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    data = pl.store(pl.full([1, SIZE], pl.FP32, n * 100 + me), [0, 0], data)
    return pl.store(pl.load(data, [0, 0], [1, SIZE]), [0, 0], y)


@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]]):
    buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    data = pld.window(buf, [1, SIZE], dtype=pl.FP32)
    for r in pl.range(pld.world_size()):
        who_am_i(y[r], data, device=r)


@pl.golden(of=main)
def expected(y):
    for r in pl.range(NR):
        y[r] = pl.full([1, SIZE], pl.FP32, NR * 100 + r)
