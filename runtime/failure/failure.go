// Package failure describes a run that went wrong: what a backend knows of each rank when it stops,
// in terms that the controller can turn into one report.
package failure

import (
	"fmt"
	"strings"

	"ptoc/codegen/abi"
	"ptoc/lang/source"
)

// Cause says why the ranks were stopped.
type Cause uint8

const (
	Fault     Cause = iota // an op failed on rank First
	Deadlock               // no rank can ever go on
	Timeout                // no rank got on for the time allowed
	Cancelled              // the user gave up
)

// Place is where something is in the program. A bundle without its sources has only Text.
type Place struct {
	Span source.Span
	Text string // "file:line:col"
	Op   string // "pld.system.wait"
}

func (p Place) String() string {
	switch {
	case p.Span.IsValid():
		return p.Span.String()
	case p.Text != "":
		return p.Text
	}
	return "an unknown line"
}

// Line is the place as a sentence about one file mentions it: "line 12".
func (p Place) Line() string {
	text := p.String()
	parts := strings.Split(text, ":")
	if len(parts) < 3 {
		return text
	}
	return "line " + parts[len(parts)-2]
}

// Failure is what a backend returns when ranks had to be stopped.
type Failure struct {
	Cause Cause
	First int // the rank that failed first; -1: none did
	Ranks []Rank
	After string // Timeout: how long
}

// Rank is the state of one rank when the run was stopped.
type Rank struct {
	Rank      int
	State     State
	Kernel    string // that runs, waits or failed
	Submitted int64  // kernels given to it, and how many of them it has finished
	Completed int64
	Wait      *Wait    // State Waiting
	Code      abi.Code // State Failed, and Dead
	V         [6]int64
	At        Place  // State Failed, and Running where it is known
	Output    string // what a dead process last wrote
}

// State says what a rank was doing.
type State uint8

const (
	Idle State = iota // nothing, and had nothing left to do
	Waiting
	Running
	Failed
	Dead  // its process ended
	Stuck // it runs and does not react
)

// Wait is the wait that a rank is in.
type Wait struct {
	At     Place
	Domain int
	Offset int64 // of the cell in the rank's window segment
	Cmp    abi.Cmp
	Want   int64
	Seen   int64
}

// Satisfied says that what is seen ends the wait: the rank was only not on its way yet.
func (w *Wait) Satisfied() bool {
	if w.Cmp == abi.Eq {
		return w.Seen == w.Want
	}
	return w.Seen >= w.Want
}

// Sign is the comparison as text.
func (w *Wait) Sign() string {
	if w.Cmp == abi.Eq {
		return "=="
	}
	return ">="
}

// Error is a one-line summary; the controller's report says more.
func (f *Failure) Error() string {
	var parts []string
	for _, r := range f.Ranks {
		switch r.State {
		case Waiting:
			parts = append(parts, fmt.Sprintf("rank %d waits at %s for %s %d and sees %d", r.Rank, r.Wait.At, r.Wait.Sign(), r.Wait.Want, r.Wait.Seen))
		case Failed, Dead:
			parts = append(parts, fmt.Sprintf("rank %d failed at %s: %v", r.Rank, r.At, r.Code))
		case Running, Stuck:
			parts = append(parts, fmt.Sprintf("rank %d runs %s", r.Rank, r.Kernel))
		}
	}
	return [...]string{"a rank failed", "deadlock", "no progress", "cancelled"}[f.Cause] + ": " + strings.Join(parts, "; ")
}
