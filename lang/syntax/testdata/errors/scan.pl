x = 1 ? 2  # ERROR "E0109: the character '\?'"
x = “a”  # ERROR "U\+201C" "U\+201D"
x = a && b || !c  # ERROR "E0121: .&&. is spelled .and. here" ".\|\|. is spelled" ".!. is spelled .not. here"
x = a <> b  # ERROR ".<>. is spelled"
x = 0777  # ERROR "E0111: 0777 starts with 0"
x = 00
x = 1__0  # ERROR "1__0 is not a number"
x = 0xzz  # ERROR "not a number"
x = 1_.5  # ERROR "1_.5 is not a number"
x = 99999999999999999999  # ERROR "does not fit into 64 bits"
x = 9223372036854775808  # ERROR "does not fit into 64 bits"
x = -9223372036854775808
x = 1e999  # ERROR "does not fit into a double"
x = 'abc  # ERROR "E0108: this string has no closing"
x = "\x1"  # ERROR "E0112"
x = "\u12"  # ERROR "needs 4 hex"
x = "\U00110000"  # ERROR "beyond the last"
x = a)  # ERROR "E0107: .\). closes nothing"
x = (a]  # ERROR "cannot close"
x = \ 3  # ERROR "joins two lines only"
y = f(a,  # ERROR "E0106: .\(. is never closed"
def g():
    return [1, (2  # ERROR "E0106"
class P:
    pass
  # ERROR_FREE comment at any column
def h():
    if x:
        pass
      y = 1  # ERROR "E0103: this line is indented by 6 columns, where no block starts: the blocks around it start at 0, 4 and 8"
    z = 1
def k():
    x = 1
	y = 1  # ERROR "E0102"
	z = 1
    if x:
    	y = 1
z = 1
    z = 2  # ERROR "E0104"
    z = = 3  # ERROR "found '='"
z = 3
