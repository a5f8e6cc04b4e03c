package diag

// E04xx: shapes that do not fit.
const (
	RankMismatch  Code = 401
	ShapeMismatch Code = 402
	OutsideMemory Code = 403
	NotContiguous Code = 404
	Overlapping   Code = 405
)

var shapeRows = []Row{
	{RankMismatch, "wrong number of dimensions",
		"Offsets, shapes and subscripts have one entry per dimension.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[2, 4], pl.FP32]):\n    t = pl.load(x, [0], [2, 4])  # ERROR \"offsets must have 2 entries\"\n"},
	{ShapeMismatch, "shapes that do not fit",
		"Shapes are equal, or one of them has an extent of 1 that stretches.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[2, 4], pl.FP32], z: pl.Tensor[[2, 3], pl.FP32]):\n    t = x + z  # ERROR \"cannot combine shapes\"\n"},
	{OutsideMemory, "outside of the memory",
		"The access reaches past the end, or before the beginning. What depends on run-time values is checked when the program runs.",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[2, 4], pl.FP32]):\n    t = pl.load(x, [0, 2], [2, 4])  # ERROR \"reaches past the end\"\n"},
	{NotContiguous, "memory with gaps",
		"A function is given memory without gaps between its rows.",
		"@pl.jit.incore\ndef g(x: pl.Tensor[[2, 2], pl.FP32]):\n    pass\n@pl.jit\ndef f(x: pl.Tensor[[2, 4], pl.FP32]):\n    g(x[:, 0:2])  # ERROR \"must be contiguous\"\n"},
	{Overlapping, "overlapping arguments",
		"A kernel's parameters are different memory as soon as the kernel writes one of them. What depends on run-time values is checked when the program runs.",
		"@pl.jit.incore\ndef g(a: pl.Tensor[[4], pl.FP32], b: pl.Out[pl.Tensor[[4], pl.FP32]]):\n    b[:] = a * 2.0\n@pl.jit\ndef f(x: pl.InOut[pl.Tensor[[4], pl.FP32]]):\n    g(x, x)  # ERROR \"x is passed to both a and b of g\"\n"},
}
