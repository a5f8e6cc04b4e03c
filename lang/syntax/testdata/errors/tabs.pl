# How wide a tab is nobody knows, so the lines below this one are in its block.
def tab(x):
	a = 1
    b = 2  # ERROR "E0102"
    return b
