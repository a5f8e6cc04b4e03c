# Contexts, notify, wait.
NR = pl.dynamic("NR")

@pl.jit.incore
def contexts(x: pl.Tensor[[4], pl.FP32], w: pld.DistributedTensor[[4], pl.FP32]):
    a = pld.get_comm_ctx(x)  # ERROR "E0501.*target must be a pld.DistributedTensor, got pl.Tensor"
    b = pld.get_comm_ctx(w, w)  # ERROR "E0209.*takes 1 arguments"
    c = pld.get_comm_ctx(w, device=0)  # ERROR "E0207.*no parameter device"
    d = pld.rank(w)  # ERROR "E0301.*ctx must be a pld.CommCtx"
    e = pld.nranks(3)  # ERROR "E0301.*ctx must be a pld.CommCtx"
    f = pld.rank()  # ERROR "E0208.*needs ctx"
    g = pld.system.foo(w)  # ERROR "E0202.*there is no pld.system.foo"

@pl.jit.host
def on_host(x: pl.Tensor[[NR, 4], pl.FP32]):
    buf = pld.alloc_window_buffer([4], dtype=pl.FP32)
    w = pld.window(buf, [4], dtype=pl.FP32)
    ctx = pld.get_comm_ctx(w)
    r = pld.rank(ctx)  # ERROR "E0308.*rank is not possible in a host function"
    pld.system.fence()  # ERROR "E0202.*there is no pld.system.fence"

@pl.jit.incore
def cells(s: pld.DistributedTensor[[4, 1], pl.INT32], x: pl.Tensor[[4, 1], pl.INT32], w: pld.DistributedTensor[[4, 1], pl.FP32], v: pl.Scalar[pl.FP32]):
    pld.system.notify(x, 1, [0, 0], 1)  # ERROR "E0501.*target must be a pld.DistributedTensor"
    pld.system.notify(s, 1, [0], 1)  # ERROR "E0401.*needs 2 indices"
    pld.system.notify(s, 1, [0, 0, 0], 1)  # ERROR "E0401.*needs 2 indices"
    pld.system.notify(s, v, [0, 0], 1)  # ERROR "E0301.*peer must be an integer"
    pld.system.notify(s, 1, [0, 0], v)  # ERROR "E0301.*value must be an integer"
    pld.system.notify(s, 1, [v, 0], 1)  # ERROR "E0301.*offsets must be integers"
    pld.system.notify(s, 1, 0, 1)  # ERROR "E0301.*offsets must be a list of integers"
    pld.system.notify(w, 1, [0, 0], 1)  # ERROR "E0302.*elements of INT32, got FP32"
    pld.system.notify(s, 1, [4, 0], 1)  # ERROR "E0403.*reaches past the end"
    pld.system.notify(s, 1, [-1, 0], 1)  # ERROR "E0403.*must not be negative"
    pld.system.notify(s, 1, [0, 0], 1, op=pld.WaitCmp.Ge)  # ERROR "E0313.*op must be a pld.NotifyOp"
    pld.system.notify(s, 1, [0, 0], 1, op=pld.NotifyOp.AtomicAd)  # ERROR "E0202.*no value AtomicAd"
    pld.system.notify(s, 1, [0, 0])  # ERROR "E0208.*needs value"
    pld.system.notify(s, 1, [0, 0], 1, pld.NotifyOp.Set)  # ERROR "E0209.*takes 4 arguments"
    pld.system.notify(s, -1, [0, 0], 1)  # WARNING "E0501.*peer must not be negative"
    n = pld.system.notify(s, 1, [0, 0], 1)  # ERROR "E0325.*n is given nothing"
    pld.system.wait(x, [0, 0], 1)  # ERROR "E0501.*signal must be a pld.DistributedTensor"
    pld.system.wait(w, [0, 0], 1)  # ERROR "E0302.*elements of INT32"
    pld.system.wait(s, [0], 1)  # ERROR "E0401.*needs 2 indices"
    pld.system.wait(s, [0, 0], 1.5)  # ERROR "E0301.*expected must be an integer"
    pld.system.wait(s, [0, 0], 1, cmp="Ge")  # ERROR "E0313.*cmp must be a pld.WaitCmp"
    pld.system.wait(s, [0, 5], 1)  # ERROR "E0403.*reaches past the end"
    pld.system.wait(s, [0, 0], 1, peer=2)  # ERROR "E0207.*no parameter peer"
    pld.system.defer_wait(s, [0, 0], 1)  # ERROR "E0212.*defer_wait is not here yet"

@pl.jit.incore
def too_large(s: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]]):
    pld.system.notify(s, 0, [0, 0], 1 << 31)  # ERROR "E0313.*value must fit into an INT32 cell, got 2147483648"
    pld.system.wait(s, [0, 0], 99999999999)  # ERROR "E0313.*expected must fit into an INT32 cell"
