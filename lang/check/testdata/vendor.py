# What upstream has and we have not: one clear error each.
import pypto.language as pl
import pypto.language.distributed as pld
import torch

def python_code(x):
    return [y for y in range(3) if (lambda z: z)(y)]

SCALE = torch.tensor(3)

@pl.jit.incore
def vendor(x: pl.Tensor[[8, 8], pl.FP32, pl.NZ], y: pl.Tensor[[8, 8], pl.FP32]):
    a = pl.split_aiv(2)  # ERROR "E0211.*pl.split_aiv is not here: a core here is not split"
    pl.tpush_to_aic(x)  # ERROR "E0211.*pl.tpush_to_aic is not here"
    b = pl.tpop_from_aiv()  # ERROR "E0211.*is not here"
    pl.system.syncall()  # ERROR "E0211.*syncall is not here"
    c = pl.matmul_mx(x, x)  # ERROR "E0211.*MX formats"
    d = pl.cast(x, pl.FP8E4M3FN)  # ERROR "E0211.*FP8E4M3FN is not here"
    e = pl.cast(x, pl.UINT8)  # ERROR "E0211.*UINT8 is not here: element types are"
    f = pl.gather(x, x)  # ERROR "E0212.*pl.gather is not here yet"
    g = pl.row_argmax(x)  # ERROR "E0212.*row_argmax is not here yet"
    h = x * SCALE  # ERROR "E0110.*SCALE is Python's"
    i = python_code(x)  # ERROR "E0201.*python_code is not defined"
    y[0, 0] = 1.0  # fine in Python files: the direction follows from the body
    pl.system.cacheinvalid(y)
    j = pl.load(x, [0, 0], [8, 8], target_memory=pl.MemorySpace.Vec, layout=pl.TensorLayout.ND)
    k = pl.row_sum(j, pl.create_tile([8, 1], dtype=pl.FP32))
    y[:] = pl.row_expand_sub(j, k)

@pl.program
class P:
    @pl.function(type=pl.FunctionType.Graph)  # ERROR "E0215.*is not a type that exists here"
    def graph(self, x: pl.Tensor[[8], pl.FP32]):
        pass

    @pl.function(level=pl.Level.HOST, role=pl.Role.SubWorker)  # ERROR "E0211.*SubWorker callbacks are not here"
    def callback(self, x: pl.Tensor[[8], pl.FP32]):
        ...

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[8], pl.FP32]):
        pass

    @pl.function
    def chip(self, x: pl.Tensor[[8], pl.FP32]):
        self.kernel(x)
        self.kernal(x)  # ERROR "E0201.*class P has no function kernal"
        r, tid = pl.spmd_submit(self.kernel, x, core_num=4)  # ERROR "E0211.*core_num is not here"
