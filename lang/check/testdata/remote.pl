# Remote loads and stores, put and get.
D = pl.dynamic("D")

@pl.jit.incore
def loads(w: pld.DistributedTensor[[4, 8], pl.FP32], x: pl.Tensor[[4, 8], pl.FP32], v: pl.Scalar[pl.FP32], n: pl.Scalar[pl.INDEX]):
    a = pld.remote_load(w, 1, [0, 4], [4, 8])  # ERROR "E0403.*reaches past the end of dimension 1"
    b = pld.remote_load(w, 1, [0, 0], [4, 8], valid_shape=[4])  # ERROR "E0401.*valid_shape must have 2"
    c = pld.remote_load(w, 1, [0, 0], [4, 8], valid_shape=[4, -1])  # ERROR "E0402.*must not be negative"
    d = pld.remote_load(w, 1, [0, 0], [4, 8], valid_shape=[4, 1.5])  # ERROR "E0301.*valid_shape must be integers"
    e = pld.remote_load(x, 1, [0, 0], [4, 8])  # ERROR "E0501.*target must be a pld.DistributedTensor"
    f = pld.remote_load(w, v, [0, 0], [4, 8])  # ERROR "E0301.*peer must be an integer"
    g = pld.remote_load(w, 1, [0], [4, 8])  # ERROR "E0401.*offsets must have 2"
    h = pld.remote_load(w, 1, [0, 0], [4])  # ERROR "E0401.*shape must have 2"
    i = pld.remote_load(w, 1, 0, [4, 8])  # ERROR "E0301.*offsets must be a list"
    j = pld.remote_load(w, 1, [0, 0], [n, 8])  # ERROR "E0402.*must be known before the kernel runs"
    k = pld.remote_load(w, 1, [0, 0], [4, 8], valid_shape=[5, 8])  # ERROR "E0402.*must fit in shape"
    l = pld.remote_load(w, -2, [0, 0], [4, 8])  # WARNING "E0501.*peer must not be negative"
    m = pld.remote_load(w, 1, [0, 6], [4, 4], valid_shape=[4, 2])  # fine: only the valid part is read

@pl.jit.incore
def stores(w: pl.InOut[pld.DistributedTensor[[4, 8], pl.FP32]], w3: pl.InOut[pld.DistributedTensor[[2, 4, 8], pl.FP32]],
           b: pl.InOut[pld.DistributedTensor[[4, 8], pl.BOOL]], x: pl.Tensor[[4, 8], pl.FP32], v: pl.Scalar[pl.FP32]):
    t = pl.load(x, [0, 0], [4, 8])
    h = pl.cast(t, pl.FP16)
    t3 = pl.reshape(t, [2, 2, 8])
    t1 = pl.reshape(t, [32])
    pld.remote_store(t, x, 1, [0, 0])  # ERROR "E0501.*target must be a pld.DistributedTensor"
    pld.remote_store(t, w, v, [0, 0])  # ERROR "E0301.*peer must be an integer"
    pld.remote_store(t, w, 1, [0])  # ERROR "E0401.*offsets must have 2"
    pld.remote_store(t, w, 1, 0)  # ERROR "E0301.*offsets must be a list"
    pld.remote_store(v, w, 1, [0, 0])  # ERROR "E0301.*tile must be a tile"
    pld.remote_store(w, w, 1, [0, 0])  # ERROR "E0301.*pushes a computed tile, got a pld.DistributedTensor"
    pld.remote_store(h, w, 1, [0, 0])  # ERROR "E0302.*must be FP32 like the destination"
    pld.remote_store(t, w, 1, [0, 0], pld.AtomicType.Add)  # ERROR "E0209.*takes 4 arguments"
    pld.remote_store(t3, w, 1, [0, 0])  # ERROR "E0401.*has 3 dimensions, its destination only 2"
    pld.remote_store(t, w, 1, [1, 0])  # ERROR "E0403.*reaches past the end of dimension 0"
    pld.remote_store(t, w, 1, [0, 1])  # ERROR "E0403.*reaches past the end of dimension 1"
    pld.remote_store(t, w3, 1, [2, 0, 0])  # ERROR "E0403.*reaches past the end of dimension 0"
    pld.remote_store(t > 0.0, b, 1, [0, 0], atomic=pld.AtomicType.Add)  # ERROR "E0302.*cannot add atomically to BOOL"
    pld.remote_store(t, w, 1, [0, 0], atomic=7)  # ERROR "E0313.*atomic must be a pld.AtomicType"
    pld.remote_store(t, w, -1, [0, 0])  # WARNING "E0501.*peer must not be negative"
    pld.remote_store(t, w3, 1, [0, 0])  # ERROR "E0401.*offsets must have 3"

@pl.jit.incore
def copies(w: pl.InOut[pld.DistributedTensor[[4, 8], pl.FP32]], u: pl.InOut[pld.DistributedTensor[[4, 4], pl.FP32]],
           s: pl.InOut[pld.DistributedTensor[[D, 8], pl.FP32]], h: pl.InOut[pld.DistributedTensor[[4, 8], pl.FP16]],
           x: pl.InOut[pl.Tensor[[4, 8], pl.FP32]], v: pl.Scalar[pl.FP32]):
    pld.tensor.put(w, 1, x, chunk_rows=-1)  # ERROR "E0313.*chunk_rows must not be negative"
    pld.tensor.put(w, 1, x, chunk_rows=1.5)  # ERROR "E0313.*chunk_rows must be a constant integer"
    pld.tensor.put(w, 1, x, pipeline=True)  # ERROR "E0313.*pipeline=True needs chunk_rows and chunk_cols"
    pld.tensor.put(x, 1, w)  # ERROR "E0501.*dst must be a pld.DistributedTensor"
    pld.tensor.get(x, 1, x)  # ERROR "E0501.*src must be a pld.DistributedTensor"
    pld.tensor.put(h, 1, x)  # ERROR "E0302.*needs one element type"
    pld.tensor.put(u, 1, x)  # ERROR "E0402.*needs equal shapes"
    pld.tensor.put(s, 1, x)  # ERROR "E0402.*needs equal shapes"
    pld.tensor.put(w, v, x)  # ERROR "E0301.*peer must be an integer"
    pld.tensor.put(w, 1, x, [0, 0], [0, 0])  # ERROR "E0313.*together or not at all"
    pld.tensor.put(w, 1, x, [0, 0], [0, 0], [4])  # ERROR "E0401.*one extent per dimension"
    pld.tensor.put(w, 1, x, [0], [0, 0], [4, 8])  # ERROR "E0401.*dst_offsets must have 2"
    pld.tensor.put(w, 1, x, [-1, 0], [0, 0], [4, 8])  # ERROR "E0403.*must not be negative"
    pld.tensor.put(w, 1, x, [0, 4], [0, 0], [4, 8])  # ERROR "E0403.*past the end of dimension 1 of dst"
    pld.tensor.put(w, 1, x, [0, 0], [2, 0], [4, 8])  # ERROR "E0403.*past the end of dimension 0 of src"
    pld.tensor.get(x, 1, w, atomic=pld.AtomicType.Add)  # ERROR "E0207.*no parameter atomic"
    pld.tensor.put(w, 1, pl.exp(x))  # ERROR "E0301.*src must be a tensor, got pl.Tile"
    pld.tensor.put(w, 1, x, [0, 0], [0, 0], [-4, 8])  # ERROR "E0402.*must not be negative"
    pld.tensor.get(x, -3, w)  # WARNING "E0501.*peer must not be negative"
