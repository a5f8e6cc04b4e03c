# A tab below a line that opens a block is at least one level.
def opens(x):
    if x:
	a = 1  # ERROR "E0102"
        b = 2
    return b
