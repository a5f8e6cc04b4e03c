// Package sim is the reference interpreter: it runs the IR, before or after any pass, on any number
// of simulated ranks. Every rank is a coroutine; exactly one runs at a time, and they change hands
// only where ranks can affect each other. Which rank goes on is a Scheduler's decision, what it sees
// of the others' writes a Memory's: one program, scheduler and memory give one run, every time.
package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/failure"
	"ptoc/runtime/interp"
	"ptoc/runtime/tensor"
)

// Config of a Machine; Ranks must be set.
type Config struct {
	Ranks     int
	Scheduler Scheduler     // default: RoundRobin
	Memory    Memory        // default: Sequential
	Timeout   time.Duration // without progress of any rank; 0: none
	StepLimit int64         // loop iterations and communication ops of one Run; 0: none
	Exact     bool          // floats are float64 and never rounded; for golden functions
	World     int64         // what pld.world_size gives; default: Ranks
	Hooks     Hooks
}

// Hooks let a checker watch and steer a run. Each may be nil.
type Hooks struct {
	// Point reports whether other ranks may run before this step.
	Point func(Point) bool
	// Stuck is asked when every rank that is left waits.
	Stuck func(waiting []Blocked) Resume
	// Kernel is told when a rank begins and ends a kernel.
	Kernel func(device int, f *ir.Func, ends bool)
	// Call is told when a kernel enters and leaves a function that it calls.
	Call func(device int, op *ir.Op, leaves bool)
	// Block is told when a block begins, and with over that it was its loop's last one and has ended.
	Block func(device int, b *Block, over bool)
}

// Point is what a rank is about to do that others may see: an access to a window, a notify, or a wait.
type Point struct {
	Device int
	Op     *ir.Op
	Mem    *Alloc // accesses
	Cell   Cell   // notifies and waits
	Value  int32
	Set    bool
	Eq     bool
}

// Blocked is a rank at a wait that is not satisfied.
type Blocked struct {
	Device int
	Op     *ir.Op
	Cell   Cell
	Want   int32
	Eq     bool
}

// Resume is how a run goes on when all ranks wait.
type Resume uint8

const (
	Fail   Resume = iota // it is a deadlock
	Retry                // something has arrived: look again
	Ignore               // waits return at once from now on
)

// Machine is a set of ranks and their memory.
type Machine struct {
	cfg      Config
	compiler *interp.Compiler

	heap    []*Alloc
	windows [][]*Alloc // [device], by offset
	domains [][]int
	nextWin int64

	ranks []*rank
	steps int64
	since time.Time // the last progress
	ctx   context.Context
	local int // allocations of kernels, for ids

	ignoring bool // waits return at once
}

// New makes a machine.
func New(cfg Config) (*Machine, error) {
	if cfg.Ranks < 1 || cfg.Ranks > abi.MaxRanks {
		return nil, fmt.Errorf("%d ranks: must be between 1 and %d", cfg.Ranks, abi.MaxRanks)
	}
	if cfg.Scheduler == nil {
		cfg.Scheduler = RoundRobin{}
	}
	if cfg.Memory == nil {
		cfg.Memory = Sequential{}
	}
	m := &Machine{cfg: cfg, windows: make([][]*Alloc, cfg.Ranks)}
	m.compiler = &interp.Compiler{Table: deviceTable, Exact: cfg.Exact}
	for d := range cfg.Ranks {
		m.ranks = append(m.ranks, &rank{m: m, device: d})
	}
	return m, nil
}

// Ranks is the number of ranks.
func (m *Machine) Ranks() int { return m.cfg.Ranks }

// Compile prepares a chip, incore or golden function.
func (m *Machine) Compile(f *ir.Func) (*interp.Code, error) { return m.compiler.Compile(f) }

// heapShift splits a heap address into the allocation and the offset in it.
const heapShift = 40

// AddHeap makes memory of the host known to the ranks, under the address that it returns.
func (m *Machine) AddHeap(name string, data []byte) int64 {
	m.heap = append(m.heap, &Alloc{ID: len(m.heap), Name: name, Device: -1, Data: data})
	return int64(len(m.heap)-1) << heapShift
}

// DropHeap forgets memory of the host.
func (m *Machine) DropHeap(addr int64) { m.heap[addr>>heapShift].Data = nil }

// Domain returns the id of an ordered set of devices that share windows.
func (m *Machine) Domain(devices []int) (int, error) {
	for i, d := range m.domains {
		if slices.Equal(d, devices) {
			return i, nil
		}
	}
	for i, d := range devices {
		if d < 0 || d >= m.cfg.Ranks || slices.Contains(devices[:i], d) {
			return 0, fmt.Errorf("domain %v: devices must differ and be below %d", devices, m.cfg.Ranks)
		}
	}
	m.domains = append(m.domains, slices.Clone(devices))
	return len(m.domains) - 1, nil
}

// MaxAlloc bounds one tensor or window: 64 GiB.
const MaxAlloc = 1 << 36

// AllocWindow makes zeroed memory at the same offset of every rank's window segment.
func (m *Machine) AllocWindow(name string, bytes int64) (int64, error) {
	if bytes < 0 || bytes > MaxAlloc {
		return 0, fmt.Errorf("a window of %d bytes: the simulator takes %d", bytes, int64(MaxAlloc))
	}
	if !tensor.Room(bytes) {
		return 0, fmt.Errorf("a window of %d bytes: there is no memory for it", bytes)
	}
	off := m.nextWin
	m.nextWin += (max(bytes, 1) + abi.CacheLine - 1) / abi.CacheLine * abi.CacheLine
	for d := range m.windows {
		id := len(m.windows[d])
		m.windows[d] = append(m.windows[d], &Alloc{ID: id, Name: name, Device: d, Window: true, Offset: off, Data: make([]byte, bytes)})
	}
	return off, nil
}

// ResetWindows frees all windows.
func (m *Machine) ResetWindows() {
	for d := range m.windows {
		m.windows[d] = nil
	}
	m.nextWin = 0
}

// Window returns bytes of a rank's window segment; they must lie in one window.
func (m *Machine) Window(device int, offset, bytes int64) []byte {
	w := m.windowAt(device, offset)
	if w == nil || offset-w.Offset+bytes > int64(len(w.Data)) {
		return nil
	}
	return w.Data[offset-w.Offset:][:bytes]
}

func (m *Machine) windowAt(device int, offset int64) *Alloc {
	ws := m.windows[device]
	i, found := slices.BinarySearchFunc(ws, offset, func(w *Alloc, at int64) int { return int(w.Offset - at) })
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return ws[i]
}

// Submit queues a kernel on a rank: its arguments as the kernel ABI has them, then a value for each
// of code.Syms.
func (m *Machine) Submit(device int, code *interp.Code, args []abi.Arg) error {
	if device < 0 || device >= m.cfg.Ranks {
		return fmt.Errorf("rank %d of %d", device, m.cfg.Ranks)
	}
	r := m.ranks[device]
	r.queue = append(r.queue, command{code, slices.Clone(args)})
	r.submitted++
	return nil
}

// Run runs the ranks until all their queues are empty. The error is a *failure.Failure, or ctx's.
func (m *Machine) Run(ctx context.Context) error {
	m.ctx, m.steps, m.since, m.ignoring = ctx, 0, time.Now(), false
	for _, r := range m.ranks {
		r.start()
	}
	defer func() {
		for _, r := range m.ranks {
			r.end()
		}
	}()
	for current := -1; ; {
		runnable, waiting := m.runnable()
		if len(runnable) == 0 {
			if waiting && m.unstick() {
				continue
			}
			if waiting {
				return m.failure(failure.Deadlock, -1)
			}
			return nil
		}
		next := m.cfg.Scheduler.Pick(runnable, current)
		if next == Again {
			continue
		}
		if next == Halt {
			return ErrHalted
		}
		current = next
		if err := m.ranks[current].resume(); err != nil {
			return m.stopped(current, err)
		}
	}
}

func (m *Machine) runnable() (ranks []int, waiting bool) {
	for _, r := range m.ranks {
		switch {
		case r.finished:
		case r.wait == nil || m.ignoring || r.wait.satisfied(m.cfg.Memory):
			ranks = append(ranks, r.device)
		default:
			waiting = true
		}
	}
	return ranks, waiting
}

// unstick asks whether a run in which all ranks wait may go on.
func (m *Machine) unstick() bool {
	if m.cfg.Hooks.Stuck == nil {
		return false
	}
	var bs []Blocked
	for _, r := range m.ranks {
		if w := r.wait; w != nil {
			bs = append(bs, w.blocked(r.device))
		}
	}
	how := m.cfg.Hooks.Stuck(bs)
	m.ignoring = how == Ignore
	return how != Fail
}

// stopped turns what a rank stopped with into what the caller gets.
func (m *Machine) stopped(device int, err error) error {
	r := m.ranks[device]
	switch e := err.(type) {
	case *interp.Fault:
		r.fault = e
		return m.failure(failure.Fault, device)
	case stuck:
		r.at = e.loop
		return m.failure(failure.Timeout, device)
	}
	if m.ctx.Err() != nil {
		return m.ctx.Err()
	}
	return err
}

// stuck is a rank that loops for ever.
type stuck struct{ loop *ir.Op }

func (stuck) Error() string { return "the step limit is reached" }

// limit stops what runs for too long; op is where.
func (m *Machine) limit(op *ir.Op) {
	m.steps++
	if m.cfg.StepLimit > 0 && m.steps > m.cfg.StepLimit {
		interp.Stop(stuck{op})
	}
	if m.steps&0x3f != 0 {
		return
	}
	if err := m.ctx.Err(); err != nil {
		interp.Stop(err)
	}
	if m.cfg.Timeout > 0 && time.Since(m.since) > m.cfg.Timeout {
		interp.Stop(stuck{op})
	}
}
