# ranks: 1 2 3 4 8 10 11 64
# Small allreduces of several lengths and types that share a signal, and so their slots, with each other and
# with other algorithms: in loops, under a branch, in a chip function, back to back and with nothing in
# between. On GPUs only mode="eager" takes slots.

NR = pl.dynamic("NR")
ROUNDS = 5


@pl.jit.inline
def put(
    data: pl.InOut[pld.DistributedTensor[[1, 40], pl.FP32]],
    x: pl.Tensor[[1, 40], pl.FP32],
    n: pl.Const[int],
):
    pl.store(pl.load(x, [0, 0], [1, n]), [0, 0], data)


@pl.jit.incore
def step(
    x: pl.Tensor[[1, 40], pl.FP32],
    y: pl.InOut[pl.Tensor[[1, 40], pl.FP32]],
    z: pl.InOut[pl.Tensor[[1, 3], pl.INT32]],
    data: pl.InOut[pld.DistributedTensor[[1, 40], pl.FP32]],
    ints: pl.InOut[pld.DistributedTensor[[1, 3], pl.INT32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
    rounds: pl.Scalar[pl.INDEX],
):
    for k in pl.range(rounds):
        put(data, x, 40)
        pld.tensor.allreduce(data, signal, mode="eager")
        total = pl.load(data, [0, 0], [1, 40])
        if k % 2 == 1:
            put(data, x, 5)
            pld.tensor.allreduce(data[:, 0:5], signal, mode="eager")
            pld.tensor.barrier(signal)
        pl.store(pl.full([1, 3], pl.INT32, 1), [0, 0], ints)
        pld.tensor.allreduce(ints, signal)
        pld.tensor.allreduce(data[:, 7:8], signal, op=pld.ReduceOp.Min)
        pld.tensor.allreduce(data[:, 7:8], signal, mode="central", op=pld.ReduceOp.Max)
        pld.tensor.broadcast(data, signal, root=0)
        pl.store(pl.load(y, [0, 0], [1, 40]) + total + pl.load(data, [0, 0], [1, 40]), [0, 0], y)
        pl.store(pl.load(ints, [0, 0], [1, 3]) + pl.load(z, [0, 0], [1, 3]), [0, 0], z)


@pl.jit
def chip(
    x: pl.Tensor[[1, 40], pl.FP32],
    y: pl.InOut[pl.Tensor[[1, 40], pl.FP32]],
    z: pl.InOut[pl.Tensor[[1, 3], pl.INT32]],
    data: pl.InOut[pld.DistributedTensor[[1, 40], pl.FP32]],
    ints: pl.InOut[pld.DistributedTensor[[1, 3], pl.INT32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    pl.store(pl.full([1, 40], pl.FP32, 0.0), [0, 0], y)
    pl.store(pl.full([1, 3], pl.INT32, 0), [0, 0], z)
    step(x, y, z, data, ints, signal, ROUNDS)
    step(x, y, z, data, ints, signal, 1)


@pl.jit.host
def main(
    x: pl.Tensor[[NR, 1, 40], pl.FP32],
    y: pl.Out[pl.Tensor[[NR, 1, 40], pl.FP32]],
    z: pl.Out[pl.Tensor[[NR, 1, 3], pl.INT32]],
):
    data_buf = pld.alloc_window_buffer([1, 40], dtype=pl.FP32)
    ints_buf = pld.alloc_window_buffer([1, 3], dtype=pl.INT32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    data = pld.window(data_buf, [1, 40], dtype=pl.FP32)
    ints = pld.window(ints_buf, [1, 3], dtype=pl.INT32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        chip(x[r], y[r], z[r], data, ints, signal, device=r)
    pld.tensor.allreduce(ints, signal)


@pl.golden(of=main)
def expected(x, y, z):
    for r in pl.range(NR):
        y[r] = pl.sum(x, axis=0) * 12.0
        z[r] = pl.full([1, 3], pl.INT32, 6 * NR)
