# Only what is decorated must be kernel language.
x = = 1
class A
    def f(self:
        pass
    '''never closed?'''
def broken(:
    return [
@pl.jit
def f(x):
    y = [i for i in x]  # ERROR "a list comprehension"
    return y y  # ERROR "found y"
def make(n):
    raise X
    z = z z
    @pl.jit.incore
    def g(x):
        raise X  # ERROR "raise is not"
        y = 0777  # ERROR "starts with 0"
        z = 'abc  # ERROR "no closing"
    return 'abc
