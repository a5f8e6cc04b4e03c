// Package native runs compiled kernels on many ranks: native threads of this
// process, or one process per rank. The ranks read commands from rings in
// shared memory, which Go writes without a call into C; see engine/*.cpp for
// the other side.
package native

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"ptoc/codegen/abi"
	"ptoc/codegen/toolchain"
	"ptoc/runtime/process"
)

//go:embed engine/*.cpp
var engineFS embed.FS

// engineFiles are compiled as one text, in this order.
var engineFiles = []string{"state.cpp", "wait.cpp", "load.cpp", "crash.cpp", "rank.cpp", "entry.cpp"}

// Source returns the C++ text of the engine.
func Source() string {
	read := func(name string) string {
		text, err := fs.ReadFile(engineFS, "engine/"+name)
		if err != nil {
			panic(err) // embedded: it is there
		}
		return fmt.Sprintf("# 1 %q\n%s", "engine/"+name, text)
	}
	text := read("platform.cpp") + "# 1 \"abi\"\n" + abi.Prelude() + cxxLayout()
	for _, name := range engineFiles {
		text += read(name)
	}
	return text
}

// Build compiles the engine, or finds it in the cache.
func Build(ctx context.Context, tc *toolchain.Toolchain, san toolchain.Sanitizer) (string, error) {
	res, err := tc.Compile(ctx, toolchain.Unit{Name: "engine.cpp", Source: Source()},
		toolchain.Options{System: true, Sanitize: san})
	return res.Path, err
}

// Mode says what a rank is.
type Mode int

const (
	Threads   Mode = iota // of this process
	Processes             // one for each rank; a crash takes only its rank along
)

func (m Mode) String() string { return [...]string{"thread", "process"}[m] }

// Config of an engine. Ranks and EnginePath must be set.
type Config struct {
	Ranks      int
	Mode       Mode
	EnginePath string // what Build returned

	WindowBytes int64         // address space of each rank's windows; default 8 GiB
	HeapBytes   int64         // address space of host tensors; default 32 GiB
	Timeout     time.Duration // without progress of any rank; default 30 s; < 0: none
	Grace       time.Duration // for ranks to leave after an abort; default 2 s

	// Context ends what waits without a context of its own, which is Submit for room in a ring. Default: none.
	Context context.Context
}

func (c *Config) setDefaults() error {
	if c.Ranks < 1 || c.Ranks > abi.MaxRanks {
		return fmt.Errorf("%d ranks: must be between 1 and %d", c.Ranks, abi.MaxRanks)
	}
	if c.WindowBytes == 0 {
		c.WindowBytes = 8 << 30
	}
	if c.HeapBytes == 0 {
		c.HeapBytes = 32 << 30
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Timeout < 0 {
		c.Timeout = math.MaxInt64
	}
	if c.Grace == 0 {
		c.Grace = 2 * time.Second
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	return nil
}

// Engine is a set of ranks and the memory that they share. Its methods may be
// called by several goroutines at once, except Reset and Close.
type Engine struct {
	cfg    Config
	lib    *library
	region *region
	proc   uintptr            // the engine's state in this process, in mode Threads
	kids   []*process.Process // in mode Processes
	dying  atomic.Bool        // Close was called: children may end
	closed bool

	tables  tables
	windows windowSpace
	heap    heapSpace
	queues  []queue

	failMu  sync.Mutex
	failure *Failure
}

// Open starts the ranks.
func Open(cfg Config) (*Engine, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	if os.Getenv(workerEnv) != "" {
		return nil, errors.New("this process is a worker: main must call native.MaybeWorker first")
	}
	lib, err := openLibrary(cfg.EnginePath)
	if err != nil {
		return nil, err
	}
	reg, err := newRegion(&cfg)
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, lib: lib, region: reg, queues: make([]queue, cfg.Ranks)}
	e.heap.init(reg.heapBytes)
	if cfg.Mode == Processes {
		err = e.startChildren()
	} else {
		err = e.startThreads()
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) startThreads() error {
	proc, err := e.lib.start(e.region, 0, e.cfg.Ranks)
	e.proc = proc
	return err
}

// Ranks returns the number of ranks.
func (e *Engine) Ranks() int { return e.cfg.Ranks }

// ErrLeaked says that a rank ran on after Close: a thread cannot be killed.
// Its memory stays mapped; it ends with the process.
var ErrLeaked = errors.New("a rank does not stop")

// Close stops the ranks and unmaps all memory: tensors and windows must not be
// touched any more. Commands that have not begun are dropped.
func (e *Engine) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	e.dying.Store(true)
	ctl := e.region.control()
	atomic.StoreInt32(&ctl.Abort, 1)
	atomic.StoreInt32(&ctl.Stop, 1)
	e.wakeAll()
	left := 0
	if e.proc != 0 {
		left = e.lib.join(e.proc, e.cfg.Grace)
	}
	e.stopChildren()
	if left > 0 {
		return ErrLeaked
	}
	return e.region.unmap()
}

// wakeAll wakes ranks wherever they sleep: on their ring or on a cell.
func (e *Engine) wakeAll() {
	for r := range e.cfg.Ranks {
		g := e.region.ring(r)
		atomic.AddInt32(&g.Bell, 1)
		e.region.wake(unsafe.Pointer(&g.Bell))
		c := e.region.rank(r)
		if off := atomic.LoadInt64(&c.WaitCell); atomic.LoadInt32(&c.Sleeping) != 0 && off >= 0 && off < e.region.windowStride {
			e.region.wake(unsafe.Pointer(&e.region.window(r)[off]))
		}
	}
}
