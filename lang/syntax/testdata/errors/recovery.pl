# One error does not hide the next: not in the same function, not in the next one.
def a(x, 1):  # ERROR "E0101: expected '\)', found 1"
    y = x +  # ERROR "expected an expression, found the end of the line"
    z = 1
    for in pl.range(3):  # ERROR "expected an expression, found 'in'"
        z = = 2  # ERROR "expected an expression, found '='"
        break
    else:
        pass
    return z z  # ERROR "expected the end of the line, found z"


def b(x):
    if x  # ERROR "E0116: this line needs a ':'"
        x = 1
    while x = 2:  # ERROR "E0117"
        break
    if (x = 3):  # ERROR "E0117"
        pass
    if x:
        pass
    else x:  # ERROR "expected ':', found x"
        pass
    retrun x  # ERROR "found x"
    f(x y)  # ERROR "expected ',' or '\)', found y"
    x[]  # ERROR "expected an expression, found '\]'"
    def def():  # ERROR "\"def\" is a keyword"
        pass
    x = 1
    elif x:  # ERROR "'elif' continues no statement"
        pass
    break  # ERROR "'break' outside a loop"
    for i in pl.range(3):
        def g():
            continue  # ERROR "'continue' outside a loop"
    if x: for y in z: pass  # ERROR "expected a simple statement"
    import  # ERROR "expected a name, found the end of the line"
    from x import (a b)  # ERROR "expected '\)', found b"
    x = a.if  # ERROR "E0119"
    x = f(class=1)  # ERROR "E0119"
    x = a not b  # ERROR "expected the end of the line, found 'not'"
    x = a + not b  # ERROR "'not' binds more loosely"
    @pl.jit
    x = 1  # ERROR "expected 'def', found x"

# The block goes on at the column of the line that does not fit: the first line of it was the odd one.
def odd(x):
      a = 1
    b = 2  # ERROR "E0103: this line is indented by 4 columns"
    if b:
        c = 3
    return c


@pl.jit.inline  # what follows belongs to it
    def indented(x):  # ERROR "E0104: this line is indented for no reason"
        return x


def without(x):
    @pl.jit.inline  # ERROR "E0101: expected 'def', found a change of indentation"
