# What `ptoc bench compile` takes when no file is given: one layer of a transformer, its heads and its
# inner width shared out over the ranks. Two all-reduces, eight kernels, 200 lines.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
TOKENS = 16
WIDTH = 128
HEADS = 2       # of each rank
HEAD = 32
INNER = 96      # of each rank
EPS = 0.00001
SCALE = 0.1767767  # 1 / sqrt(HEAD)


@pl.jit.inline
def silu(x: pl.Tile[[TOKENS, INNER], pl.FP32]):
    return x / (pl.exp(-x) + 1.0)


@pl.jit.inline
def softmax_rows(x: pl.Tile[[TOKENS, TOKENS], pl.FP32]):
    e = pl.exp(x - pl.row_max(x))
    return e / pl.row_sum(e)


@pl.jit.incore
def rmsnorm(
    x: pl.Tensor[[TOKENS, WIDTH], pl.FP32],
    w: pl.Tensor[[1, WIDTH], pl.FP32],
    y: pl.Out[pl.Tensor[[TOKENS, WIDTH], pl.FP32]],
):
    weight = pl.load(w, [0, 0], [1, WIDTH])
    for i in pl.range(TOKENS):
        t = pl.load(x, [i, 0], [1, WIDTH])
        scale = pl.rsqrt(pl.row_sum(t * t) * (1.0 / WIDTH) + EPS)
        y = pl.store(t * scale * weight, [i, 0], y)
    return y


@pl.jit.incore
def project(
    x: pl.Tensor[[TOKENS, WIDTH], pl.FP32],
    w: pl.Tensor[[WIDTH, HEADS * HEAD], pl.FP32],
    y: pl.Out[pl.Tensor[[TOKENS, HEADS * HEAD], pl.FP32]],
):
    t = pl.load(x, [0, 0], [TOKENS, WIDTH])
    for h in pl.range(HEADS):
        p = pl.matmul(t, pl.load(w, [0, h * HEAD], [WIDTH, HEAD]))
        y = pl.store(p, [0, h * HEAD], y)
    return y


@pl.jit.incore
def attention(
    q: pl.Tensor[[TOKENS, HEADS * HEAD], pl.FP32],
    k: pl.Tensor[[TOKENS, HEADS * HEAD], pl.FP32],
    v: pl.Tensor[[TOKENS, HEADS * HEAD], pl.FP32],
    y: pl.Out[pl.Tensor[[TOKENS, HEADS * HEAD], pl.FP32]],
):
    for h in pl.range(HEADS):
        query = pl.load(q, [0, h * HEAD], [TOKENS, HEAD])
        key = pl.load(k, [0, h * HEAD], [TOKENS, HEAD])
        score = pl.matmul(query, pl.transpose(key, 0, 1)) * SCALE
        value = pl.load(v, [0, h * HEAD], [TOKENS, HEAD])
        y = pl.store(pl.matmul(softmax_rows(score), value), [0, h * HEAD], y)
    return y


@pl.jit.incore
def project_out(
    x: pl.Tensor[[TOKENS, HEADS * HEAD], pl.FP32],
    w: pl.Tensor[[HEADS * HEAD, WIDTH], pl.FP32],
    sum: pl.InOut[pld.DistributedTensor[[TOKENS, WIDTH], pl.FP32]],
):
    t = pl.load(x, [0, 0], [TOKENS, HEADS * HEAD])
    return pl.store(pl.matmul(t, pl.load(w, [0, 0], [HEADS * HEAD, WIDTH])), [0, 0], sum)


@pl.jit.incore
def feed_forward(
    x: pl.Tensor[[TOKENS, WIDTH], pl.FP32],
    gate: pl.Tensor[[WIDTH, INNER], pl.FP32],
    up: pl.Tensor[[WIDTH, INNER], pl.FP32],
    down: pl.Tensor[[INNER, WIDTH], pl.FP32],
    sum: pl.InOut[pld.DistributedTensor[[TOKENS, WIDTH], pl.FP32]],
):
    t = pl.load(x, [0, 0], [TOKENS, WIDTH])
    g = silu(pl.matmul(t, pl.load(gate, [0, 0], [WIDTH, INNER])))
    u = pl.matmul(t, pl.load(up, [0, 0], [WIDTH, INNER]))
    return pl.store(pl.matmul(g * u, pl.load(down, [0, 0], [INNER, WIDTH])), [0, 0], sum)


@pl.jit.incore
def add_sum(
    x: pl.Tensor[[TOKENS, WIDTH], pl.FP32],
    sum: pl.InOut[pld.DistributedTensor[[TOKENS, WIDTH], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
    y: pl.Out[pl.Tensor[[TOKENS, WIDTH], pl.FP32]],
):
    sum = pld.tensor.allreduce(sum, signal, op=pld.ReduceOp.Sum)
    for i in pl.range(TOKENS):
        t = pl.load(x, [i, 0], [1, WIDTH])
        y = pl.store(t + pl.load(sum, [i, 0], [1, WIDTH]), [i, 0], y)
    return y


@pl.jit
def attend(
    x: pl.Tensor[[TOKENS, WIDTH], pl.FP32],
    norm: pl.Tensor[[1, WIDTH], pl.FP32],
    wq: pl.Tensor[[WIDTH, HEADS * HEAD], pl.FP32],
    wk: pl.Tensor[[WIDTH, HEADS * HEAD], pl.FP32],
    wv: pl.Tensor[[WIDTH, HEADS * HEAD], pl.FP32],
    wo: pl.Tensor[[HEADS * HEAD, WIDTH], pl.FP32],
    sum: pl.InOut[pld.DistributedTensor[[TOKENS, WIDTH], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
    y: pl.Out[pl.Tensor[[TOKENS, WIDTH], pl.FP32]],
):
    normed = pl.create_tensor([TOKENS, WIDTH], dtype=pl.FP32)
    q = pl.create_tensor([TOKENS, HEADS * HEAD], dtype=pl.FP32)
    k = pl.create_tensor([TOKENS, HEADS * HEAD], dtype=pl.FP32)
    v = pl.create_tensor([TOKENS, HEADS * HEAD], dtype=pl.FP32)
    mixed = pl.create_tensor([TOKENS, HEADS * HEAD], dtype=pl.FP32)
    normed = rmsnorm(x, norm, normed)
    q = project(normed, wq, q)
    k = project(normed, wk, k)
    v = project(normed, wv, v)
    mixed = attention(q, k, v, mixed)
    sum = project_out(mixed, wo, sum)
    return add_sum(x, sum, signal, y)


@pl.jit
def think(
    x: pl.Tensor[[TOKENS, WIDTH], pl.FP32],
    norm: pl.Tensor[[1, WIDTH], pl.FP32],
    gate: pl.Tensor[[WIDTH, INNER], pl.FP32],
    up: pl.Tensor[[WIDTH, INNER], pl.FP32],
    down: pl.Tensor[[INNER, WIDTH], pl.FP32],
    sum: pl.InOut[pld.DistributedTensor[[TOKENS, WIDTH], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
    y: pl.Out[pl.Tensor[[TOKENS, WIDTH], pl.FP32]],
):
    normed = pl.create_tensor([TOKENS, WIDTH], dtype=pl.FP32)
    normed = rmsnorm(x, norm, normed)
    sum = feed_forward(normed, gate, up, down, sum)
    # The residual is on every rank, the sum is complete on every rank: all get the same y.
    return add_sum(x, sum, signal, y)


@pl.jit.host
def main(
    x: pl.Tensor[[TOKENS, WIDTH], pl.FP32],
    norms: pl.Tensor[[2, 1, WIDTH], pl.FP32],
    wq: pl.Tensor[[NR, WIDTH, HEADS * HEAD], pl.FP32],
    wk: pl.Tensor[[NR, WIDTH, HEADS * HEAD], pl.FP32],
    wv: pl.Tensor[[NR, WIDTH, HEADS * HEAD], pl.FP32],
    wo: pl.Tensor[[NR, HEADS * HEAD, WIDTH], pl.FP32],
    gate: pl.Tensor[[NR, WIDTH, INNER], pl.FP32],
    up: pl.Tensor[[NR, WIDTH, INNER], pl.FP32],
    down: pl.Tensor[[NR, INNER, WIDTH], pl.FP32],
    y: pl.Out[pl.Tensor[[NR, TOKENS, WIDTH], pl.FP32]],
):
    middle = pl.create_tensor([NR, TOKENS, WIDTH], dtype=pl.FP32)
    sum_buf = pld.alloc_window_buffer([TOKENS, WIDTH], dtype=pl.FP32)
    signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    sum = pld.window(sum_buf, [TOKENS, WIDTH], dtype=pl.FP32)
    signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        attend(x, norms[0], wq[r], wk[r], wv[r], wo[r], sum, signal, middle[r], device=r)
        think(middle[r], norms[1], gate[r], up[r], down[r], sum, signal, y[r], device=r)


@pl.golden(of=main)
def expected(x, norms, wq, wk, wv, wo, gate, up, down, y):
    t = pl.load(x, [0, 0], [TOKENS, WIDTH])
    n = t * pl.rsqrt(pl.row_sum(t * t) * (1.0 / WIDTH) + EPS) * norms[0]
    for s in pl.range(NR):
        for h in pl.range(HEADS):
            query = pl.matmul(n, pl.load(wq[s], [0, h * HEAD], [WIDTH, HEAD]))
            key = pl.matmul(n, pl.load(wk[s], [0, h * HEAD], [WIDTH, HEAD]))
            value = pl.matmul(n, pl.load(wv[s], [0, h * HEAD], [WIDTH, HEAD]))
            e = pl.exp(pl.matmul(query, pl.transpose(key, 0, 1)) * SCALE)
            mixed = pl.matmul(e / pl.row_sum(e), value)
            t = t + pl.matmul(mixed, pl.load(wo[s], [h * HEAD, 0], [HEAD, WIDTH]))
    n = t * pl.rsqrt(pl.row_sum(t * t) * (1.0 / WIDTH) + EPS) * norms[1]
    out = t
    for s in pl.range(NR):
        g = pl.matmul(n, gate[s])
        out = out + pl.matmul(g / (pl.exp(-g) + 1.0) * pl.matmul(n, up[s]), down[s])
    for r in pl.range(NR):
        y[r] = out
