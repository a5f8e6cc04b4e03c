package native

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"ptoc/codegen/abi"
)

// The engine's memory is one region that all processes map: a control block,
// tables, the ranks' control blocks and command rings, the ranks' window
// segments, and the heap of host tensors. All offsets are from its start, so
// that it may lie at another address in each process. The structs below are
// printed into the engine's C++ source.

const (
	maxModules = 512
	maxKernels = 4096
	maxDomains = 1024
	ringWords  = 8192 - 16
	// maxArgs bounds the arguments of one command: a record must fit into a
	// fraction of the ring, so that it always fits in the end.
	maxArgs = 1000
)

// control is at offset 0.
type control struct {
	Ranks       int32
	OneProcess  int32 // no others: futexes need not be shared
	Abort       int32 // not 0: kernels leave, and queued commands are skipped
	First       int32 // the rank whose fault came first, -1: none
	Stop        int32 // not 0: ranks exit
	HostWaiting int32 // goroutines that sleep on Done
	Done        int32 // bumped when a command ends while the host waits
	Modules     int32 // entries of the tables in use
	Kernels     int32
	Domains     int32
	Spins       int32 // of a wait, before it yields
	_           [5]int32

	ModuleTab    int64
	KernelTab    int64
	DomainTab    int64
	Ctl          int64 // [rank] abi.RankCtl
	Rings        int64 // [rank] ring
	Windows      int64
	WindowStride int64 // from one rank's segment to the next one's
	Heap         int64
}

type module struct{ Path [1024]byte }

type kernel struct {
	Module int32
	Name   [252]byte
}

type domain struct {
	N       int32
	Devices [abi.MaxRanks]int32
}

// ring carries commands to one rank. A record is: words in the record (low
// half) and kernel (high half), sequence number, number of arguments, then a tag
// and a value for each argument. A record never wraps: one with kernel -1 fills
// what is left at the end.
type ring struct {
	Head     int64 // words taken; written by the rank
	_        [7]int64
	Tail     int64 // words written; written by the host
	Sleeping int32 // the rank sleeps on Bell
	Bell     int32 // bumped to wake it
	_        [6]int64
	Words    [ringWords]int64
}

const recordHead = 3

// layout says where everything is for a number of ranks.
type layout struct {
	ranks                                  int
	modules, kernels, domains, ctl, rings  int64
	windows, windowStride, heap, heapBytes int64
	total                                  int64
}

const hugePage = 2 << 20

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

func makeLayout(ranks int, windowBytes, heapBytes int64) layout {
	l := layout{ranks: ranks, windowStride: roundUp(windowBytes, hugePage), heapBytes: roundUp(heapBytes, hugePage)}
	next := int64(unsafe.Sizeof(control{}))
	place := func(bytes uintptr, count int, align int64) int64 {
		at := roundUp(next, align)
		next = at + int64(bytes)*int64(count)
		return at
	}
	l.modules = place(unsafe.Sizeof(module{}), maxModules, abi.CacheLine)
	l.kernels = place(unsafe.Sizeof(kernel{}), maxKernels, abi.CacheLine)
	l.domains = place(unsafe.Sizeof(domain{}), maxDomains, abi.CacheLine)
	l.ctl = place(unsafe.Sizeof(abi.RankCtl{}), ranks, abi.CacheLine)
	l.rings = place(unsafe.Sizeof(ring{}), ranks, 4096)
	l.windows = place(uintptr(l.windowStride), ranks, hugePage)
	l.heap = place(uintptr(l.heapBytes), 1, hugePage)
	l.total = next
	return l
}

// cxxLayout prints the structs above for the engine.
func cxxLayout() string {
	var b strings.Builder
	fmt.Fprintf(&b, "enum : i32 { MAX_MODULES = %d, MAX_KERNELS = %d, MAX_DOMAINS = %d, RING_WORDS = %d, MAX_ARGS = %d, RECORD_HEAD = %d };\n",
		maxModules, maxKernels, maxDomains, ringWords, maxArgs, recordHead)
	fmt.Fprintf(&b, "static const char ARENA_SUFFIX[] = %q;\n", abi.ArenaSuffix)
	b.WriteString(abi.Struct("control", "at the start of the region", reflect.TypeFor[control]()))
	b.WriteString(abi.Struct("module_row", "a shared object", reflect.TypeFor[module]()))
	b.WriteString(abi.Struct("kernel_row", "a function in one", reflect.TypeFor[kernel]()))
	b.WriteString(abi.Struct("domain_row", "an ordered set of devices", reflect.TypeFor[domain]()))
	b.WriteString(abi.Struct("ring", "commands for one rank", reflect.TypeFor[ring]()))
	b.WriteString(abi.Struct("start_call", "arguments of ptoc_engine_start", reflect.TypeFor[startCall]()))
	b.WriteString(abi.Struct("join_call", "arguments of ptoc_engine_join", reflect.TypeFor[joinCall]()))
	b.WriteString(abi.Struct("sync_call", "arguments of ptoc_engine_sync", reflect.TypeFor[syncCall]()))
	return b.String()
}

// Arguments and results of the engine's entry points: one pointer each.
type startCall struct {
	Region uintptr `c:"u8* %s"`
	Proc   uintptr `c:"struct proc* %s"` // result
	First  int32   // rank of the first thread
	Count  int32   // threads to start
	Error  [256]byte
}

type joinCall struct {
	Proc    uintptr `c:"struct proc* %s"`
	GraceMS int64   // < 0: wait for ever
	Left    int32   // result: ranks that still run
	_       int32
}

type syncCall struct {
	Proc    uintptr `c:"struct proc* %s"`
	Modules int32   // how much of each table to resolve
	Kernels int32
	Domains int32
	OK      int32 // result
	Error   [512]byte
}
