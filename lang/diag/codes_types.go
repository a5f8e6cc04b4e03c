package diag

// E03xx: values of the wrong kind.
const (
	WrongKind          Code = 301
	WrongDType         Code = 302
	NotBool            Code = 303
	LoopBound          Code = 304
	MissingAnnotation  Code = 305
	BadAnnotation      Code = 306
	NotConstant        Code = 307
	WrongPlace         Code = 308
	BadReturn          Code = 309
	CarriedType        Code = 310
	BranchType         Code = 311
	MemoryRebound      Code = 312
	BadValue           Code = 313
	UnusedResult       Code = 314
	OutputNotWritten   Code = 315
	InputWritten       Code = 316
	BadUnpack          Code = 317
	ConstantArithmetic Code = 318
	StaticAssert       Code = 319
	StaticPrint        Code = 320
	BadCall            Code = 321
	BadConstArg        Code = 322
	MisplacedYield     Code = 323
	BadBreak           Code = 324
	NoValue            Code = 325
)

var typeRows = []Row{
	{WrongKind, "wrong kind of value",
		"A tile where a tensor is needed, a list where a number is needed, and the like.",
		"@pl.jit.incore\ndef f(n: pl.Scalar[pl.INDEX]):\n    t = pl.load(n, [0], [4])  # ERROR \"tensor must be a tensor, got pl.Scalar\"\n"},
	{WrongDType, "wrong element type",
		"Operands have one element type; pl.cast converts.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[1, 4], pl.FP32], y: pl.Tensor[[1, 4], pl.FP16]):\n    t = x + y  # ERROR \"needs operands of one element type, got FP32 and FP16\"\n"},
	{NotBool, "condition that is not BOOL",
		"Conditions and the operands of and, or, not are BOOL: a number is compared with 0.",
		"@pl.jit.incore\ndef f(n: pl.Scalar[pl.INDEX]):\n    if n:  # ERROR \"a condition must be BOOL\"\n        pass\n"},
	{LoopBound, "wrong loop bound",
		"Loops count integers; pl.unroll needs constants, and at most 1024 iterations.",
		"@pl.jit.incore\ndef f(x: pl.Scalar[pl.FP32]):\n    for i in pl.range(x):  # ERROR \"counts integers\"\n        pass\n"},
	{MissingAnnotation, "parameter without annotation",
		"Types are not inferred across functions.",
		"@pl.jit.incore\ndef f(x):  # ERROR \"parameter x of f has no annotation\"\n    pass\n"},
	{BadAnnotation, "not a type",
		"Annotations are pl.Tensor[[dims], dtype], pld.DistributedTensor, pl.Tile, pl.Scalar[dtype], pl.Array[n, dtype] or pld.CommCtx, in pl.Out or pl.InOut where memory is written.",
		"@pl.jit.incore\ndef f(x: int):  # ERROR \"is not a type\"\n    pass\n"},
	{NotConstant, "not a constant",
		"Here only what is known while compiling can stand.",
		"@pl.jit.incore\ndef f(n: pl.Scalar[pl.INDEX]):\n    pl.static_assert(n > 0)  # ERROR \"known while compiling\"\n"},
	{WrongPlace, "op in the wrong kind of function",
		"The op table says where each op is possible: hosts allocate and dispatch, kernels compute and signal.",
		"@pl.jit.host\ndef main(x: pl.Tensor[[4], pl.FP32], y: pl.Out[pl.Tensor[[4], pl.FP32]]):\n    y[:] = x  # ERROR \"not possible in a host function\"\n"},
	{BadReturn, "wrong return",
		"Functions that are called return parameters, that is memory that they were given. Inline functions return values too.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[1, 4], pl.FP32]):\n    return pl.exp(x)  # ERROR \"returns parameters that it wrote\"\n"},
	{CarriedType, "type that changes while a loop runs",
		"A name that one iteration hands to the next keeps its type.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[8, 4], pl.FP32], y: pl.Out[pl.Tensor[[8, 8], pl.FP32]]):\n    t = pl.load(x, [0, 0], [1, 4])\n    for i in pl.range(2):\n        t = pl.concat(t, t)  # ERROR \"at the end of an iteration\"\n    y[0:1, 0:4] = t\n"},
	{BranchType, "branches that disagree",
		"What two arms of a branch result in has one type.",
		"@pl.jit.incore\ndef f(n: pl.Scalar[pl.INDEX], a: pl.Tensor[[4], pl.FP32], b: pl.Tensor[[4], pl.FP32]):\n    t = a if n > 0 else b  # ERROR \"different memory in the two arms\"\n"},
	{MemoryRebound, "memory that changes while a loop runs",
		"Names of memory cannot be carried from one iteration to the next: every name means one tensor.",
		"@pl.jit.incore\ndef f(a: pl.Tensor[[4], pl.FP32], b: pl.InOut[pl.Tensor[[4], pl.FP32]]):\n    s = a\n    for i in pl.range(4):\n        b[i] = s[i] + 1.0\n        s = b  # ERROR \"different memory from one iteration to the next\"\n"},
	{BadValue, "value out of its range",
		"A constant that the op does not take.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[2, 4], pl.FP32]):\n    t = pl.sum(x, axis=2)  # ERROR \"axis must be in\"\n"},
	{UnusedResult, "result that nobody uses",
		"The expression only computes a value, and nothing takes it.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[2, 4], pl.FP32]):\n    x + x  # ERROR \"the result of this is not used\"\n"},
	{OutputNotWritten, "output that is never written",
		"Assigning to the name of an output rebinds the name. `y[:] = ...` or pl.store writes.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[2, 4], pl.FP32], y: pl.Out[pl.Tensor[[2, 4], pl.FP32]]):\n    y = x + x  # ERROR \"the output is never written\"\n"},
	{InputWritten, "input that is written",
		"A parameter without pl.Out or pl.InOut is only read: callers and the order of dispatches rely on it.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[2, 4], pl.FP32]):\n    x[0, 0] = 1.0  # ERROR \"x is an input\"\n"},
	{BadUnpack, "wrong number of names",
		"A tuple is unpacked into as many names as it has elements.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[2, 4], pl.FP32]):\n    a, b = 1, 2, 3  # ERROR \"2 names for 3 values\"\n"},
	{ConstantArithmetic, "constant that cannot be computed",
		"A division by zero, or a result that does not fit 64 bits.",
		"N = 4 // 0  # ERROR \"division by zero\"\n@pl.jit.incore\ndef f():\n    pass\n"},
	{StaticAssert, "static assertion",
		"pl.static_assert found its condition false.",
		"N = 4\n@pl.jit.incore\ndef f():\n    pl.static_assert(N % 8 == 0, \"N must be a multiple of 8\")  # ERROR \"N must be a multiple of 8\"\n"},
	{StaticPrint, "static print",
		"What pl.static_print shows.",
		"N = 4\n@pl.jit.incore\ndef f():\n    pl.static_print(\"N is\", N)  # WARNING \"N is 4\"\n"},
	{BadCall, "call of the wrong kind of function",
		"Hosts dispatch to chip and incore functions, chip functions call incore ones, everybody inlines inline ones.",
		"@pl.jit.host\ndef main(x: pl.Tensor[[4], pl.FP32]):\n    pass\n@pl.jit.incore\ndef f(x: pl.Tensor[[4], pl.FP32]):\n    main(x)  # ERROR \"an incore function cannot call main\"\n"},
	{BadConstArg, "compile-time argument that is not constant",
		"The parameter is annotated pl.Const: its value decides what is compiled.",
		"@pl.jit.inline\ndef g(n: pl.Const[int]):\n    pl.static_assert(n > 0)\n@pl.jit.incore\ndef f(n: pl.Scalar[pl.INDEX]):\n    g(n)  # ERROR \"must be a compile-time int\"\n"},
	{MisplacedYield, "misplaced pl.yield_",
		"pl.yield_ is the last statement of the body of a loop with init_values, or of both arms of an if.",
		"@pl.jit.incore\ndef f(n: pl.Scalar[pl.INDEX]):\n    m = pl.yield_(n)  # ERROR \"pl.yield_ stands in\"\n"},
	{BadBreak, "break out of a loop that cannot stop",
		"The iterations of pl.parallel and pl.spmd may run in any order or at once, those of pl.unroll and pl.pipeline are laid out before they run: none can keep the next from running.",
		"@pl.jit.incore\ndef f(n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[8], pl.INDEX]]):\n    for i in pl.parallel(8):  # ERROR \"may run in any order\"\n        if i == n:\n            break\n        y[i] = i\n"},
	{NoValue, "nothing where a value is needed",
		"The op or function gives no value.",
		"@pl.jit.incore\ndef f():\n    x = pl.system.fence()  # ERROR \"x is given nothing\"\n"},
}
