# ranks: 1 2 3 5 8
# All-gather and all-to-all of the host: their inputs are windows too. Twice on one signal.

NR = pl.dynamic("NR")
SIZE = 24


@pl.jit.incore
def stage(
    x: pl.Tensor[[NR, SIZE], pl.FP16],
    rows: pl.InOut[pld.DistributedTensor[[NR, SIZE], pl.FP16]],
    row: pl.InOut[pld.DistributedTensor[[SIZE], pl.FP16]],
    k: pl.Scalar[pl.INDEX],
):
    for i in pl.range(pld.nranks(pld.get_comm_ctx(rows))):
        t = pl.load(x, [i, 0], [1, SIZE])
        pl.store(pl.cast(pl.cast(t, pl.FP32) + k, pl.FP16), [i, 0], rows)
    pl.store(pl.reshape(pl.load(rows, [0, 0], [1, SIZE]), [SIZE]), [0], row)


@pl.jit.incore
def take(
    all: pl.InOut[pld.DistributedTensor[[NR, SIZE], pl.FP16]],
    y: pl.Out[pl.Tensor[[NR, SIZE], pl.FP16]],
):
    for i in pl.range(pld.nranks(pld.get_comm_ctx(all))):
        pl.store(pl.load(all, [i, 0], [1, SIZE]), [i, 0], y)


@pl.jit.host
def main(
    x: pl.Tensor[[NR, NR, SIZE], pl.FP16],
    y: pl.Out[pl.Tensor[[2, NR, NR, SIZE], pl.FP16]],
    z: pl.Out[pl.Tensor[[2, NR, NR, SIZE], pl.FP16]],
):
    n = pld.world_size()
    rows_buf = pld.alloc_window_buffer([n, SIZE], dtype=pl.FP16)
    row_buf = pld.alloc_window_buffer([SIZE], dtype=pl.FP16)
    target_buf = pld.alloc_window_buffer([n, SIZE], dtype=pl.FP16)
    signal_buf = pld.alloc_window_buffer([n], dtype=pl.INT32)
    rows = pld.window(rows_buf, [n, SIZE], dtype=pl.FP16)
    row = pld.window(row_buf, [SIZE], dtype=pl.FP16)
    target = pld.window(target_buf, [n, SIZE], dtype=pl.FP16)
    signal = pld.window(signal_buf, [n], dtype=pl.INT32)
    for k in pl.range(2):
        for r in pl.range(n):
            stage(x[r], rows, row, k, device=r)
        pld.tensor.allgather(row, target, signal)
        for r in pl.range(n):
            take(target, y[k][r], device=r)
        pld.tensor.all_to_all(rows, target, signal)
        for r in pl.range(n):
            take(target, z[k][r], device=r)


@pl.golden(of=main)
def expected(x, y, z):
    for k in pl.range(2):
        for r in pl.range(NR):
            for s in pl.range(NR):
                y[k, r, s : s + 1, :] = x[s, 0:1, :] + k
                z[k, r, s : s + 1, :] = x[s, r : r + 1, :] + k
