# Kinds of values, element types, shapes.
N = pl.dynamic("N")
T = pl.dtype_var("T")

@pl.jit.incore
def annotations(a, b: int, c: pl.Tensor, d: pl.FP32, e: pl.Tensor[[4]], f: pl.Tensor[4, pl.FP32], g: pl.Tensor[[-4], pl.FP32], h: pl.Out[pl.Scalar[pl.INDEX]], i: pl.Tile[[4], pl.FP32], j: pl.Tensor[[4], pl.FP23]):  # ERROR "E0305.*parameter a of" "E0306.*int is not a type" "E0306.*pl.Tensor is not a type" "E0306.*element type FP32 is not a type" "E0306.*takes a shape and an element type" "E0306.*a shape is a list" "E0306.*must not be negative" "E0306.*only memory can be pl.Out" "E0306.*cannot be pl.Tile" "E0202.*there is no pl.FP23"
    pass

@pl.jit.incore
def kinds(x: pl.Tensor[[2, 4], pl.FP32], k: pl.Tensor[[2, 4], pl.INT32], h: pl.Tensor[[2, 4], pl.FP16], n: pl.Scalar[pl.INDEX],
          v: pl.Scalar[pl.FP32], y: pl.Out[pl.Tensor[[2, 4], pl.FP32]], z: pl.InOut[pl.Tensor[[4], pl.FP32]]):
    t = pl.load(x, [0, 0], [2, 4])
    a = x + k  # ERROR "E0302.*one element type, got FP32 and INT32"
    b = x / n + k / n  # ERROR "E0302.*pl.div lhs must be floating point, got INT32"
    c = pl.exp(k)  # ERROR "E0302.*must be floating point, got INT32"
    d = x // 2  # ERROR "E0302.*must be an integer"
    e = pl.store(h, [0, 0], y)  # ERROR "E0302.*must be FP32 like the destination"
    f = pl.load(t, [0, 0], [1, 4])  # ERROR "E0301.*tensor must be a tensor, got pl.Tile"
    g = pl.load(x, 0, [1, 4])  # ERROR "E0301.*offsets must be a list of integers"
    i = pl.load(x, [0, v], [1, 4])  # ERROR "E0301.*offsets must be integers"
    j = pl.load(x, [0, 1], [2, 4])  # ERROR "E0403.*reaches past the end of dimension 1"
    l = x + z[0:3]  # ERROR "E0402.*cannot combine shapes"
    m = pl.matmul(x, x)  # ERROR "E0402.*inner extents are 4 and 2"
    mm = pl.matmul(pl.reshape(x, [2, 2, 2]), pl.reshape(x, [4, 2, 1]))  # ERROR "E0402.*the batches are .2. and .4."
    o = x[0, 1, 2]  # ERROR "E0401.*3 subscripts for 2 dimensions"
    p = x[v]  # ERROR "E0301.*a subscript is an integer"
    q = x[3]  # ERROR "E0403.*reaches past the end"
    r = x[0, ::2]  # ERROR "E0110.*slice with a step"
    s = n[0]  # ERROR "E0301.*has no elements"
    t[0, 0] = 1.0  # ERROR "E0301.*a tile is a value"
    y[0, 0] = t  # ERROR "E0301.*one element is written here"
    y[0] = x[:, 0]  # ERROR "E0402.*this has shape .2., the place it is written to .4."
    u = pl.reshape(x, [3, 3])  # ERROR "E0402.*must keep the number of elements"
    w = pl.sum(x)  # ERROR "E0208.*pl.sum needs axis"
    aa = pl.sum(x, axis=3)  # ERROR "E0313.*axis must be in"
    bb = pl.sum(x, n)  # ERROR "E0313.*axis must be a constant integer"
    cc = pl.cast(x, "FP16")  # ERROR "E0313.*target_type must be an element type"
    dd = pl.row_expand_add(x, z)  # ERROR "E0402.*must have one column"
    ee: pl.Tile[[2, 8], pl.FP32] = pl.load(x, [0, 0], [2, 4])  # ERROR "E0301.*annotated as pl.Tile..2, 8., pl.FP32. but is"
    ff = x ** n  # ERROR "E0313.*constant exponent"
    gg = not n  # ERROR "E0303.*a condition must be BOOL"
    hh = n and v  # ERROR "E0303.*a condition must be BOOL"
    ii = x if n > 0 else 3  # ERROR "E0311.*is bound to different memory"
    jj, kk = n  # ERROR "E0317.*cannot be unpacked"
    ll = 7 // 0  # ERROR "E0318.*division by zero"
    pl.add(x, x)  # ERROR "E0314.*not used"
    n + 1  # ERROR "E0314.*not used"
    x[0, 0] = 1.0  # ERROR "E0316.*x is an input"
    x[0, 1] = 1.0
    y = t + 1.0

@pl.jit.incore
def forgotten(x: pl.Tensor[[2, 4], pl.FP32], y: pl.Out[pl.Tensor[[2, 4], pl.FP32]]):
    y = pl.add(x, x)  # ERROR "E0315.*the output is never written"

@pl.jit.incore
def silent(x: pl.Tensor[[2, 4], pl.FP32], y: pl.Out[pl.Tensor[[2, 4], pl.FP32]]):  # WARNING "E0315.*output y is never written"
    pass

@pl.jit.incore
def gives(x: pl.Tensor[[2, 4], pl.FP32], y: pl.Out[pl.Tensor[[2, 4], pl.FP32]]):
    pl.store(x, [0, 0], y)
    return y[0]  # ERROR "E0309.*returns memory that is not one of its parameters"

@pl.jit.incore
def makes(x: pl.Tensor[[2, 4], pl.FP32]):
    t = pl.create_tensor([2, 4], dtype=pl.FP32)
    return t  # ERROR "E0309.*returns memory that is not one of its parameters"

@pl.jit.incore
def number(x: pl.Tensor[[2, 4], pl.FP32]):
    return x[0, 0]  # ERROR "E0309.*returns parameters that it wrote, not pl.Scalar"

@pl.jit.inline
def generic(a: pl.Tile[[1, N], T], b: pl.Tile[[1, N], T], k: pl.Const[int]):
    return a + b

@pl.jit
def calls(x: pl.Tensor[[1, 4], pl.FP32], h: pl.Tensor[[1, 4], pl.FP16], n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[2, 4], pl.FP32]]):
    a = generic(x, h, 1)  # ERROR "E0302.*b of generic must have elements of FP32, got FP16"
    b = generic(x, x, n)  # ERROR "E0322.*k of generic must be a compile-time int"
    c = generic(x, x[:, 0:2], 1)  # ERROR "E0402.*must have shape"
    d = generic(x, n, 1)  # ERROR "E030[12].*b of generic must"
    number(y + 1.0)  # ERROR "E0301.*x of number must be memory"
    number(y[:, 0:2])  # ERROR "E0404.*must be contiguous"
    e = silent(x, y)  # ERROR "E0402.*must have shape"
    f = silent(pl.create_tensor([2, 4], dtype=pl.FP32), y)  # ERROR "E0325.*f is given nothing"

@pl.jit.inline
def signals(s: pld.DistributedTensor[[4, 1], pl.INT32]):
    pld.notify(s, 0, [0, 0], 1)
    n = pld.world_size()

@pl.jit.incore
def spliced(s: pld.DistributedTensor[[4, 1], pl.INT32]):
    signals(s)  # ERROR "E0308.*signals cannot be inlined into an incore function: it contains pld.system.world_size"
