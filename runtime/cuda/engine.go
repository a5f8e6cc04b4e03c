package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"ptoc/codegen/abi"
	"ptoc/runtime/failure"
)

// Config says what an engine runs. Driver, Ranks and Kernels must be set.
type Config struct {
	Driver  Driver
	Ranks   int
	PTX     string // of all kernels; "" if there are none
	Arch    string // the oldest architecture that takes it: "sm_80"; "": every one that we know
	Kernels []Kernel
	Sites   []Site // what faults number

	// Timeout is how long the ranks may go without progress; 0: for ever. Grace is how long they may then
	// take to leave their kernels; 0: 2 s.
	Timeout time.Duration
	Grace   time.Duration

	// Share is set where other processes run some of the ranks.
	Share *Share
}

// Share says which ranks this process runs and how it meets the processes that run the others. All are
// given the same windows and domains and wait as often, so they come to the same exchanges.
type Share struct {
	Local []int
	// Exchange gives all processes this one's window segments by rank, and returns everybody's, when
	// everybody has called it. Without new segments it only lets the processes meet.
	Exchange func(mine map[int]IPCHandle) (all map[int]IPCHandle, err error)
	// Progress, if set, is told how far the ranks here have come, each time that they are looked at. Who is told
	// knows of the ranks elsewhere too: whether they hang is then not judged here.
	Progress func(int64)
}

// Kernel is an entry of the PTX and what its launches need.
type Kernel struct {
	Name    string // of the function in the program
	Symbol  string // in the PTX
	Threads int    // of a block
	Shared  int    // bytes of dynamic shared memory
	Writes  []bool // by argument slot: a tensor that the kernel may write
	Adds    bool   // to tensors, atomically: other ranks may add to the same elements
	// Demand is what a call with these arguments wants; nil: one block and no scratch in global memory.
	Demand func(args []int64) (Demand, error)
}

// Demand is what a rank's call of a kernel wants of its GPU.
type Demand struct {
	Blocks int64 // that it can use; one is enough
	Arena  int64 // bytes of global scratch for each
	Common int64 // and for all of them together
}

// Site is an op that may fail.
type Site struct {
	failure.Place
	Kernel string
}

// Engine is a set of ranks on GPUs. It is not for several goroutines at once.
type Engine struct {
	cfg    Config
	clock  Clock
	groups []*group // the GPUs in use
	home   []*group // of each rank; nil: another process
	abort  HostMemory
	pulse  uint32 // counts looks

	queue     [][]command // by rank
	elsewhere bool        // other processes' ranks have work
	submitted []int64     // by rank
	completed []int64

	heap    heap
	windows windows
	elapsed time.Duration
	broken  error // the GPU does not work any more
	stuck   bool  // because of a kernel that does not end
}

// command is a kernel that a rank was given.
type command struct {
	kernel int
	args   []abi.Arg
}

// group is a GPU with the ranks that run on it.
type group struct {
	dev        Device
	ranks      []int
	main, look Stream
	own        []Stream // one a rank, where ranks run different kernels
	functions  []Function
	occupancy  []int // blocks on one multiprocessor, by kernel

	control    Ptr        // a RankCtl for each rank
	seen       HostMemory // what they were when the host looked last
	looked     Event
	ready      Event
	start, end Event

	stage  staging // records and arguments of a flush
	tables staging // domains
	arenas []scratch
	events []Event // of steps
}

// scratch is memory of the GPU that grows.
type scratch struct {
	at   Ptr
	size int64
}

const controlBytes = int64(unsafe.Sizeof(abi.RankCtl{}))

// Open makes ranks. The error wraps ErrNoGPU if there is nothing to run them on.
func Open(cfg Config) (*Engine, error) {
	if cfg.Ranks < 1 || cfg.Ranks > abi.MaxRanks {
		return nil, fmt.Errorf("%d ranks: an engine has 1 to %d", cfg.Ranks, abi.MaxRanks)
	}
	if cfg.Grace == 0 {
		cfg.Grace = 2 * time.Second
	}
	e := &Engine{cfg: cfg, queue: make([][]command, cfg.Ranks), submitted: make([]int64, cfg.Ranks), completed: make([]int64, cfg.Ranks)}
	if c, ok := cfg.Driver.(Clock); ok {
		e.clock = c
	} else {
		e.clock = wallClock{}
	}
	e.windows.segments = make([]scratch, cfg.Ranks)
	if err := e.place(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	for _, g := range e.groups {
		if err := g.prepare(&cfg); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	var err error
	if e.abort, err = e.groups[0].dev.MallocHost(64); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

type wallClock struct{}

func (wallClock) Now() time.Time        { return time.Now() }
func (wallClock) Sleep(d time.Duration) { time.Sleep(d) }

// prepare makes what a group keeps: streams, events, control blocks, kernels.
func (g *group) prepare(cfg *Config) (err error) {
	for _, s := range []*Stream{&g.main, &g.look} {
		if *s, err = g.dev.NewStream(); err != nil {
			return err
		}
	}
	for _, ev := range []*Event{&g.looked, &g.ready, &g.start, &g.end} {
		if *ev, err = g.dev.NewEvent(); err != nil {
			return err
		}
	}
	n := controlBytes * int64(len(g.ranks))
	if g.control, err = g.dev.Malloc(n); err != nil {
		return err
	}
	if g.seen, err = g.dev.MallocHost(n); err != nil {
		return err
	}
	g.arenas = make([]scratch, len(g.ranks))
	if err := g.forgive(); err != nil || cfg.PTX == "" {
		return err
	}
	return g.load(cfg)
}

// forgive clears the control blocks, and waits for it: the host looks at them through another stream.
func (g *group) forgive() error {
	if err := g.dev.Zero(g.main, g.control, controlBytes*int64(len(g.ranks))); err != nil {
		return err
	}
	return g.finish(g.main, g.ready)
}

// finish waits for a stream.
func (g *group) finish(s Stream, ev Event) error {
	if err := g.dev.Record(ev, s); err != nil {
		return err
	}
	for {
		if done, err := g.dev.Done(ev); done || err != nil {
			return err
		}
		runtime.Gosched()
	}
}

// load loads the kernels.
func (g *group) load(cfg *Config) error {
	m, err := g.dev.Load(cfg.PTX)
	if err != nil {
		return fmt.Errorf("the driver does not take the kernels: %w", err)
	}
	for _, k := range cfg.Kernels {
		f, err := g.dev.Function(m, k.Symbol)
		if err != nil {
			return fmt.Errorf("kernel %s: %w", k.Name, err)
		}
		n, err := g.dev.Occupancy(f, k.Threads, k.Shared)
		if err != nil {
			return fmt.Errorf("kernel %s: %w", k.Name, err)
		}
		g.functions, g.occupancy = append(g.functions, f), append(g.occupancy, n)
	}
	return nil
}

// Close gives the GPUs back. One on which a kernel is stuck is left alone, because everything would wait for that: it is
// free when the process ends.
func (e *Engine) Close() error {
	if e.broken != nil && (e.stuck || !e.settle()) {
		return nil
	}
	e.release()
	var err error
	for _, g := range e.groups {
		err = errors.Join(err, g.dev.Close())
	}
	e.groups = nil
	return err
}

// settle lets end what an error of the driver left running, and reports whether nothing runs any more.
func (e *Engine) settle() bool {
	if e.abort.Data == nil {
		return true
	}
	put(e.abort.Data, int32(1))
	until := e.clock.Now().Add(e.cfg.Grace)
	for _, g := range e.groups {
		for _, s := range append([]Stream{g.main}, g.own...) {
			err := g.dev.Record(g.ready, s)
			for done := false; !done && err == nil; { // an error: nothing runs in a context that does not work
				if done, err = g.dev.Done(g.ready); done || err != nil {
					break
				}
				if e.clock.Now().After(until) {
					return false
				}
				e.clock.Sleep(nap)
			}
		}
	}
	return true
}

// release frees memory; errors here would only hide what went wrong before.
func (e *Engine) release() {
	for _, b := range e.heap.buffers {
		e.freeBuffer(b)
	}
	for _, v := range e.windows.views {
		e.home[v.rank].dev.FreeHost(v.memory)
	}
	for r, s := range e.windows.segments {
		switch {
		case s.at == 0:
		case e.home[r] == nil:
			e.groups[0].dev.CloseMemory(s.at)
		default:
			e.home[r].dev.Free(s.at)
		}
	}
	for _, g := range e.groups {
		for _, p := range []Ptr{g.control, g.stage.dev.at, g.tables.dev.at} {
			if p != 0 {
				g.dev.Free(p)
			}
		}
		for _, a := range g.arenas {
			if a.at != 0 {
				g.dev.Free(a.at)
			}
		}
		for _, h := range []HostMemory{g.seen, g.stage.host, g.tables.host} {
			if h.Data != nil {
				g.dev.FreeHost(h)
			}
		}
	}
	if e.abort.Data != nil {
		e.groups[0].dev.FreeHost(e.abort)
	}
}

// Ranks is their number.
func (e *Engine) Ranks() int { return e.cfg.Ranks }

// GPUs describes the GPUs in use.
func (e *Engine) GPUs() []Info {
	var out []Info
	for _, g := range e.groups {
		out = append(out, g.dev.Info())
	}
	return out
}

// Elapsed is how long the GPU took for the kernels of the last Wait, copies of tensors left out.
func (e *Engine) Elapsed() time.Duration { return e.elapsed }

// Submit gives a rank a kernel. It keeps nothing of args. Kernels start when the host waits.
func (e *Engine) Submit(rank, kernel int, args []abi.Arg) {
	if e.home[rank] == nil {
		e.elsewhere = true
		return
	}
	e.queue[rank] = append(e.queue[rank], command{kernel, append([]abi.Arg(nil), args...)})
	e.submitted[rank]++
}
