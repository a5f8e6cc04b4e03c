# 1. Hello, rank.
#
# A program has a host function, which runs once, and kernels, which run on ranks. The host hands each
# rank a part of its tensors: x[r] is the r-th slice. `device=r` says where the kernel runs. The host does
# not wait for it: ranks work side by side, and `ptoc run` collects y at the end.
#
#   ptoc run examples/course/01_hello_rank.pl --ranks 4 --print y

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")  # how many ranks: bound by --ranks


@pl.jit.incore
def hello(
    x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]], rank: pl.Scalar[pl.INDEX]
):
    t = pl.load(x, [0, 0], [1, 8])
    return pl.store(t + rank, [0, 0], y)


@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        hello(x[r], y[r], r, device=r)


# What main must compute, on one device and in full precision. `ptoc run --check` compares.
@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = x[r] + r
