# What overlaps must not be passed to two parameters of a kernel that writes one of them.
N = pl.dynamic("N")
NR = pl.dynamic("NR")

@pl.jit.incore
def add(a: pl.Tensor[[N], pl.FP32], b: pl.Out[pl.Tensor[[N], pl.FP32]]):
    t = a[:] + 1.0
    b[:] = t

@pl.jit.incore
def dot(a: pl.Tensor[[N], pl.FP32], b: pl.Tensor[[N], pl.FP32], y: pl.Out[pl.Tensor[[1], pl.FP32]]):
    pl.write(y, [0], pl.read(a, [0]) * pl.read(b, [0]))

@pl.jit.incore
def tell(data: pl.Tensor[[4, 1], pl.INT32], s: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]]):
    pld.system.notify(s, 0, [0, 0], pl.read(data, [0, 0]))

@pl.jit.incore
def two(d: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]], s: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]]):
    pld.system.notify(s, 0, [0, 0], 1)

@pl.jit
def chip(x: pl.InOut[pl.Tensor[[4, 8], pl.FP32]], z: pl.InOut[pl.Tensor[[4, N], pl.FP32]], v: pl.InOut[pl.Tensor[[32], pl.FP32]],
         y: pl.Out[pl.Tensor[[1], pl.FP32]], k: pl.Scalar[pl.INDEX]):
    add(x[0], x[0])  # ERROR "E0405.*arguments for a and b of add overlap, which writes b"
    add(v, v)  # ERROR "E0405.*v is passed to both a and b of add"
    add(v[0:8], v[7:15])  # ERROR "E0405.*overlap"
    add(v[7:15], v[0:8])  # ERROR "E0405.*overlap"
    add(pl.reshape(x, [32])[8:16], x[1])  # ERROR "E0405.*overlap"
    add(b=x[k], a=x[k])  # ERROR "E0405.*overlap"
    add(z[k], z[k])  # ERROR "E0405.*overlap"
    dot(v, v[0:32], y)
    add(v[0:8], v[8:16])
    add(x[0], x[1])
    add(z[0], z[1])
    add(z[k], z[k + 1])
    add(x[k], x[0])
    add(x[1, 0:4], x[1, 4:8])

@pl.jit.host
def main(x: pl.InOut[pl.Tensor[[NR, 8], pl.FP32]]):
    buf = pld.alloc_window_buffer([4, 1], dtype=pl.INT32)
    s = pld.window(buf, [4, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        two(s, s, device=r)  # ERROR "E0405.*s is passed to both d and s of two"
        add(x[r], x[r], device=r)  # ERROR "E0405.*overlap"
        add(x[r], x[0], device=r)
