package diag

// Rules of the language that only passes can check: after inlining and constant folding.
const (
	InlineRecursion Code = 390
	InlineMismatch  Code = 391
	UnrollCount     Code = 392
	UnrollLimit     Code = 393
	ConstantMisfit  Code = 394
	ScratchSize     Code = 395
)

var passRows = []Row{
	{InlineRecursion, "recursive inline function",
		"An inline function may not call itself, directly or through others: its body is put in place of every call, which would never end.", ""},
	{InlineMismatch, "inline function does not fit its arguments",
		"With the shapes and types of these arguments an op inside the inline function is no longer legal, for example a shape that must be known before the kernel runs.", ""},
	{UnrollCount, "pl.unroll count is not constant",
		"A pl.unroll loop is written out at compile time, so start, stop and step must be constants. Use pl.range otherwise.", ""},
	{UnrollLimit, "pl.unroll repeats too often",
		"A pl.unroll loop is written out at compile time, at most 1024 times. Use pl.range for more.", ""},
	{ConstantMisfit, "constants make an op illegal",
		"After unrolling and constant folding an op has constant operands that it may not have, for example an offset past the end of a tensor.", ""},
	{ScratchSize, "size of scratch memory depends on a run-time value",
		"The memory of a tensor that a kernel creates is set aside before the kernel starts, so its size may depend on dims and scalar parameters, but not on what the kernel computes. Create it as large as it can get and use a slice of it.", ""},
}
