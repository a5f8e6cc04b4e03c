// Package controller runs host programs: it walks a host function and gives the work of each rank to
// a backend, without waiting for it. Ranks do their work in the order in which they were given it;
// nothing else orders them. The host waits only where it reads a tensor, and at the end.
package controller

import (
	"context"

	"ptoc/codegen/abi"
	"ptoc/ir"
)

// Backend is a set of ranks. The simulator and the native engine are backends.
type Backend interface {
	Ranks() int

	// Alloc makes zeroed memory that the host and all ranks share.
	Alloc(name string, bytes int64) (Buffer, error)
	Free(Buffer)

	// Domain returns the id of an ordered set of devices that share windows.
	Domain(devices []int) (int, error)
	// AllocWindow makes zeroed memory at the same offset of every rank's window segment.
	AllocWindow(name string, bytes int64) (offset int64, err error)
	ResetWindows()
	Window(device int, offset, bytes int64) []byte

	Kernel(f *ir.Func) (Kernel, error)
	// Dispatch queues a kernel: arguments as the kernel ABI has them, then a value for each of the
	// kernel's Syms. It keeps nothing of args.
	Dispatch(device int, k Kernel, args []abi.Arg) error
	// Wait waits for everything that was dispatched. A *failure.Failure says what went wrong.
	Wait(ctx context.Context) error
	// Recover makes the backend usable again after a failure.
	Recover() error
	Close() error
}

// Buffer is memory that the host and the ranks share; ranks know it by Addr.
type Buffer struct {
	Addr int64
	Data []byte
}

// Kernel is a function that ranks can run.
type Kernel struct {
	ID   int
	Syms []string
}
