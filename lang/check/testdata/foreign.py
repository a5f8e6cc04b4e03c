# A constant that Python computes is complained of once, however many annotations use it.
import torch
import pypto.language as pl

ROWS = torch.tensor(3)


@pl.jit.incore
def f(x: pl.Tensor[[ROWS, 4], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, 4], pl.FP32]]):  # ERROR "E0110: ROWS is Python's"
    y[:] = x


@pl.jit
def g(x: pl.Tensor[[ROWS, 4], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, 4], pl.FP32]]):
    for r in pl.range(ROWS):
        f(x, y)
