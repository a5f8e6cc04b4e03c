# Rank 3 needs one of two signals, it does not matter which: rank 0 writes before both.
NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(data))
    if me == 0:
        pld.put(data, 3, x)
        pld.notify(signal, 1, [0, 0], 1)
        pld.notify(signal, 2, [0, 0], 1)
    elif me < 3:
        pld.wait(signal, [0, 0], 1)
        pld.notify(signal, 3, [0, 0], 1)
    else:
        pld.wait(signal, [0, 0], 1)
        pl.store(pl.load(data, [0, 0], [1, 8]), [0, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(4):
        step(x[r], y[r], pld.window(data, [1, 8], dtype=pl.FP32), pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
