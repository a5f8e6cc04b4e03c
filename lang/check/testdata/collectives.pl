# Collectives: operands, element types, modes.
NR = pl.dynamic("NR")

@pl.jit.incore
def reduce(w: pl.InOut[pld.DistributedTensor[[4, 8], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
           f: pl.InOut[pld.DistributedTensor[[NR, 1], pl.FP32]], i: pl.InOut[pld.DistributedTensor[[4, 8], pl.INT64]],
           x: pl.Tensor[[4, 8], pl.FP32], one: pl.InOut[pld.DistributedTensor[[8], pl.FP32]]):
    pld.tensor.allreduce(w, s, op=99)  # ERROR "E0313.*op must be a pld.ReduceOp"
    pld.tensor.allreduce(w, s, op=pld.ReduceOp.Avg)  # ERROR "E0202.*pld.ReduceOp has no value Avg"
    pld.tensor.allreduce(w, s, core_num=0)  # ERROR "E0313.*core_num must be positive"
    pld.tensor.allreduce(w, s, core_num="2")  # ERROR "E0313.*core_num must be a constant integer"
    pld.tensor.allreduce(x, s)  # ERROR "E0501.*target must be a pld.DistributedTensor"
    pld.tensor.allreduce(w, x)  # ERROR "E0501.*signal must be a pld.DistributedTensor"
    pld.tensor.allreduce(w, f)  # ERROR "E0302.*elements of INT32, got FP32"
    pld.tensor.allreduce(i, s)  # ERROR "E0302.*target must be FP32, FP16, BF16 or INT32, got INT64"
    pld.tensor.allreduce(w, s, mode="tree")  # ERROR "E0313.*mode must be one of"
    pld.tensor.allreduce(w, s, mode=1)  # ERROR "E0313.*mode must be a string"
    pld.tensor.allreduce(w, s, slots=one)  # ERROR "E0313.*takes slots and turns together"
    pld.tensor.allreduce(w, s, slots=one, turns=s)  # ERROR "E0402.*slots must be .2, n. of FP32 like target"
    pld.tensor.allreduce(w, s, slots=w[0:2, :], turns=w)  # ERROR "E0302.*elements of INT32, got FP32"
    pld.tensor.allreduce(w, w)  # ERROR "E0302.*elements of INT32, got FP32"
    pld.tensor.allreduce()  # ERROR "E0208.*needs target"
    pld.tensor.allreduce(w, s, s)  # ERROR "E0209.*takes 2 arguments"
    pld.tensor.allreduce(w, s, algorithm="ring")  # ERROR "E0207.*no parameter algorithm"
    pld.tensor.barrier(x)  # ERROR "E0501.*signal must be a pld.DistributedTensor"
    pld.tensor.barrier(w)  # ERROR "E0302.*elements of INT32"
    pld.tensor.broadcast(w, s)  # ERROR "E0208.*needs root"
    pld.tensor.broadcast(w, s, root=-1)  # ERROR "E0313.*root must not be negative"
    pld.tensor.broadcast(w, s, root=1.5)  # ERROR "E0313.*root must be a constant integer"
    pld.tensor.broadcast(x, s, root=0)  # ERROR "E0501.*target must be a pld.DistributedTensor"
    pld.tensor.reduce_scatter(i, s)  # ERROR "E0302.*target must be FP32"
    pld.tensor.reduce_scatter(one, s)  # ERROR "E0401.*must have shape .ranks, n."
    pld.tensor.all_to_all_v(w, w, s, s, s)  # ERROR "E0212.*all_to_all_v is not here yet"
    y = pl.exp(pld.tensor.allreduce(w, s))  # fine: the value is the target

@pl.jit.incore
def move(w: pl.InOut[pld.DistributedTensor[[4, 8], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
         x: pl.Tensor[[1, 8], pl.FP32], h: pl.Tensor[[1, 8], pl.FP16], z: pl.Tensor[[1, 6], pl.FP32], m: pl.Tensor[[4, 8], pl.FP32]):
    pld.tensor.allgather(h, w, s)  # ERROR "E0302.*local_data must be FP32 like target"
    pld.tensor.allgather(z, w, s)  # ERROR "E0402.*local_data must fill one row of target"
    pld.tensor.allgather(x, m, s)  # ERROR "E0501.*target must be a pld.DistributedTensor"
    pld.tensor.allgather(x, w)  # ERROR "E0208.*needs signal"
    pld.tensor.all_to_all(w, w, s)  # ERROR "E0501.*must be different window allocations"
    pld.tensor.all_to_all(x, w, s)  # ERROR "E0402.*input must have target's shape"
    pld.tensor.all_to_all(m, m, s)  # ERROR "E0501.*target must be a pld.DistributedTensor"
    pld.tensor.gather(x, w, s)  # ERROR "E0212.*gather is not here yet"

@pl.jit.inline
def nothing(x: pl.Tensor[[4, 8], pl.FP32]):
    pass

@pl.jit.incore
def kernel(x: pl.Tensor[[8], pl.FP32], w: pl.InOut[pld.DistributedTensor[[8], pl.FP32]]):
    pass

@pl.jit.incore
def plain(x: pl.Tensor[[8], pl.FP32]):
    pass

@pl.jit
def chip(x: pl.Tensor[[8], pl.FP32], w: pl.InOut[pld.DistributedTensor[[8], pl.FP32]]):
    plain(x, device=1)  # ERROR "E0503.*'device' is only for calls of a host function"
    kernel(x, x)  # ERROR "E0501.*parameter w must be a pld.DistributedTensor"
    plain(w)  # ERROR "E0501.*parameter x must be a pl.Tensor"

@pl.jit.host
def main(x: pl.Tensor[[NR, 8], pl.FP32], v: pl.Scalar[pl.FP32]):
    buf = pld.alloc_window_buffer([8], dtype=pl.FP32)
    w = pld.window(buf, [8], dtype=pl.FP32)
    kernel(x[0], w)  # ERROR "E0503.*so it needs device="
    kernel(x[0], w, device=v)  # ERROR "E0503.*takes a rank"
    kernel(x[0], w, device=-1)  # ERROR "E0503.*counted from 0"
    nothing(x[0:4, 0:8], device=0)  # ERROR "E0503.*is only for calls"
    kernel(x[0], buf, device=0)  # ERROR "E0301.*w of kernel must be memory"
    kernel(x[0], device=0)  # ERROR "E0208.*needs an argument for w"
    kernel(x[0], w, w, device=0)  # ERROR "E0209.*takes 2 arguments"
    kernel(x[0], w, dev=0)  # ERROR "E0207.*no parameter dev"
    kernel(x, w, device=0)  # ERROR "E0401.*has 1 dimensions, got 2"
