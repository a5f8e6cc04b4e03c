# One complaint about the brackets of a statement, at the first that is wrong, and none of what follows from it.
def a(
    x: pl.Tensor[[1, SIZE] ], pl.FP32],  # ERROR "E0107: .\]. closes nothing"
    y: pl.Out[pl.Tensor[[NR, SIZE], pl.FP32]],
):
    y = f(g(x[1), 2)  # ERROR "E0106: .\[. is never closed"
    y = f((1, 2], x)  # ERROR "E0107: .\]. cannot close .\(."
    y = f(x], 2)  # ERROR "E0107: .\]. closes nothing"
    y = f("(", x[')']]) + 2  # ERROR "E0107: .\]. closes nothing"
    return f((x, y)  # ERROR "E0106: .\(. is never closed"


def b(x: pl.Tensor[]NR, 1, SIZE], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]]):  # ERROR "E0107"
    pass


def c(
    x: pl.Tensor[[ [1, SIZE], pl.FP32],  # ERROR "E0106: .\[. is never closed"
    n,
):
    return (x, (n]  # ERROR "E0107: .\]. cannot close"
