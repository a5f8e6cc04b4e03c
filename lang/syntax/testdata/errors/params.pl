# The order of parameters, as in Python.
def a(x=1, y):  # ERROR "E0120: the parameter .y. needs a default"
    pass
def b(x, /, y, *, z):
    pass
def c(x=1, *, y):
    pass
def d(x, *, y, /):  # ERROR "'/' is too late"
    pass
def e(x, /, y, /):  # ERROR "'/' is too late"
    pass
def f(/):  # ERROR "there are none"
    pass
def g(*):  # ERROR "given by name only, and there are none"
    pass
def h(x, *, /):  # ERROR "given by name only, and there are none" "'/' is too late"
    pass
def i(*, x, *, y):  # ERROR "'\*' is too late"
    pass
def j(x, /y):  # ERROR "expected ',' or '\)' behind '/'"
    pass
def k(**):  # ERROR "a parameter with '\*\*' is not"
    pass
def l(x, y, x):  # ERROR "the parameter .x. is given twice"
    pass
def m(*, *):  # ERROR "there are none" "there are none"
    pass
