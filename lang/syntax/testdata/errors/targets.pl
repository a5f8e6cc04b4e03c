x + 1 = 2  # ERROR "E0113: cannot assign to an operation"
f(x) = 1  # ERROR "cannot assign to a call"
f(x) += 1  # ERROR "cannot assign to a call"
a, b += 1  # ERROR "an augmented assignment has one target"
(a, b): int = 1  # ERROR "an annotated assignment has one target"
True = 1  # ERROR "cannot assign to a literal"
(a, 3) = x  # ERROR "cannot assign to a literal"
a == 1 = 2  # ERROR "cannot assign to a comparison"
for f(x) in y:  # ERROR "cannot assign to a call"
    pass
with x as 3:  # ERROR "cannot assign to a literal"
    pass
f(a=1, b=2, a=3)  # ERROR "E0115: the argument .a. is given twice"
f(a=1, 2)  # ERROR "E0114"
def g(a, b=1, c):  # ERROR "E0120"
    pass
def h(a, a):  # ERROR "E0115: the parameter .a. is given twice"
    pass
def k(a=1, *, b):
    pass
