package diag

// E055x: rules of windows and collectives that only the passes can check, because they need the whole
// program: which ranks share an allocation, and what a view views.
const (
	WindowUnused      Code = 550
	WindowInBranch    Code = 551
	DispatchDevice    Code = 552
	CollectiveUnbound Code = 553
	CollectiveAliased Code = 554
	CollectiveDomains Code = 555
	CollectiveStrided Code = 556
	CollectiveRoot    Code = 557
	SignalMissing     Code = 558
	SignalShape       Code = 559
	CoreNum           Code = 560
)

// kernelExample is a kernel on two windows; hostExample dispatches it.
const (
	kernelExample = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(a: pl.InOut[pld.DistributedTensor[[NR, 64], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    pld.tensor.reduce_scatter(a, s)

@pl.jit.host
def main():
    n = pld.world_size()
    buf = pld.alloc_window_buffer([n, 64], dtype=pl.FP32)
    sig = pld.alloc_window_buffer([n, 1], dtype=pl.INT32)
    a = pld.window(buf, [n, 64], dtype=pl.FP32)
    s = pld.window(sig, [n, 1], dtype=pl.INT32)
`
	dispatchExample = `    for r in pl.range(n):
        step(a, s, device=r)
`
)

var distPassRows = []Row{
	{WindowUnused, "window allocation that no rank uses",
		"Which ranks share an allocation follows from where its windows are dispatched to. One that is dispatched nowhere belongs to nobody; most likely a call was forgotten.",
		kernelExample + dispatchExample + "    rest = pld.alloc_window_buffer([64], dtype=pl.FP32)  # ERROR \"has no pld.window\"\n"},
	{WindowInBranch, "window allocation inside a loop or branch",
		"Windows are symmetric: every rank makes the same allocations in the same order, once, before the program's work begins.",
		kernelExample + dispatchExample + `    for i in pl.range(2):
        more = pld.alloc_window_buffer([n, 64], dtype=pl.FP32)  # ERROR "inside a loop or branch"
        step(pld.window(more, [n, 64], dtype=pl.FP32), s, device=0)
`},
	{DispatchDevice, "dispatch to ranks that cannot be told",
		"The ranks that share a window are those that it is dispatched to, so device= must be a constant, or the counter of a loop over constants or over the world size.",
		kernelExample + dispatchExample + "    step(a, s, device=n - 1)  # ERROR \"device= must be a constant or the counter\"\n"},
	{CollectiveUnbound, "host collective on something that is not a window",
		"A collective of the host runs on every rank of a domain, so its operands must exist on every rank: windows of allocations of this function.",
		kernelExample + dispatchExample + `    x = pl.create_tensor([1, 64], dtype=pl.FP32)
    pld.tensor.allgather(x, a, s)  # ERROR "local_data must be a window"
`},
	{CollectiveAliased, "operands of a collective that share memory",
		"A collective writes its signal and its target while others still read its input. Views of one allocation would be overwritten.",
		kernelExample + dispatchExample + "    pld.tensor.allreduce(pld.window(sig, [n, 1], dtype=pl.INT32), s)  # ERROR \"must be different window allocations\"\n"},
	{CollectiveDomains, "operands of a collective in different domains",
		"All operands of a collective must be shared by the same ranks: ranks are counted per domain.", ""},
	{CollectiveStrided, "strided view as an operand of a collective",
		"Collectives move contiguous memory. A view that takes a part of its inner dimensions is not.",
		`NR = pl.dynamic("NR")

@pl.jit.incore
def step(a: pl.InOut[pld.DistributedTensor[[NR, 64], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    pld.tensor.allreduce(a[:, 0:32], s)  # ERROR "must be contiguous"
`},
	{CollectiveRoot, "root outside the domain",
		"The root of a broadcast is a rank of the domain that shares the window.",
		`@pl.jit.incore
def step(a: pl.InOut[pld.DistributedTensor[[1, 64], pl.FP32]]):
    pl.store(pl.load(a, [0, 0], [1, 64]), [0, 0], a)

@pl.jit.host
def main():
    buf = pld.alloc_window_buffer([1, 64], dtype=pl.FP32)
    sig = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    a = pld.window(buf, [1, 64], dtype=pl.FP32)
    for r in pl.range(2):
        step(a, device=r)
    pld.tensor.broadcast(a, pld.window(sig, [2, 1], dtype=pl.INT32), root=2)  # ERROR "root must be in"
`},
	{SignalMissing, "collective without a signal inside a kernel",
		"The ranks of a collective find each other through signal cells. A host allreduce gets its own; inside a kernel, where nothing can be allocated for all ranks, the caller passes them.",
		`@pl.jit.incore
def step(a: pl.InOut[pld.DistributedTensor[[1, 64], pl.FP32]]):
    pld.tensor.allreduce(a)  # ERROR "needs a signal inside a kernel"
`},
	{SignalShape, "signal of the wrong shape",
		"A collective uses one INT32 cell per rank, in a window of shape [ranks, 1]; the ring one of shape [2 * (ranks - 1), ranks].",
		`NR = pl.dynamic("NR")

@pl.jit.incore
def step(a: pl.InOut[pld.DistributedTensor[[1, 64], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[NR, 2, 2], pl.INT32]]):
    pld.tensor.allreduce(a, s)  # ERROR "signal must have shape"
`},
	{CoreNum, "core_num inside a kernel",
		"A kernel runs on one core. Only the host can spread a collective over several.",
		`NR = pl.dynamic("NR")

@pl.jit.incore
def step(a: pl.InOut[pld.DistributedTensor[[1, 64], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    pld.tensor.allreduce(a, s, core_num=2)  # ERROR "core_num must be 1 inside a kernel"
`},
}
