package abi

import "fmt"

// Code is the status of a kernel call: OK, or what went wrong.
type Code int32

const (
	OK Code = iota
	LocalBounds
	RemoteBounds
	BadPeer
	BadCell
	WorldSize
	DivZero
	Unaligned
	Assert
	Shape
	BadValue
	Overlap

	// The codes from here on are written by the engine, not by kernels.
	Aborted Code = iota + 8
	Crash
	Died
	LoadFailed
	NoMemory
	TimedOut
	Stuck
)

// CodeInfo documents a Code: what it means and what Fault.V then holds.
type CodeInfo struct {
	Code     Code
	Name     string // in C++: PTOC_ + Name
	Doc      string
	Operands []string
}

// Codes lists every status in numeric order.
var Codes = []CodeInfo{
	{OK, "OK", "the kernel ended", nil},
	{LocalBounds, "LOCAL_BOUNDS", "an access leaves its tensor or the rank's own window",
		[]string{"dim", "offset", "extent", "size"}},
	{RemoteBounds, "REMOTE_BOUNDS", "an access leaves a peer's window",
		[]string{"dim", "offset", "extent", "size", "peer"}},
	{BadPeer, "BAD_PEER", "a peer is not a rank of the domain",
		[]string{"peer", "nranks"}},
	{BadCell, "BAD_CELL", "a signal cell index leaves the signal window",
		[]string{"dim", "index", "size"}},
	{WorldSize, "WORLD_SIZE", "the program is bound to another number of ranks",
		[]string{"wanted", "actual"}},
	{DivZero, "DIV_ZERO", "an integer division or modulo by zero",
		[]string{"dividend"}},
	{Unaligned, "UNALIGNED", "an address is not aligned as the op requires",
		[]string{"address", "alignment"}},
	{Assert, "ASSERT", "an assertion of the program does not hold",
		[]string{"left", "right"}},
	{Shape, "SHAPE", "two extents that must agree do not",
		[]string{"dim", "got", "wanted"}},
	{BadValue, "BAD_VALUE", "a value is outside of what the op takes",
		[]string{"value", "low", "high"}},
	{Overlap, "OVERLAP", "a call passes memory that overlaps to two parameters, one of which is written",
		[]string{"first", "second"}},
	{Aborted, "ABORTED", "the kernel left early because another rank failed or time ran out", nil},
	{Crash, "CRASH", "the kernel was stopped by a signal",
		[]string{"signal", "address", "pc"}},
	{Died, "DIED", "the rank's process ended",
		[]string{"signal", "exit status"}},
	{LoadFailed, "LOAD_FAILED", "the rank could not load the kernel",
		[]string{"kernel"}},
	{NoMemory, "NO_MEMORY", "there is no memory for the kernel's arena",
		[]string{"bytes"}},
	{TimedOut, "TIMED_OUT", "no rank made progress for the whole timeout", nil},
	{Stuck, "STUCK", "the rank did not react to the abort flag", nil},
}

// Info returns the row of c.
func (c Code) Info() (CodeInfo, bool) {
	for _, row := range Codes {
		if row.Code == c {
			return row, true
		}
	}
	return CodeInfo{}, false
}

func (c Code) String() string {
	if row, ok := c.Info(); ok {
		return row.Doc
	}
	return fmt.Sprintf("status %d", int32(c))
}

// Cmp is the comparison of a wait.
type Cmp int32

const (
	Eq Cmp = iota
	Ge
)

// NotifyOp says what a notify does to the cell.
type NotifyOp int32

const (
	AtomicAdd NotifyOp = iota
	Set
)

// AtomicType says whether a remote store replaces or accumulates.
type AtomicType int32

const (
	AtomicNone AtomicType = iota
	AtomicAddInto
)

// ReduceOp names a reduction.
type ReduceOp int32

const (
	Sum ReduceOp = iota
	Max
	Min
	Prod
)

// enums are the small constants, in the order in which Prelude prints them.
var enums = []struct {
	prefix string
	names  []string
}{
	{"PTOC_TAG_", []string{"SCALAR", "HEAP", "DOMAIN", "WINDOW"}},
	{"PTOC_CMP_", []string{"EQ", "GE"}},
	{"PTOC_NOTIFY_", []string{"ADD", "SET"}},
	{"PTOC_ATOMIC_", []string{"NONE", "ADD"}},
	{"PTOC_REDUCE_", []string{"SUM", "MAX", "MIN", "PROD"}},
	{"PTOC_WAIT_", []string{"NONE", "ACTIVE", "ABORTED", "CLAIMED"}},
	{"PTOC_RANK_", []string{"STARTING", "RUNNING", "EXITED"}},
}
