package diag

// E01xx: text that is not a program of the kernel language.
const (
	UnexpectedToken    Code = 101
	MixedIndent        Code = 102
	BadDedent          Code = 103
	UnexpectedIndent   Code = 104
	MissingBlock       Code = 105
	UnclosedBracket    Code = 106
	UnmatchedBracket   Code = 107
	UnterminatedString Code = 108
	BadCharacter       Code = 109
	NotInLanguage      Code = 110
	BadNumber          Code = 111
	BadEscape          Code = 112
	BadTarget          Code = 113
	ArgumentOrder      Code = 114
	RepeatedArgument   Code = 115
	MissingColon       Code = 116
	AssignInExpression Code = 117
	TooDeep            Code = 118
	KeywordAsName      Code = 119
	ParameterOrder     Code = 120
	ForeignOperator    Code = 121
	OutsideLoop        Code = 122
	OutsideFunction    Code = 123
)

var syntaxRows = []Row{
	{UnexpectedToken, "unexpected token",
		"Something else is needed at this place: the message names what was found and what fits.",
		"x = 1 +  # ERROR \"expected an expression\"\n"},
	{MixedIndent, "tabs and spaces mixed",
		"How wide a tab is depends on who looks, so a file is indented by spaces or by tabs, never by both.",
		"def f():\n    x = 1\n\ty = 2  # ERROR \"mixes tabs and spaces\"\n"},
	{BadDedent, "indentation between two blocks",
		"A line that goes back out must stand exactly where one of the blocks around it starts.",
		"def f():\n    x = 1\n  y = 2  # ERROR \"no block starts\"\n"},
	{UnexpectedIndent, "unexpected indentation",
		"Only a line after a `:` stands further in than the line before it.",
		"x = 1\n    y = 2  # ERROR \"indented for no reason\"\n"},
	{MissingBlock, "missing block",
		"After a `:` at the end of a line comes a block, indented. An empty one is spelled `pass`.",
		"def f():  # ERROR \"needs an indented block\"\nx = 1\n"},
	{UnclosedBracket, "bracket never closed",
		"A bracket is still open where only a new statement can stand, or where the file ends.",
		"def f():\n    x = (1  # ERROR \"is never closed\"\n    return x\n"},
	{UnmatchedBracket, "closing bracket that does not match",
		"A closing bracket closes the innermost open one, which must be of its kind.",
		"x = (1]  # ERROR \"cannot close\"\n"},
	{UnterminatedString, "string without an end",
		"A string in single quotes ends on the line where it starts, one in triple quotes before the file does.",
		"def f():\n    assert x, 'abc  # ERROR \"no closing\"\n"},
	{BadCharacter, "character without a meaning",
		"Outside strings and comments only Python's operators, names and numbers can stand.",
		"x = 1 $ 2  # ERROR \"has no meaning here\"\n"},
	{NotInLanguage, "Python that is not in the kernel language",
		"Kernels are compiled, not run by Python: there are no exceptions, generators, closures or objects. The help line says what to write instead.",
		"f = lambda x: x  # ERROR \"lambda is not in the kernel language\"\n"},
	{BadNumber, "malformed number",
		"Integers are decimal, 0x, 0o or 0b and fit into 64 bits; floats fit into a double; underscores stand between digits.",
		"x = 12ab  # ERROR \"not a number\"\n"},
	{BadEscape, "malformed escape in a string",
		"After a backslash in a string comes one of the escapes of Python; \\x needs two hexadecimal digits.",
		"x = \"\\xZZ\"  # ERROR \"needs 2 hexadecimal digits\"\n"},
	{BadTarget, "cannot be assigned to",
		"Left of `=` stands a name, a subscript, an attribute, or a tuple of these.",
		"x + 1 = 2  # ERROR \"cannot assign to\"\n"},
	{ArgumentOrder, "positional argument after a keyword",
		"Arguments with names come last, so that the position of the others is plain.",
		"f(a=1, 2)  # ERROR \"after a keyword argument\"\n"},
	{RepeatedArgument, "name given twice",
		"A keyword argument is given once in a call, and a parameter named once in a function.",
		"f(a=1, a=2)  # ERROR \"given twice\"\n"},
	{MissingColon, "missing colon",
		"The head of a compound statement ends with `:`.",
		"def f():\n    while x  # ERROR \"needs a ':'\"\n        pass\n"},
	{AssignInExpression, "assignment inside an expression",
		"`=` assigns and is a statement; `==` compares.",
		"def f():\n    if x = 1:  # ERROR \"'=' assigns\"\n        pass\n"},
	{TooDeep, "nested too deep",
		"Brackets and blocks nest up to a limit that no readable program meets.", ""},
	{KeywordAsName, "keyword used as a name",
		"Python's keywords are reserved, those too that the kernel language does not use.",
		"lambda = 1  # ERROR \"is a keyword\"\n"},
	{ParameterOrder, "parameters in the wrong order",
		"Parameters with defaults come last, since arguments are matched by position; `/` ends those that are only " +
			"matched so, `*` begins those that are only given by name.",
		"def f(a=1, b):  # ERROR \"needs a default\"\n    pass\n"},
	{ForeignOperator, "operator of another language",
		"Logic is spelled `and`, `or`, `not`, as in Python.",
		"def f():\n    while a && b:  # ERROR \"is spelled .and. here\"\n        pass\n"},
	{OutsideLoop, "break or continue outside a loop",
		"`break` and `continue` belong to the innermost loop around them, in the same function.",
		"def f():\n    break  # ERROR \"outside a loop\"\n"},
	{OutsideFunction, "return outside a function",
		"`return` ends a function, so it stands in one.",
		"return 1  # ERROR \"outside a function\"\n"},
}
