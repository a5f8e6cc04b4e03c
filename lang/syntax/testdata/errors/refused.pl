# Python that is recognised as a whole, and refused with one error.
def f(*args, **kw):  # ERROR "a parameter with '\*' is not" "a parameter with '\*\*' is not"
    a = [i * i for i in x if i]  # ERROR "E0110: a list comprehension is not in the kernel language"
    b = {i: i for i in x}  # ERROR "a comprehension is not"
    c = sum(i for i in x)  # ERROR "a generator expression is not"
    d = lambda x, y=(1, 2): x + y  # ERROR "lambda is not"
    e = {1, 2}  # ERROR "a set is not"
    g = f(*x, k=1, **y)  # ERROR "'\*' before" "'\*\*' before"
    first, *rest = x  # ERROR "'\*' before an expression is not"
    if (n := 3) > 2:  # ERROR "':=' is not"
        yield n  # ERROR "yield is not"
    h = await x  # ERROR "await is not"
    def g(**):  # ERROR "a parameter with '\*\*' is not"
        pass
    j = 3j  # ERROR "a complex number is not"
    try:  # ERROR "try is not"
        x = = 1
    except Foo as e:
        pass
    finally:
        pass
    raise ValueError("x")  # ERROR "raise is not"
    del x[0]  # ERROR "del is not"
    nonlocal y  # ERROR "nonlocal is not"
    async with x:  # ERROR "async with is not"
        pass
    match x:  # ERROR "match is not"
        case 1:
            pass
    type T = int  # ERROR "type is not"
    for i in pl.range(3):
        pass
    else:  # ERROR "else after a loop is not"
        pass
    match = 3
    match(x)
    type(x)
    return match


async def g():  # ERROR "async def is not"
    pass
