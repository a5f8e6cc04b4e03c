# Sums of products that take signals to make, so that only one block can make them: the others go on with them, and
# store them as they are. They lie in the fragments of registers that products leave.
# ranks: 1..3
# blocks: 4


import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")


@pl.jit.incore
def step(
    x: pl.Tensor[[64, 64], pl.BF16],
    y: pl.Out[pl.Tensor[[4, 64, 32], pl.FP32]],
    z: pl.Out[pl.Tensor[[4, 64, 32], pl.FP32]],
    data: pl.InOut[pld.DistributedTensor[[64, 64], pl.BF16]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    data = pl.store(pl.load(x, [0, 0], [64, 64]), [0, 0], data)
    for p in pl.range(n):
        pld.notify(signal, p, [me, 0], 1)
    right = pl.load(x, [0, 0], [16, 32])
    both = pl.full([64, 32], pl.FP32, 0.5)
    kept = pl.load(x, [0, 32], [64, 32])
    sums = pl.cast(kept, pl.FP32)
    for p in pl.range(n):
        pld.wait(signal, [p, 0], 1)
        both = pl.matmul_acc(both, pld.remote_load(data, p, [0, 0], [64, 16]), right)
        sums = pl.matmul_acc(sums, pld.remote_load(data, p, [0, 16], [64, 16]), right)
    for b in pl.spmd(4):
        y = pl.store(pl.reshape(both, [1, 64, 32]), [b, 0, 0], y)
        t = pl.load(x, [0, 16 * b], [64, 16])
        z = pl.store(
            pl.reshape(pl.matmul_acc(both, t, right) - pl.matmul_acc(sums, t, right), [1, 64, 32]),
            [b, 0, 0],
            z,
        )


@pl.jit.host
def main(
    x: pl.Tensor[[NR, 64, 64], pl.BF16],
    y: pl.Out[pl.Tensor[[NR, 4, 64, 32], pl.FP32]],
    z: pl.Out[pl.Tensor[[NR, 4, 64, 32], pl.FP32]],
):
    data_buf = pld.alloc_window_buffer([64, 64], dtype=pl.BF16)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [64, 64], dtype=pl.BF16)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], z[r], data, signal, device=r)
