package diag

// E07xx: files, command lines and programs that run.
const (
	FileUnreadable    Code = 701
	BadInput          Code = 702
	UnknownInput      Code = 703
	BadOption         Code = 704
	UnboundSymbol     Code = 705
	SymbolConflict    Code = 706
	NoEntry           Code = 707
	HostFault         Code = 708
	AccessOutside     Code = 710
	AccessOutsidePeer Code = 711
	PeerOutside       Code = 712
	CellOutside       Code = 713
	DivisionByZero    Code = 714
	ValueOutside      Code = 715
	ShapeAtRun        Code = 716
	WorldSizeWrong    Code = 717
	RankFault         Code = 718
	OverlapAtRun      Code = 719
	WaitForever       Code = 720
	KernelEndless     Code = 721
	RankCrashed       Code = 722
	RankDied          Code = 723
	ResultWrong       Code = 730
)

// What the examples below have around the line that matters.
const (
	exampleKernel = "@pl.jit.incore\n" +
		"def step(s: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]], k: pl.Scalar[pl.INDEX]):\n" +
		"    me = pld.rank(pld.get_comm_ctx(s))\n"
	exampleHost = "\n@pl.jit.host\n" +
		"def main():\n" +
		"    buf = pld.alloc_window_buffer([4, 1], dtype=pl.INT32)\n" +
		"    for r in pl.range(pld.world_size()):\n" +
		"        s = pld.window(buf, [4, 1], dtype=pl.INT32)\n" +
		"        step(s, r, device=r)\n"
)

var runtimeRows = []Row{
	{FileUnreadable, "file that cannot be read",
		"A file named on the command line does not exist or may not be read.", ""},
	{BadInput, "input that does not fit",
		"An input has another shape or element type than the parameter that it is for, or a scalar parameter, which has no " +
			"random value, is given none. The message says what is expected.", ""},
	{UnknownInput, "no such input or output",
		"--in, --out and --print name parameters of the function that is run.", ""},
	{BadOption, "option that means nothing here",
		"A value on the command line is out of its range, or does not go together with the program.", ""},
	{UnboundSymbol, "symbol without a value",
		"A pl.dynamic symbol gets its value from the shape of an input, from -D NAME=VALUE, or is the number of ranks where a loop over ranks indexes it.", ""},
	{SymbolConflict, "symbol with two values",
		"Two inputs, an input and -D, or an input and --ranks disagree on the value of a pl.dynamic symbol.", ""},
	{NoEntry, "nothing to run",
		"The file defines no function that can be run, or several and --entry does not say which.", ""},
	{HostFault, "host program that cannot go on",
		"A dispatch or allocation of the host function is impossible with the values that it has: a rank that does not exist, a window of other ranks, a shape that does not fit.",
		exampleKernel + exampleHost + "    step(pld.window(buf, [4, 1], dtype=pl.INT32), 0, device=2)  # ERROR \"device 2 does not exist\"\n"},
	{AccessOutside, "access outside of a tensor",
		"Offsets and extents are checked once per access. This one leaves its tensor or the rank's own window.",
		exampleKernel + "    pl.write(s, [k + 3, 0], pl.const(1, pl.INT32))  # ERROR \"rank 1 reaches past the end of dimension 0: offset 4\"\n" + exampleHost},
	{AccessOutsidePeer, "access outside of a peer's window",
		"A put, get, remote load or remote store leaves the window of the peer that it names.",
		exampleKernel + "    t = pld.tile.remote_load(s, peer=0, offsets=[k + 3, 0], shape=[1, 1])  # ERROR \"of rank 0's window\"\n    pl.store(t, [0, 0], s)\n" + exampleHost},
	{PeerOutside, "peer that does not exist",
		"Peers are ranks of the window's domain, from 0 to nranks - 1.",
		exampleKernel + "    pld.system.notify(s, me + 1, [0, 0], 1)  # ERROR \"names peer 2: the domain has ranks 0 to 1\"\n" + exampleHost},
	{CellOutside, "signal cell that does not exist",
		"The position of a notify or wait is outside of its signal window.",
		exampleKernel + "    pld.system.notify(s, me, [k + 3, 0], 1)  # ERROR \"signal cell 4 in dimension 0, which has 4\"\n" + exampleHost},
	{DivisionByZero, "integer division by zero",
		"// and % by zero have no result.",
		exampleKernel + "    pld.system.notify(s, me, [0, 0], 4 // k)  # ERROR \"divides 4 by zero\"\n" + exampleHost},
	{ValueOutside, "value out of range",
		"A value is outside of what the op takes: a shift count, a step of zero, a signal value beyond 32 bits.",
		exampleKernel + "    for i in pl.range(0, 4, k):  # ERROR \"step of 0\"\n        pld.system.notify(s, me, [i, 0], 1)\n" + exampleHost},
	{ShapeAtRun, "extents that turn out not to fit",
		"Two extents that must agree are different with the values that the program has.", ""},
	{WorldSizeWrong, "program for another number of ranks",
		"The kernel was made for a number of ranks that its domain does not have.", ""},
	{RankFault, "rank that failed",
		"A kernel stopped for the reason that the message gives.", ""},
	{OverlapAtRun, "arguments that turn out to overlap",
		"A kernel's parameters are different memory as soon as the kernel writes one of them. With the offsets of this run, two of them overlap.",
		"@pl.jit.incore\n" +
			"def add(a: pl.Tensor[[2], pl.FP32], b: pl.Out[pl.Tensor[[2], pl.FP32]]):\n" +
			"    b[:] = a + 1.0\n" +
			"\n@pl.jit.host\n" +
			"def main(x: pl.InOut[pl.Tensor[[4, 2], pl.FP32]]):\n" +
			"    for r in pl.range(pld.world_size()):\n" +
			"        add(x[r], x[1], device=r)  # ERROR \"a and b of add overlap\"\n"},
	{WaitForever, "wait that never ends",
		"A rank waits for a signal that does not come. The report says what it sees in its cell, which notifies could have changed it, and what every other rank is doing.",
		exampleKernel + "    pld.system.wait(s, [0, 0], 1)  # ERROR \"rank 0 waits for ever.*s\\[0, 0\\] is 0, expected >= 1\"\n" + exampleHost},
	{KernelEndless, "kernel that never ends",
		"A rank runs a kernel without reaching its end or a wait that is satisfied, for longer than --timeout.", ""},
	{RankCrashed, "kernel that crashed",
		"The processor stopped a kernel: it touched memory that is not there, or did something else that is impossible. Kernels check what they access, so this is a fault of the compiler.", ""},
	{RankDied, "rank whose process ended",
		"With --workers=process every rank is a process. One was killed or ended by itself; the others were stopped.", ""},
	{ResultWrong, "result that differs from its specification",
		"--check found an output that is not what the golden function computes, beyond the tolerance of its element type.", ""},
}
