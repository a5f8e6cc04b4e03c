# ranks: 1 2 3 5 8
# Collectives in a chip function, on targets of three dimensions and on views of windows, with a signal of one
# dimension, all sharing that signal; and loops of host collectives without a signal.

NR = pl.dynamic("NR")


@pl.jit.incore
def stage(
    x: pl.Tensor[[2, 3, 20], pl.BF16],
    data: pl.InOut[pld.DistributedTensor[[4, 3, 20], pl.BF16]],
    at: pl.Scalar[pl.INDEX],
):
    pl.store(pl.load(x, [0, 0, 0], [2, 3, 20]), [at, 0, 0], data)


@pl.jit.incore
def take(
    data: pl.InOut[pld.DistributedTensor[[4, 3, 20], pl.BF16]],
    y: pl.Out[pl.Tensor[[4, 3, 20], pl.BF16]],
):
    pl.store(pl.load(data, [0, 0, 0], [4, 3, 20]), [0, 0, 0], y)


@pl.jit
def chip(
    x: pl.Tensor[[2, 3, 20], pl.BF16],
    y: pl.Out[pl.Tensor[[4, 3, 20], pl.BF16]],
    data: pl.InOut[pld.DistributedTensor[[4, 3, 20], pl.BF16]],
    signal: pl.InOut[pld.DistributedTensor[[NR], pl.INT32]],
):
    stage(x, data, 0)
    stage(x, data, 2)
    pld.tensor.allreduce(data[0:2, :, :], signal, op=pld.ReduceOp.Max)
    pld.tensor.barrier(signal)
    pld.tensor.broadcast(data[2], signal, root=0)
    pld.tensor.allreduce(data[3], signal, op=pld.ReduceOp.Min, mode="push")
    take(data, y)


@pl.jit.incore
def double(v: pl.InOut[pld.DistributedTensor[[1, 10], pl.INT32]], first: pl.Scalar[pl.INDEX]):
    if first == 0:
        pl.store(pl.full([1, 10], pl.INT32, 1), [0, 0], v)
    else:
        pl.store(pl.load(v, [0, 0], [1, 10]) * 2, [0, 0], v)


@pl.jit.incore
def out(
    v: pl.InOut[pld.DistributedTensor[[1, 10], pl.INT32]], z: pl.Out[pl.Tensor[[1, 10], pl.INT32]]
):
    pl.store(pl.load(v, [0, 0], [1, 10]), [0, 0], z)


@pl.jit.host
def main(
    x: pl.Tensor[[NR, 2, 3, 20], pl.BF16],
    y: pl.Out[pl.Tensor[[NR, 4, 3, 20], pl.BF16]],
    z: pl.Out[pl.Tensor[[NR, 1, 10], pl.INT32]],
):
    n = pld.world_size()
    data_buf = pld.alloc_window_buffer([4, 3, 20], dtype=pl.BF16)
    signal_buf = pld.alloc_window_buffer([n], dtype=pl.INT32)
    v_buf = pld.alloc_window_buffer([1, 10], dtype=pl.INT32)
    data = pld.window(data_buf, [4, 3, 20], dtype=pl.BF16)
    signal = pld.window(signal_buf, [n], dtype=pl.INT32)
    v = pld.window(v_buf, [1, 10], dtype=pl.INT32)
    for r in pl.range(n):
        chip(x[r], y[r], data, signal, device=r)
    for k in pl.range(3):
        for r in pl.range(n):
            double(v, k, device=r)
        pld.tensor.allreduce(v, core_num=2)
        pld.tensor.allreduce(v, op=pld.ReduceOp.Max, mode="ring")
    for r in pl.range(n):
        out(v, z[r], device=r)


@pl.golden(of=main)
def expected(x, y, z):
    all = pl.reshape(x, [NR, 120])
    for r in pl.range(NR):
        y[r, 0:2, :, :] = pl.reshape(pl.amax(all, axis=0), [2, 3, 20])
        y[r, 2:3, :, :] = x[0, 0:1, :, :]
        y[r, 3:4, :, :] = pl.reshape(pl.amin(all[:, 60:120], axis=0), [1, 3, 20])
        z[r] = pl.full([1, 10], pl.INT32, NR * NR * NR * 4)
