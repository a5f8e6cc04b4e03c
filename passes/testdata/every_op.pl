# Every row of the op table, every statement of printed IR: what TestEveryOpSurvivesTheRoundTrip reads.
NR = pl.dynamic("NR")
N = pl.dynamic("N")

@pl.jit.inline
def scale(a: pl.Tile[[1, N], pl.FP32], k: pl.Scalar[pl.FP32]):
    b = a * k
    c = a + k
    return b, c

@pl.jit.incore
def scalars(x: pl.InOut[pl.Tensor[[8, 64], pl.FP32]], n: pl.Scalar[pl.INDEX], m: pl.Scalar[pl.INT32], f: pl.Scalar[pl.FP32], h: pl.Scalar[pl.FP16], b: pl.Scalar[pl.BOOL]):
    i = (n + 1) * 2 - n // 3 + n % NR
    j = pl.min(pl.max(i, 0), NR * 4 - 1)
    k = ((n & 7) | (n ^ 3)) << 1 >> 2
    g = (f * 0.5 - 1.5) / -f
    g = pl.abs(pl.recip(g)) + pl.exp(g) + pl.log(g) + pl.sqrt(g) + pl.rsqrt(g)
    g = g + pl.sin(f) + pl.cos(f) + pl.tanh(f) + pl.relu(f) + pl.neg(f)
    g = g + pl.const("inf", pl.FP32) + pl.const("-inf", pl.FP32) + pl.const("nan", pl.FP32) + pl.const(-0.0, pl.FP32)
    h = h + pl.const(1.5, pl.FP16)
    q = pl.cast(h, pl.BF16)
    z = m + pl.const(-3, pl.INT32)
    r = pl.cast(g, pl.INT32, mode=pl.RoundMode.rint)
    c = (i < j) and b or not (i == k) or f >= g or pl.cast(q, pl.FP32) != g
    s = pl.sel(c, f, g)
    a = pl.array.create(4, pl.INT32)
    a[1] = r + z
    a = pl.array.update(a, 2, m)
    t = pl.create_tensor([4, NR], pl.FP32)
    t = pl.write(t, [0, 0], s)
    x = pl.write(x, [i, 3], pl.read(t, [0, 0]) + pl.cast(a[1], pl.FP32) + pl.cast(i, pl.FP32))
    d = pl.reshape(t, [NR, 4])
    d = pl.write(d, [0, 0], 1e-40)
    e = x[n]
    e = pl.write(e, [0], 16777216.0)
    return x

@pl.jit.incore
def tiles(x: pl.InOut[pl.Tensor[[8, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    a = pl.load(x, [0, 0], [8, 16])
    p = pl.load(x, [0, 0], [8, 16], valid_shape=[8, n])
    p = pl.fillpad(p, -1.0)
    b = pl.full([8, 16], pl.FP32, 2.0)
    c = pl.cast(pl.arange(3, [8, 16], pl.INT32), pl.FP32)
    d = pl.transpose(a)
    e = pl.matmul(a, d)
    e = pl.matmul_acc(e, a, b, b_trans=True)
    m = pl.sel(a < b, a, 0.0)
    s = pl.sum(m, axis=1, keepdims=True) + pl.prod(a, axis=1, keepdims=True) + pl.amax(b, -1, keepdims=True) + pl.amin(c, axis=1, keepdims=True)
    w = pl.expand(s, [8, 16])
    u = pl.concat(w, p)
    v = pl.reshape(u[0:4, 0:32], [1, 128])
    l, o = scale(v, 0.25)
    x = pl.store(pl.reshape(l + o, [2, 64]), [2, 0], x)
    x = pl.store(e, [0, 8], x, atomic=pl.AtomicType.Add) if False else pl.store(e, [0, 8], x)
    x = pl.store(a, [0, 0], x, stream=True)
    x = pl.store(pl.sum(a, axis=0, keepdims=True), [0, n], x, atomic=pld.AtomicType.Add)
    return x

@pl.jit.incore
def control(x: pl.InOut[pl.Tensor[[8, 64], pl.FP32]], n: pl.Scalar[pl.INDEX], b: pl.Scalar[pl.BOOL]):
    acc = pl.load(x, [0, 0], [1, 64])
    for i in pl.range(n, 0, -1):
        acc = acc + 1.0
        for j in pl.parallel(2, n):
            x = pl.write(x, [i, j], 0.0)
    for i in pl.unroll(0, 8, 2):
        acc = acc * 2.0
    for i in pl.pipeline(0, n, 1, stage=3):
        x = pl.store(acc, [i, 0], x)
    for i in pl.spmd(4):
        x = pl.write(x, [pl.get_block_idx(), pl.get_block_num()], 1.0)
    k = n
    while k > 3:
        k = k // 2
        if k == 5:
            break
        acc = acc - 1.0
    if b:
        acc = acc + 3.0
    elif k == 1:
        x = pl.write(x, [0, 0], 3.0)
    else:
        acc = acc + 4.0
    return pl.store(acc, [1, 0], x)

@pl.jit.incore
def ranks(x: pl.InOut[pl.Tensor[[1, 64], pl.FP32]], data: pl.InOut[pld.DistributedTensor[[4, 64], pl.FP32]], sig: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]], rows: pl.InOut[pld.DistributedTensor[[NR, 64], pl.FP32]], inp: pl.InOut[pld.DistributedTensor[[NR, 64], pl.FP32]]):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    peer = (me + 1) % pld.nranks(ctx)
    pld.put(data, peer, x, [1, 0], [0, 0], [1, 64], chunk_rows=1, chunk_cols=8, pipeline=True)
    pld.put(data, peer, data, atomic=pld.AtomicType.Add, stream=True)
    pld.get(x, peer, data, [0, 0], [2, 0], [1, 64])
    t = pld.remote_load(data, peer, [0, 0], [1, 64])
    pld.remote_store(t, data, peer, [3, 0], stream=True)
    pl.fence()
    pld.notify(sig, peer, [me, 0], 1, op=pld.NotifyOp.Set)
    pld.wait(sig, [peer, 0], 1, cmp=pld.WaitCmp.Eq)
    v = pl.slice(pld.tensor.peer_view(data, peer), [1, 64], [0, 0])
    w = pl.slice(x, [1, 64], [0, 0])
    for (a, c) in pl.fused(ins=(v, t), outs=(w,), shape=[1, 64], cap=[1, 64], stream=True):
        s = a + c
        d = s > 0.0
        z = pl.sel(d, s, 0.0)
        r = pl.yield_(z, s)
    x = pl.store(r, [0, 0], x)
    data = pld.allreduce(data, sig, op=pld.ReduceOp.Max, mode="ring")
    sig = pld.barrier(sig)
    data = pld.broadcast(data, sig, root=1)
    rows = pld.allgather(x, rows, sig)
    rows = pld.reduce_scatter(rows, sig, op=pld.ReduceOp.Prod)
    rows = pld.all_to_all(inp, rows, sig)
    return x

@pl.jit
def chip(x: pl.InOut[pl.Tensor[[8, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    control(x, n, True)
    x = tiles(x, 3)
    return x

@pl.jit.host
def main(x: pl.InOut[pl.Tensor[[NR, 8, 64], pl.FP32]]):
    with pld.comm_domain("pair", [0, 1]):
        buf = pld.alloc_window_buffer(4096, domain="pair")
        data = pld.window(buf, [4, 64], dtype=pl.FP32)
        sig_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32, domain="pair")
        sig = pld.window(sig_buf, [NR, 1], dtype=pl.INT32)
        data = pld.allreduce(data, sig)
    for r in pl.range(pld.world_size()):
        chip(x[r], r, device=r)
    return x

@pl.golden(of=main)
def expected(x: pl.InOut[pl.Tensor[[NR, 8, 64], pl.FP32]]):
    for r in pl.range(NR):
        x[r] = pl.sum(x, axis=0)
    return x
