// Package ptxsim runs PTX without a GPU: grids, blocks, warps and threads of the instructions that
// LLVM's NVPTX backend and our own inline assembly emit. It is for tests, so it is strict: what the PTX
// manual leaves undefined is an error that names the PTX line.
//
// Checked on the way: alignment and range of every access, reads of shared memory that nobody wrote,
// races of a block's threads on shared memory, barriers that not all threads reach, warp instructions
// that not all their lanes reach, cells that are accessed with several widths once somebody synchronises
// on them, deadlock, and a limit of steps.
//
// Several launches run at once (RunAll): the ranks of a program, over one Memory. A scheduler interleaves
// their threads, so that a thread which spins on another rank's signal lets that rank go on.
package ptxsim

import (
	"fmt"
	"strings"
)

// Module is parsed PTX.
type Module struct {
	Version string // of PTX: "7.0"
	Target  string // "sm_80"

	funcs   map[string]*function
	globals []*variable // .global and .const
	shared  int         // bytes of static shared memory, of all functions
}

// Entries are the names of the module's kernels.
func (m *Module) Entries() []string {
	var out []string
	for name, f := range m.funcs {
		if f.entry {
			out = append(out, name)
		}
	}
	return sorted(out)
}

// Config is one launch of one kernel.
type Config struct {
	Entry  string // may be left out where the module has one kernel
	Grid   [3]int // 0 means 1
	Block  [3]int
	Shared int // bytes of dynamic shared memory
	Params []byte
	Memory *Memory

	Name      string // appears in errors: "rank 3"
	Seed      uint64 // 0: round robin; else orders and time slices are drawn
	StepLimit int64  // instructions of all launches together; 0: 1e9
	// ClockStep is what one executed instruction, of any thread, adds to %clock64 and %globaltimer; 0: 1.
	ClockStep int64
	// Host is called again and again while the kernels run: what the host does meanwhile to their memory.
	Host func(steps int64)
	// Ended is called when the last thread of this launch has ended.
	Ended func()
	// GlobalRaces also reports races on global memory, between the threads of all launches: accesses that
	// neither barriers nor releases and acquires of sufficient scope order. It costs memory and time.
	GlobalRaces bool
}

// Stats says what a run cost.
type Stats struct {
	Steps    int64 // instructions executed, over all threads
	Products int64 // matrix products executed, over all warps
	Ahead    int64 // those of them that ran while copies of their threads were in flight
	Read     int64 // bytes of shared memory read, over all threads; a row of a matrix that a warp loads counts once
	Written  int64 // bytes of shared memory written, copies included
	// Conflicts is how many more accesses to shared memory the loads of matrices take than there are matrices: eight
	// rows of 16 bytes are one access if all are in different banks, of which 128 bytes in a row have each once.
	Conflicts int64
}

// Launch runs one kernel to its end.
func (m *Module) Launch(c Config) (Stats, error) {
	return RunAll([]Launch{{Module: m, Config: c}})
}

// Launch is one of several kernels that run at the same time.
type Launch struct {
	Module *Module
	Config Config
	After  int // 1 + the number of the launch that must end before this one starts; 0: none
}

// Error is something that the program did wrong.
type Error struct {
	Line  int    // of the PTX text; 0 if it is no particular line's
	Where string // "rank 1, block (0,0,0), thread (3,0,0)"
	Msg   string
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	b.WriteString(e.Msg)
	if e.Where != "" {
		b.WriteString(" [" + e.Where + "]")
	}
	return b.String()
}
