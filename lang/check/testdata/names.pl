# Names, calls, functions.
import numpy as np
import ptoc.languag as pl  # ERROR "E0202.*there is no ptoc.languag"
from ptoc.language import Tensr  # ERROR "E0202.*there is no ptoc.language.Tensr"
N = pl.dynamic("N")
SIZE = 4
TYPO = SIZ + 1  # ERROR "E0201.*SIZ is not defined"

@pl.jit.incore
def twice(x: pl.Tensor[[SIZE], pl.FP32], y: pl.Out[pl.Tensor[[SIZE], pl.FP32]]):
    y[:] = x * 2.0
    return y

@pl.jit.incore
def uses(x: pl.Tensor[[SIZE], pl.FP32], y: pl.Out[pl.Tensor[[SIZE], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    y[0] = xx[0]  # ERROR "E0201.*xx is not defined"
    y[0] = xx[1] + xx[2]
    a = pl.exq(x)  # ERROR "E0202.*there is no pl.exq"
    b = pl.notify(x)  # ERROR "E0202.*there is no pl.notify"
    c = pld.add(x, x)  # ERROR "E0202.*there is no pld.add"
    d = x.sum()  # ERROR "E0203.*has no attribute sum"
    e = np.exp(x)  # ERROR "E0110.*np is Python's"
    f = pl.exp()  # ERROR "E0208.*pl.exp needs x"
    g = pl.exp(x, dtype=pl.FP32)  # ERROR "E0207.*pl.exp has no parameter dtype"
    h = pl.load(x, [0], shap=[4])  # ERROR "E0207.*pl.load has no parameter shap"
    i = pl.CmpType.LTE  # ERROR "E0202.*pl.CmpType has no value LTE"
    twice(x)  # ERROR "E0208.*twice needs an argument for y"
    twice(x, y, n)  # ERROR "E0209.*twice takes 2 arguments, got 3"
    twice(x, y, x=x)  # ERROR "E0210.*twice is given x twice"
    twice(x, yy=y)  # ERROR "E0207.*twice has no parameter yy"
    twise(x, y)  # ERROR "E0201.*twise is not defined"
    z = SIZE(x)  # ERROR "E0213.*the number 4 cannot be called"
    w = pl.range(4)  # ERROR "E0213.*stands in a for statement"
    v = pl.Tensor(x)  # ERROR "E0213.*pl.Tensor is not a function"
    y[0] = self.n  # ERROR "E0201.*self is not defined"

@pl.jit.incore
def flow(n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[SIZE], pl.INDEX]]):
    for i in pl.range(n):
        k = i
    y[0] = i  # ERROR "E0205.*i is the counter of a loop that is over"
    y[1] = k  # ERROR "E0205.*k is defined only inside the loop"
    if n > 3:
        m = 1
    elif n > 2:
        m = 2
    y[2] = m  # ERROR "E0205.*m is defined on one path only"
    if n > 3:
        q = 1
    else:
        q = y
    y[3] = q  # ERROR "E0205.*q is the number 1 in one arm|E0205.*q is bound to different memory"

@pl.jit.inline
def a(n: pl.Scalar[pl.INDEX]):
    b(n)

@pl.jit.inline
def b(n: pl.Scalar[pl.INDEX]):
    a(n)  # ERROR "E0206.*in a cycle: a -> b -> a"

@pl.jit.incore
def a2(x: pl.Tensor[[SIZE], pl.FP32], x: pl.Tensor[[SIZE], pl.FP32]):  # ERROR "E0115.*given twice"
    pass

@pl.jit.host
def main(x: pl.Tensor[[SIZE], pl.FP32], y: pl.Out[pl.Tensor[[SIZE], pl.FP32]]):
    twice(x, y)
    main(x, y)  # ERROR "E0321.*a host function cannot call main, which is a host"
    want(x, y)  # ERROR "E0321.*cannot call want, which is a golden"
    t = pl.exp(x)  # ERROR "E0308.*reading x as a value is not possible in a host function"
    y[0] = 1.0  # ERROR "E0308.*writing an element of y is not possible in a host function"

@pl.golden(of=main)
def want(x, y, z):  # ERROR "E0201.*main has no parameter z"
    y[:] = x * 2.0

@pl.golden(of=nobody)  # ERROR "E0201.*nobody is not defined"
def want2(x, y):
    pass

@pl.golden  # ERROR "E0215.*needs of="
def want3(x, y):
    pass

@pl.jit.kernel  # ERROR "E0215.*pl.jit.kernel is not a decorator"
def bad(x: pl.Tensor[[SIZE], pl.FP32]):
    pass

class Helper:  # ERROR "E0214.*class Helper is not a program"
    pass

# A few lines that double a constant would fill any memory.
M = pl.dynamic("M")
S1 = "ab" + "cd"
L1 = [0, 1] * 300
L2 = L1 + L1  # ERROR "E0318.*more than 1024 elements"
L3 = [0, 1, 2, 3] * 4611686018427387904  # ERROR "E0318.*more than 1024 elements"
L4 = [] * 4611686018427387904
P1 = (M + 1) * (M + 2) * (M + 3) * (M + 4) * (M + 5) * (M + 6)
P2 = P1 * P1
P3 = P2 * P2  # ERROR "E0318.*grows too large"

# What is wrong with a parameter is said once, not again where a golden function uses it.
@pl.jit.host
def broken(x: pl.Tensor[[MISSING, 4], pl.FP32], y: pl.Out[pl.Tensor[[4, 4], pl.FP32]]):  # ERROR "E0201.*MISSING is not defined"
    pass

@pl.golden(of=broken)
def broken_expected(x, y):
    y[0] = x[0]

@pl.golden(of=broken)
def other_names(x, z):  # ERROR "E0201.*broken has no parameter z"
    z[0] = x[0]

# A decorator that is wrong is said once, not again at each call.
@pl.program
class Wrong:
    @pl.function(type=pl.FunctionType.Incore)  # ERROR "E0215.*pl.FunctionType.Incore is not a type that exists here"
    def kernel(self, x: pl.Tensor[[4], pl.FP32]):
        pass

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, x: pl.Tensor[[4], pl.FP32]):
        self.kernel(x)

@pl.jit.incor  # ERROR "E0215.*is not a decorator for functions"
def misspelt(x: pl.Tensor[[4], pl.FP32]):
    pass

@pl.jit
def calls_misspelt(x: pl.Tensor[[4], pl.FP32]):
    misspelt(x)
