package diag

// Rules of the language that only passes can check: after inlining and constant folding.
const (
	InlineMismatch Code = 391
	ConstantMisfit Code = 394
	ScratchSize    Code = 395
	NotInKernel    Code = 396
	InlineGrowth   Code = 397
)

var passRows = []Row{
	{InlineMismatch, "inline function does not fit its arguments",
		"With the shapes and types of these arguments an op inside the inline function is no longer legal, for example a shape that must be known before the kernel runs.", ""},
	{ConstantMisfit, "constants make an op illegal",
		"After unrolling and constant folding an op has constant operands that it may not have, for example an offset past the end of a tensor.", ""},
	{ScratchSize, "size of scratch memory depends on a run-time value",
		"The memory of a tensor that a kernel creates is set aside before the kernel starts, so its size may depend on dims and scalar parameters, but not on what the kernel computes. Create it as large as it can get and use a slice of it.", ""},
	{InlineGrowth, "inline functions write out too much",
		"Every call of an inline function is a copy of its body. Functions that call each other several times multiply.", ""},
	{NotInKernel, "not possible in a compiled kernel",
		"The backend cannot compile this op as it stands, for example because it reshapes a view with gaps. The message says what to write instead.", ""},
}
