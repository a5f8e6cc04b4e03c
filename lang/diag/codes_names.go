package diag

// E02xx: names that mean nothing, or not that.
const (
	UndefinedName     Code = 201
	UnknownName       Code = 202
	UnknownAttribute  Code = 203
	Redefined         Code = 204
	MaybeUndefined    Code = 205
	Recursion         Code = 206
	UnknownKeyword    Code = 207
	MissingArgument   Code = 208
	ArgumentCount     Code = 209
	RepeatedParameter Code = 210
	NotHere           Code = 211
	NotYet            Code = 212
	NotCallable       Code = 213
	NoDecorator       Code = 214
	BadDecorator      Code = 215
	UnknownDefine     Code = 216
	BadDefine         Code = 217
	UnknownEntry      Code = 218
	NoKernels         Code = 219
	Unreachable       Code = 220
)

var nameRows = []Row{
	{UndefinedName, "undefined name",
		"A name means nothing here: it is misspelt, or defined later or elsewhere.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[1, 4], pl.FP32]):\n    y = z  # ERROR \"z is not defined\"\n"},
	{UnknownName, "unknown name of pl or pld",
		"`pl` and `pld` have no such op, type or value. docs/ops.md lists all ops.",
		"N = pl.dinamic(\"N\")  # ERROR \"there is no pl.dinamic\"\n@pl.jit.incore\ndef f(x: pl.Tensor[[1, 4], pl.FP32]):\n    pass\n"},
	{UnknownAttribute, "unknown attribute",
		"Tensors and tiles have `shape` and `dtype`. Ops are functions, not methods.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[1, 4], pl.FP32]):\n    n = x.size  # ERROR \"has no attribute size\"\n"},
	{Redefined, "defined twice",
		"Two functions have the same name.",
		"@pl.jit.incore\ndef f():\n    pass\n@pl.jit.incore\ndef f():  # ERROR \"f is defined twice\"\n    pass\n"},
	{MaybeUndefined, "not defined on every path",
		"A name is used where some way to reach that place does not define it, or defines it as something else.",
		"@pl.jit.incore\ndef f(n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[4], pl.INT32]]):\n    if n > 0:\n        k = 1\n    y[0] = k  # ERROR \"k is defined on one path only\"\n"},
	{Recursion, "recursion",
		"Functions call each other in a cycle. Kernels have no stack.",
		"@pl.jit.inline\ndef f(n: pl.Scalar[pl.INDEX]):\n    f(n)  # ERROR \"in a cycle: f -> f\"\n"},
	{UnknownKeyword, "unknown keyword argument",
		"What is called has no parameter of that name.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[1, 4], pl.FP32]):\n    t = pl.load(x, [0, 0], shap=[1, 4])  # ERROR \"pl.load has no parameter shap\"\n"},
	{MissingArgument, "missing argument",
		"A parameter without a default was not given.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[1, 4], pl.FP32]):\n    t = pl.load(x, [0, 0])  # ERROR \"pl.load needs shape\"\n"},
	{ArgumentCount, "wrong number of arguments",
		"More arguments were given than there are parameters.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[1, 4], pl.FP32]):\n    t = pl.exp(x, x)  # ERROR \"takes 1 arguments by position, got 2\"\n"},
	{RepeatedParameter, "argument given twice",
		"A parameter was given by position and by name.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[1, 4], pl.FP32]):\n    t = pl.exp(x, x=x)  # ERROR \"is given x twice\"\n"},
	{NotHere, "not here",
		"Something of PyPTO that belongs to one vendor's hardware or to its Python runtime. The message says why, and what to write.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[1, 4], pl.FP32]):\n    pl.system.syncall()  # ERROR \"pl.system.syncall is not here\"\n"},
	{NotYet, "not here yet",
		"Something of PyPTO that will come.",
		"@pl.jit.incore\ndef f(s: pld.DistributedTensor[[4, 1], pl.INT32]):\n    pld.system.defer_wait(s, [0, 0], 1)  # ERROR \"defer_wait is not here yet\"\n"},
	{NotCallable, "cannot be called",
		"Functions and ops can be called; values, types and statements cannot.",
		"N = 4\n@pl.jit.incore\ndef f(x: pl.Tensor[[1, 4], pl.FP32]):\n    y = N(x)  # ERROR \"the number 4 cannot be called\"\n"},
	{NoDecorator, "function without a decorator",
		"A decorator says where a function runs. Python code outside kernels belongs into a .py file, where it is skipped.",
		"def f(x: pl.Tensor[[1, 4], pl.FP32]):  # ERROR \"f has no decorator\"\n    pass\n"},
	{BadDecorator, "wrong decorator",
		"Functions are @pl.jit, @pl.jit.host, @pl.jit.incore, @pl.jit.inline, @pl.golden(of=...) or @pl.function(...) in a @pl.program class.",
		"@pl.jit.incor  # ERROR \"pl.jit.incor is not a decorator\"\ndef f(x: pl.Tensor[[1, 4], pl.FP32]):\n    pass\n"},
	{UnknownDefine, "-D or --set of an unknown name",
		"-D changes a constant of the module, --set gives a parameter of the factory that --entry names.",
		""},
	{BadDefine, "-D or --set with a wrong value",
		"The value is not a constant, or of another kind than what it replaces.",
		""},
	{UnknownEntry, "unknown entry",
		"--entry names a function or class of the file.",
		""},
	{NoKernels, "file without kernels",
		"Nothing in the file has a kernel decorator.",
		"N = 4  # ERROR \"defines no kernels\"\n"},
	{Unreachable, "unreachable code",
		"Every path before it returns, breaks or continues.",
		"@pl.jit.incore\ndef f(y: pl.Out[pl.Tensor[[4], pl.INT32]]):\n    y[0] = 1\n    return y\n    y[1] = 2  # WARNING \"never reached\"\n"},
}
