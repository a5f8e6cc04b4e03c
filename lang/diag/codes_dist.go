package diag

// E05xx: windows, signals, ranks.
const (
	BadWindow Code = 501
	BadAlloc  Code = 502
	BadDevice Code = 503
)

var distRows = []Row{
	{BadWindow, "window rule broken",
		"Signals, peers and collectives work on pld.DistributedTensor, which every rank has; a plain tensor belongs to one rank.",
		"@pl.jit.incore\ndef f(s: pl.Tensor[[4, 1], pl.INT32]):\n    pld.system.notify(s, 1, [0, 0], 1)  # ERROR \"must be a pld.DistributedTensor\"\n"},
	{BadAlloc, "misplaced or malformed window allocation",
		"Windows are allocated in host functions, by a simple assignment that names them, with positive extents.",
		"@pl.jit.host\ndef main(x: pl.Tensor[[4], pl.FP32]):\n    buf = pld.alloc_window_buffer([4])  # ERROR \"requires dtype=\"\n"},
	{BadDevice, "wrong device=",
		"device= names the rank that a host function dispatches to.",
		"@pl.jit.incore\ndef g(x: pl.Tensor[[4], pl.FP32]):\n    pass\n@pl.jit\ndef f(x: pl.Tensor[[4], pl.FP32]):\n    g(x, device=0)  # ERROR \"is only for calls of a host function\"\n"},
}
