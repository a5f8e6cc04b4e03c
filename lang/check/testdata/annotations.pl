# What is wrong with a name of the module is said once, however many annotations use it.
HALF = 64 / 2 * 1.0
LESS = -4

@pl.jit.incore
def f(x: pl.Tensor[[1, HALF], pl.FP32],  # ERROR "E0306: an extent is an integer, got the number 32.0"
      y: pl.Out[pl.Tensor[[1, HALF], pl.FP32]]):
    y[:] = x

@pl.jit.incore
def g(x: pl.Tensor[[RANKS, LESS], pl.FP32],  # ERROR "E0201: RANKS is not defined"
      y: pl.Tensor[[LESS, 1], pl.FP32]):  # ERROR "E0306: an extent must not be negative, got -4"
    pass

@pl.jit
def h(x: pl.Tensor[[RANKS, 1, HALF], pl.FP32], y: pl.Out[pl.Tensor[[RANKS, LESS], pl.FP32]]):
    for r in pl.range(RANKS):
        f(x[r], y[r])
