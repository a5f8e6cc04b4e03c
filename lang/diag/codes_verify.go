package diag

import "strings"

// E06xx: signalling that can hang, race, or compute the wrong thing. The examples are reported by
// ptoc verify --ranks 2..3.
const (
	OutOfBounds        Code = 601
	NoSuchPeer         Code = 602
	RankDependent      Code = 603
	CollectiveMismatch Code = 604
	LostWait           Code = 605
	WaitCycle          Code = 606
	SetAndAdd          Code = 607
	EqualityWait       Code = 608
	CreditsLeft        Code = 609
	StaleSignal        Code = 610
	SharedCell         Code = 611
	DataRace           Code = 612
	DataAndSignal      Code = 613
	SignalBeforeData   Code = 614
	SyncChanged        Code = 615
	NotResident        Code = 616
	WrongValue         Code = 617
	Unwritten          Code = 618
	SeveralSetters     Code = 619
	CellAsData         Code = 620
	BlockRace          Code = 621
)

// The examples are bodies of one kernel, with a data window, a signal window, and the neighbour.
const (
	verifyStep = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(signal))
    n = pld.nranks(pld.get_comm_ctx(signal))
    right = (me + 1) % n
`
	verifyMain = `
@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], pld.window(data, [1, 8], dtype=pl.FP32), pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
`
)

var verifyRows = []Row{
	{OutOfBounds, "access outside of memory",
		"For one of the ranks and shapes that were checked, an op reads or writes outside of its tensor or window. When the program runs, the op stops it there.",
		verifyStep + `    for at in pl.range(0, 8, 5):
        pl.store(pl.load(x, [0, 0], [1, 5]), [0, at], y)  # ERROR "which has 8"
` + verifyMain},
	{NoSuchPeer, "peer that does not exist",
		"A peer number lies outside of [0, nranks). Ranks are counted within the domain of the window.",
		verifyStep + `    pld.notify(signal, me + 1, [0, 0], 1)  # ERROR "2 ranks? share|3 ranks share"
` + verifyMain},
	{RankDependent, "collective that only some ranks call",
		"A collective or barrier stands under a branch or in a loop that depends on the rank. All ranks of a domain must call the same collectives in the same order; the others would wait for ever.",
		verifyStep + `    if me == 0:
        pld.tensor.barrier(signal)  # ERROR "only where a condition on the rank holds"
` + verifyMain},
	{CollectiveMismatch, "ranks that call different collectives",
		"At one point of the program ranks of one domain call different collectives, or the same one with other operands.",
		`NR = pl.dynamic("NR")

@pl.jit.incore
def meet(signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]], data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]]):
    pld.tensor.barrier(signal)

@pl.jit.incore
def share(signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]], data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]]):
    pld.tensor.broadcast(data, signal, root=0)  # ERROR "where rank 0 calls"

@pl.jit.host
def main(y: pl.Tensor[[NR, 1], pl.FP32]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    meet(pld.window(signal, [NR, 1], dtype=pl.INT32), pld.window(data, [1, 8], dtype=pl.FP32), device=0)
    for r in pl.range(1, pld.world_size()):
        share(pld.window(signal, [NR, 1], dtype=pl.INT32), pld.window(data, [1, 8], dtype=pl.FP32), device=r)
`},
	{LostWait, "wait that nobody satisfies",
		"The notifies that can reach the cell never add up to what the wait expects, so the rank hangs here.",
		verifyStep + `    pld.wait(signal, [0, 0], 1)  # ERROR "no rank notifies it"
` + verifyMain},
	{WaitCycle, "ranks that wait for each other",
		"Each rank would notify the next one only after its own wait has returned. None ever does.",
		verifyStep + `    pld.wait(signal, [0, 0], 1)  # ERROR "waits for ever"
    pld.notify(signal, right, [0, 0], 1)
` + verifyMain},
	{SetAndAdd, "signal cell that is set and added to",
		"A set and an add on one cell with nothing to order them: whichever comes second wins, and a credit is lost or invented.",
		verifyStep + `    pld.notify(signal, right, [0, 0], 1)
    pld.wait(signal, [0, 0], 1)
    pld.notify(signal, right, [0, 0], 1)
    pld.notify(signal, me, [0, 0], 0, op=pld.NotifyOp.Set)  # ERROR "may be adding"
` + verifyMain},
	{EqualityWait, "wait for equality that can be missed",
		"The cell can pass the expected value before the waiting rank looks: more than one notify can have arrived by then. `Ge` does not mind.",
		verifyStep + `    pld.notify(signal, right, [0, 0], 1)
    pld.notify(signal, right, [0, 0], 1)
    pld.wait(signal, [0, 0], 1, cmp=pld.WaitCmp.Eq)  # ERROR "can reach 2"
    pld.wait(signal, [0, 0], 2, cmp=pld.WaitCmp.Ge)
` + verifyMain},
	{CreditsLeft, "signal cell that is not zero at the end",
		"More was added to a cell than was taken back. The next run on these windows, or the next protocol on this cell, starts with stale credits.",
		verifyStep + `    pld.notify(signal, right, [0, 0], 2)  # WARNING "holds 2"
    pld.wait(signal, [0, 0], 2)
` + verifyMain},
	{StaleSignal, "wait that an old signal satisfies",
		"A notify of an earlier round already satisfies the wait, so the wait orders nothing in this one. Signals that are used again must count up, or be taken back by what was added.",
		verifyStep + `    for k in pl.range(2):
        pld.notify(signal, right, [0, 0], 1)
        pld.wait(signal, [0, 0], 1)  # ERROR "holds already"
    pld.notify(signal, me, [0, 0], -2)
` + verifyMain},
	{SharedCell, "signal cell of two protocols",
		"Two places use one cell for different purposes with nothing between them, so that the credits of one satisfy the waits of the other.",
		verifyStep + `    pld.notify(signal, right, [0, 0], 1)
    pld.wait(signal, [0, 0], 1)
    pld.notify(signal, right, [0, 0], 1)
    pld.wait(signal, [0, 0], 1)  # ERROR "notifies of another wait"
    pld.notify(signal, me, [0, 0], -2)
` + verifyMain},
	{DataRace, "race on window memory",
		"Two ranks access the same bytes, one of them writes, and no notify and wait order the two accesses. The value that is read or left behind depends on chance.",
		verifyStep + `    pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], data)
    pl.store(pld.remote_load(data, right, [0, 0], [1, 8]), [0, 0], y)  # ERROR "may still be writing|may already be writing"
` + verifyMain},
	{DataAndSignal, "data and signals in one allocation",
		"A signal cell and data share a window allocation, so that storing data can change a signal.",
		`NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(signal))
    n = pld.nranks(pld.get_comm_ctx(signal))
    right = (me + 1) % n
    pld.put(data, right, x)  # ERROR "in the same allocation"
    pld.notify(signal, right, [0, 0], 1)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], pld.window(data, [1, 8], dtype=pl.FP32), pld.window(data, [NR, 1], dtype=pl.INT32), device=r)  # ERROR "E0719"
`},
	{SignalBeforeData, "signal before its data",
		"Data is written to a peer, and no notify follows that would release it; or the notify comes first. Who waits for the signal does not see the data.",
		verifyStep + `    pld.notify(signal, right, [0, 0], 0)
    pld.put(data, right, x)  # ERROR "after the last notify"
` + verifyMain},
	{SyncChanged, "pass that changed the synchronisation",
		"After a pass a program notifies, waits or fences otherwise than before. This is a fault of the compiler.",
		""},
	{NotResident, "wait for a block that cannot be running",
		"A block waits for a signal that another block of the same rank sends, and there are more such blocks than the rank has cores: the sender may never start. Blocks of pl.spmd are begun in order, so that one may wait for those before it; iterations of pl.parallel in any order, so that none may wait for another, nor two of two ranks each for one that comes after the other.",
		verifyStep + `    for b in pl.spmd(2):
        if b == 0:
            pld.wait(signal, [0, 0], 1)  # ERROR "block 1"
        else:
            pld.notify(signal, me, [0, 0], 1)
` + verifyMain},
	{WrongValue, "result that differs from its meaning",
		"With symbolic contributions in place of numbers, an element of the result is not what the collective, or the golden function, says.",
		verifyStep + `    pl.store(pl.load(x, [0, 0], [1, 8]) * 3.0, [0, 0], y)
` + strings.Replace(verifyMain, "pl.FP32]]):", "pl.FP32]]):  # ERROR \"not what it should be\"", 1) + `
@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = x[r] * 2.0
`},
	{Unwritten, "read of memory that nobody wrote",
		"An output, or scratch memory, is read before anybody has written it.",
		verifyStep + `    t = pl.load(y, [0, 0], [1, 8])  # ERROR "nobody has written"
    pl.store(t, [0, 0], y)
` + verifyMain},
	{SeveralSetters, "signal cell that several ranks set",
		"Two ranks, or two blocks of one, set one cell with nothing to order them: one of the two signals is lost.",
		verifyStep + `    pld.notify(signal, 0, [0, 0], me, op=pld.NotifyOp.Set)  # ERROR "may be setting"
` + verifyMain},
	{CellAsData, "signal cell accessed as data",
		"A cell that ranks notify is also stored to, or viewed with another element type. Cells are 32 bits wide and touched only by notify, wait and reads.",
		verifyStep + `    pl.write(signal, [0, 0], pl.const(0, pl.INT32))  # ERROR "stores to the signal cell"
    pld.notify(signal, right, [0, 0], 0)
` + verifyMain},
	{BlockRace, "race of blocks",
		"Two blocks of a pl.spmd loop, or two iterations of pl.parallel, access the same bytes, one of them writes, and no notify of one that the other waits for orders the two accesses. Blocks may run at once or in any order, whatever a backend does today, so that what is read or left behind depends on chance.",
		verifyStep + `    for b in pl.spmd(2):
        pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], y)  # ERROR "block 1 of rank 0 writes y.* while block 0 may be writing it"
` + verifyMain},
}
