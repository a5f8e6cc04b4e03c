// Package cuda runs ranks on NVIDIA GPUs through the driver, libcuda, which it opens when it is first
// needed: nothing of CUDA is there when ptoc is built.
//
// Several ranks share a GPU as the blocks of one cooperative launch, or have one each and reach their
// peers' windows directly. Engine queues kernels, starts them when the host waits, and meanwhile watches
// for faults and for ranks that do not get on. It sees the GPU through Device, a small interface, so that
// tests can put an interpreter of PTX behind it.
package cuda

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Ptr is an address that a GPU uses; handles are the driver's, or a test's.
type (
	Ptr      uint64
	Stream   uintptr
	Event    uintptr
	Module   uintptr
	Function uintptr
)

// Driver finds GPUs.
type Driver interface {
	// Version is the newest CUDA that the driver knows: 12040 is 12.4. Compiled modules are kept by it.
	Version() int
	Count() (int, error)        // of GPUs; none is an error
	Open(i int) (Device, error) // one, without a context on the others
	Reaches(i, j int) error     // the i-th GPU the memory of the j-th
	AddsToHost(i int) bool      // an addition of the i-th GPU to memory of the host is atomic to other GPUs
}

// Clock is what a Driver may have beside: the time as its GPUs see it.
type Clock interface {
	Now() time.Time
	Sleep(time.Duration)
}

// Device is one GPU with a context on it. What takes a Stream is done in the stream's order, later.
type Device interface {
	Info() Info

	// Malloc makes memory that other processes can open; MallocAsync takes it from the GPU's pool, which
	// keeps what was freed. Neither is zeroed.
	Malloc(bytes int64) (Ptr, error)
	Free(Ptr) error
	MallocAsync(s Stream, bytes int64) (Ptr, error)
	FreeAsync(s Stream, p Ptr) error
	// MallocHost makes zeroed memory of the host that does not move and that all GPUs reach.
	MallocHost(bytes int64) (HostMemory, error)
	FreeHost(HostMemory) error
	// Register lets this GPU reach memory of the host that is there already, until Unregister.
	Register(data []byte) (Ptr, error)
	Unregister(data []byte) error

	// Upload and Download take slices of host memory from MallocHost.
	Upload(s Stream, to Ptr, from []byte) error
	Download(s Stream, to []byte, from Ptr) error
	Copy(s Stream, to, from Ptr, bytes int64) error
	Zero(s Stream, at Ptr, bytes int64) error

	NewStream() (Stream, error)
	NewEvent() (Event, error)
	Record(e Event, s Stream) error
	WaitEvent(s Stream, e Event) error
	Done(Event) (bool, error) // what was recorded has happened
	Elapsed(from, to Event) (time.Duration, error)

	Load(ptx string) (Module, error)
	Function(m Module, name string) (Function, error)
	// Occupancy is how many blocks of f one multiprocessor holds at once.
	Occupancy(f Function, threads, shared int) (int, error)
	Launch(Stream, Launch) error

	// EnablePeer lets this GPU's kernels reach memory of the other.
	EnablePeer(other Device) error
	ExportMemory(Ptr) (IPCHandle, error)
	ImportMemory(IPCHandle) (Ptr, error) // of another process's GPU memory
	CloseMemory(Ptr) error               // that was imported

	Close() error
}

// Info describes a GPU.
type Info struct {
	Index              int
	Name               string
	Major, Minor       int // compute capability
	Multiprocessors    int
	ClockKHz           int
	Memory             int64
	SharedPerBlock     int // that a kernel may ask for
	CanCooperate       bool
	CanPool            bool
	MemoryClockKHz     int
	MemoryBusBits      int
	MaxThreadsPerBlock int
}

// Arch is the architecture's name: sm_90.
func (i Info) Arch() string { return fmt.Sprintf("sm_%d%d", i.Major, i.Minor) }

// HostMemory is host memory as both sides see it.
type HostMemory struct {
	Data []byte
	Ptr  Ptr
}

// IPCHandle names GPU memory to another process.
type IPCHandle [64]byte

// Launch is a grid of one kernel. Param is its only parameter.
type Launch struct {
	Function    Function
	GridX       int
	GridY       int
	Threads     int
	Shared      int
	Param       Ptr
	Cooperative bool // all blocks are resident together, or the launch fails
}

// ErrNoGPU is wrapped by errors that say why kernels cannot run here.
var ErrNoGPU = errors.New("no GPU to run on")

// Error is a call of the driver that failed.
type Error struct {
	Call string // cuModuleLoadDataEx
	Code int    // a CUresult
	Name string // CUDA_ERROR_INVALID_PTX
	Text string
	Log  string // of the just-in-time compiler
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%d)", e.Call, e.Name, e.Code)
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.Log != "" {
		s += "\n" + e.Log
	}
	return s
}

// Stopped reports whether nothing works in the context any more. What a kernel did wrong in its own memory shows as such
// an error, of whichever call comes next.
func (e *Error) Stopped() bool { return slices.Contains(stopping, e.Code) }

// stopping are the results after which, cuda.h says, only a new process gets on: what kernels do wrong, and memory or a
// link that is broken (214, 220).
var stopping = []int{214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 911}

// Results that are looked for.
const (
	success          = 0
	errorOutOfMemory = 2
	errorNoDevice    = 100
	errorNotReady    = 600
	errorPeerEnabled = 704
	errorNotFound    = 500
)
