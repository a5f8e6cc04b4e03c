// Package abi is the one description of what compiled kernels and the engine
// that runs them agree on: the structs they share, argument tags, status
// codes, and the constants of the signalling ops. Prelude prints all of it as
// C++ that needs no header; the Go runtime reads the same structs through the
// Go types below.
package abi

// A Go struct of this file is also a C++ struct: Prelude walks it by
// reflection. The tag `c` gives the C++ declaration where the Go type alone
// does not say enough. Fields stand in an order that needs no hidden padding;
// a test holds both layouts against each other.

// Fault is the first thing that went wrong on a rank.
type Fault struct {
	Code Code     `c:"i32"`
	Site int32    // index into the manifest's table of sites, -1 when unknown
	V    [6]int64 // operands; their meaning depends on Code
}

// Domain is an ordered set of devices that share windows, resolved into the
// addresses of one process, as one of its ranks sees it.
type Domain struct {
	Rank   int32
	NRanks int32
	ID     int32
	Pad    int32
	Base   uintptr `c:"u8* const* %s"`           // [rank] that rank's window segment
	Ctl    uintptr `c:"ptoc_rankctl* const* %s"` // [rank] that rank's control block
	Device uintptr `c:"const i32* %s"`           // [rank] its device
}

// Ctx is what a kernel is called with, beside its arguments.
type Ctx struct {
	Device     int32
	NDevices   int32
	Spins      int32 // looks at a cell before ptoc_wait calls the engine
	_          int32
	Arena      uintptr `c:"u8* %s"` // scratch of this call, 64-byte aligned
	ArenaBytes int64
	Abort      uintptr `c:"const volatile i32* %s"` // not 0: leave as soon as possible
	Fault      uintptr `c:"ptoc_fault* %s"`
	Self       uintptr `c:"ptoc_rankctl* %s"`
	Wait       uintptr `c:"i32 (*%s)(ptoc_ctx*, const ptoc_domain*, i32* cell, i32 expected, i32 cmp, i32 site)"`
	Wake       uintptr `c:"void (*%s)(ptoc_ctx*, const ptoc_domain*, i32 peer, i32* cell)"`
}

// RankCtl is the part of a rank that others read: its peers (Sleeping), the
// controller (the rest). It lives in memory shared by all processes, each
// group of fields on cache lines of its own.
type RankCtl struct {
	Sleeping int32 // the rank sleeps on a signal cell: who notifies must wake it
	_        [15]int32

	// The wait that the rank is in, or was in when it was aborted.
	Waiting  int32 // a WaitState
	WaitSite int32
	WaitDom  int32 // domain id
	WaitCmp  int32 // WaitCmp
	WaitWant int32
	WaitSeen int32
	WaitCell int64 // byte offset of the cell in the rank's window segment
	_        [4]int64

	Progress  int64 // bumped whenever a wait is satisfied
	Completed int64 // sequence number of the last command that ended
	Kernel    int32 // kernel that runs, -1 when idle
	State     int32 // RankStarting ...
	Status    int32 // Code of the first command that failed
	FaultKern int32 // the kernel of that command
	FaultSeq  int64 // and its sequence number
	_         [3]int64

	Fault Fault
	_     int64
}

// RankState says where a rank's thread is.
type RankState int32

const (
	RankStarting RankState = iota
	RankRunning
	RankExited
)

// WaitState says what the Wait* fields of a RankCtl describe.
type WaitState int32

const (
	WaitNone    WaitState = iota // nothing
	WaitActive                   // the wait that the rank is in
	WaitAborted                  // the wait that it was in when it was aborted
	WaitClaimed                  // nothing yet: one of the rank's blocks, which may all be waiting, is writing them
)

// Tag says how the engine turns one argument of a command into the i64 that
// the kernel gets. Commands cross processes: they carry no addresses.
type Tag int32

const (
	TagScalar Tag = iota // the value itself (floats: the bits of a double)
	TagHeap              // offset into the shared heap -> pointer
	TagDomain            // domain id -> ptoc_domain*, as the running rank sees it
	TagWindow            // offset into the running rank's window segment -> pointer
)

// MaxRanks bounds the ranks of one engine and the devices of one domain.
const MaxRanks = 64

// CacheLine separates what different ranks write; windows are aligned to it.
const CacheLine = 64
