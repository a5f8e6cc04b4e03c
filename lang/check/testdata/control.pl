# Statements.
@pl.jit.incore
def loops(n: pl.Scalar[pl.INDEX], v: pl.Scalar[pl.FP32], x: pl.Tensor[[8], pl.FP32], y: pl.InOut[pl.Tensor[[8], pl.FP32]]):
    for i in range(4):  # ERROR "E0110.*Python's range is not in the kernel language"
        y[i] = 0.0
    for i in pl.range(v):  # ERROR "E0304.*counts integers, got pl.Scalar.pl.FP32."
        y[i] = 0.0
    for i in pl.range():  # ERROR "E0209.*takes 1 to 3 numbers"
        pass
    for i in pl.range(0, 8, 0):  # ERROR "E0304.*must not be 0"
        pass
    for i in pl.unroll(n):  # ERROR "E0304.*needs constant bounds"
        pass
    for i in pl.unroll(2000):  # ERROR "E0304.*exceeds the maximum of 1024"
        pass
    for i in x:  # ERROR "E0110.*a for loop runs over pl.range"
        pass
    for i, j in pl.range(4):  # ERROR "E0317.*has one counter"
        pass
    for i in pl.range(4, stop=3):  # ERROR "E0207.*has no parameter stop"
        pass
    for i in pl.pipeline(4, stages=2):  # ERROR "E0207.*has no parameter stages"
        pass
    for i in pl.spmd(4, blocks=2):  # ERROR "E0207.*has no parameter blocks"
        pass
    for i in pl.spmd(4, 8):  # ERROR "E0209.*pl.spmd takes 1 number, got 2"
        pass
    for i in pl.pipeline(4, stage=0):  # ERROR "E0313.*stage must be a positive"
        pass
    for i in pl.parallel(8):  # ERROR "E0324.*may run in any order"
        if n == i:
            break
    while n:  # ERROR "E0303.*a condition must be BOOL"
        pass
    if x:  # ERROR "E0303.*a condition must be BOOL"
        pass
    if 1:  # ERROR "E0303.*a condition must be BOOL, got the number 1"
        pass
    with pl.at():  # ERROR "E0209.*needs level="
        pass
    with open("f"):  # ERROR "E0201.*open is not defined"
        pass
    with pl.exp(x):  # ERROR "E0110.*with takes pl.at"
        pass

@pl.jit.incore
def carried(n: pl.Scalar[pl.INDEX], x: pl.Tensor[[8], pl.FP32], z: pl.Tensor[[8], pl.FP32], y: pl.InOut[pl.Tensor[[8], pl.FP32]]):
    t = pl.load(x, [0], [4])
    for i in pl.range(n):
        t = pl.concat(t, t)  # ERROR "E0310.*at the end of an iteration"
    src = x
    for i in pl.range(n):
        y[i] = src[i]
        src = z  # ERROR "E0312.*different memory from one iteration"
    if n > 2:
        dst = y
    else:
        dst = z
    dst[0] = 1.0  # ERROR "E0205.*dst is bound to different memory"
    for i, (a,) in pl.range(4, init_values=(1,)):  # ERROR "E0323.*must end with"
        b = a
    for i, (a, b) in pl.range(4, init_values=(1,)):  # ERROR "E0317.*with 1 init_values is written"
        c = pl.yield_(a)
    for i, (a,) in pl.range(4, init_values=(1,)):
        c, d = pl.yield_(a, a)  # ERROR "E0323.*carries 1 values, this yields 2"
    for i in pl.range(4):
        c = pl.yield_(i)  # ERROR "E0323.*without init_values"
    if n > 0:
        c = pl.yield_(n)  # ERROR "E0323.*one arm yields"
    else:
        d = n
    if n > 0:
        c = pl.yield_(n)  # ERROR "E0323.*must be the last statement of its block"
        d = n
    for i in pl.range(4):
        pl.cond(n > 0)  # ERROR "E0323.*stands in the body of a pl.while_"

@pl.jit.incore
def python(n: pl.Scalar[pl.INDEX], x: pl.Tensor[[8], pl.FP32]):
    print(n)  # ERROR "E0110.*Python's print"
    a = sum([1, 2])  # ERROR "E0110.*Python's sum"
    b = f"{n}"  # ERROR "E0110.*f-string"
    c = {"a": 1}  # ERROR "E0110.*dictionary"
    def inner():  # ERROR "E0110.*a function inside a function"
        pass
    import os  # ERROR "E0110.*import inside a function"
    global g  # ERROR "E0110.*global is not"
    x.foo = 3  # ERROR "E0110.*assigning to an attribute"
    assert n > 0  # ERROR "E0110.*assert on a value"
    assert 1 < 2
    assert 2 < 1  # ERROR "E0319.*assertion failed: 2 < 1"
    d = n is 3  # ERROR "E0110.*on run-time values"
    e = n in [1, 2]  # ERROR "E0110.*on run-time values"
    pl.static_print("x", x.shape, 3 * 4)  # WARNING "E0320.*x .8,?. 12|E0320.*x \(8\) 12"
    pl.static_assert(x.shape[0] == 8)
    h: pl.Scalar[pl.INDEX]  # ERROR "E0110.*declaration without a value"

@pl.jit.incore
def tuples(y: pl.Out[pl.Tensor[[4], pl.INDEX]], n: pl.Scalar[pl.INDEX]):
    t = (n, n + 1)
    for i in pl.range(3):
        t = (t[1], t[0])  # ERROR "E0310: t is a tuple, and cannot change while a loop runs"
    def inner(a):  # ERROR "E0110: a function inside a function"
        return a
    y[0] = inner(t[0])
    y[-5] = n  # ERROR "E0403: -5 stands before the first of 4"
    y[1] = "a"  # ERROR "E0301: one element is written here, got the string"

# The memory is called as the program calls it, not as the op's parameter is called.
@pl.jit.incore
def outside(x: pl.Tensor[[4, 6], pl.FP32], y: pl.Out[pl.Tensor[[4], pl.FP32]]):
    t = x[0:2, :]
    y[0] = t[2, 0]  # ERROR "E0403: pl.read reaches past the end of dimension 0 of t: 2 . 1 > 2"
    y[1] = x[2:4, :][2, 0]  # ERROR "E0403: pl.read reaches past the end of dimension 0: 2 . 1 > 2"
    y[4] = 1.0  # ERROR "E0403: pl.write reaches past the end of dimension 0 of y: 4 . 1 > 4"
