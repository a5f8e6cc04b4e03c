package fleet

import (
	"encoding/gob"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"ptoc/codegen/abi"
	"ptoc/runtime/cuda"
	"ptoc/runtime/failure"
)

// What is said between the controlling process and a rank's.
type verb int

const (
	hello verb = iota // a worker is there

	// Calls. Each is answered once, with its own verb.
	open
	mapMemory
	domain
	window
	look
	recovered
	run

	// Not answered.
	unmapMemory
	resetWindows
	stop // the run: another rank has failed, or nobody wants its results any more

	// While a run goes on: its exchanges of window handles, in both directions, and how far the rank is.
	exchange
	progress
)

// message is a call, an answer or news; what a verb does not need is zero.
type message struct {
	Do      verb
	Program *program // open
	Rank    int
	Offset  int64 // of memory in the heap's file, or of a window
	Bytes   int64
	Devices []int

	Commands  []command // run
	Elsewhere bool      // other ranks have commands too

	Handles map[int]cuda.IPCHandle // exchange
	Number  int64                  // domain, window, progress
	Data    []byte                 // look
	Elapsed time.Duration          // run
	State   *state                 // run: the rank's, when ranks had to be stopped
	Cause   failure.Cause
	Err     *fault
}

// program is what a worker runs kernels of. Places in it are numbers.
type program struct {
	Ranks          int
	PTX, Arch      string
	Kernels        []cuda.Kernel // their functions stay here
	Needs          []bool        // kernels whose commands end with what they need
	Sites          int
	Timeout, Grace time.Duration
}

type command struct {
	Kernel int
	Args   []abi.Arg
}

// state is a failure.Rank with places as numbers: -1 is none.
type state struct {
	State                failure.State
	Submitted, Completed int64
	Code                 abi.Code
	V                    [6]int64
	Site                 int
	Wait                 *waiting
}

type waiting struct {
	Site, Domain       int
	Offset, Want, Seen int64
	Cmp                abi.Cmp
}

// conn sends and receives messages. One goroutine at a time may receive; any may send.
type conn struct {
	file *os.File
	mu   sync.Mutex
	enc  *gob.Encoder
	dec  *gob.Decoder
}

func newConn(f *os.File) *conn { return &conn{file: f, enc: gob.NewEncoder(f), dec: gob.NewDecoder(f)} }

func (c *conn) send(m message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.enc.Encode(m)
}

func (c *conn) receive() (m message, err error) {
	err = c.dec.Decode(&m)
	return m, err
}

// fault is an error on its way between processes.
type fault struct {
	Text   string
	NoGPU  bool
	Driver *cuda.Error
	Full   *cuda.TooManyRanks
}

func newFault(err error) *fault {
	if err == nil {
		return nil
	}
	f := &fault{Text: err.Error(), NoGPU: errors.Is(err, cuda.ErrNoGPU)}
	errors.As(err, &f.Driver)
	errors.As(err, &f.Full)
	return f
}

func (f *fault) Error() string { return f.Text }

// Unwrap is what of the error others look for.
func (f *fault) Unwrap() (all []error) {
	if f.NoGPU {
		all = append(all, cuda.ErrNoGPU)
	}
	if f.Driver != nil {
		all = append(all, f.Driver)
	}
	if f.Full != nil {
		all = append(all, f.Full)
	}
	return all
}

// numberedSites are places that say only their number.
func numberedSites(n int) []cuda.Site {
	sites := make([]cuda.Site, n)
	for i := range sites {
		sites[i].Text = strconv.Itoa(i)
	}
	return sites
}

func number(p failure.Place) int {
	if n, err := strconv.Atoi(p.Text); err == nil {
		return n
	}
	return -1
}

func packed(r failure.Rank) *state {
	s := &state{State: r.State, Submitted: r.Submitted, Completed: r.Completed, Code: r.Code, V: r.V, Site: number(r.At)}
	if w := r.Wait; w != nil {
		s.Wait = &waiting{Site: number(w.At), Domain: w.Domain, Offset: w.Offset, Want: w.Want, Seen: w.Seen, Cmp: w.Cmp}
	}
	return s
}

// unpacked is a rank's state with places; where those are unknown, kernel is what it ran.
func (s *state) unpacked(rank int, kernel string, sites []cuda.Site) failure.Rank {
	r := failure.Rank{Rank: rank, State: s.State, Kernel: kernel, Submitted: s.Submitted, Completed: s.Completed, Code: s.Code, V: s.V}
	place := func(n int) (p failure.Place) {
		if n >= 0 && n < len(sites) {
			p, r.Kernel = sites[n].Place, sites[n].Kernel
		}
		return p
	}
	r.At = place(s.Site)
	if w := s.Wait; w != nil {
		r.Wait = &failure.Wait{At: place(w.Site), Domain: w.Domain, Offset: w.Offset, Want: w.Want, Seen: w.Seen, Cmp: w.Cmp}
	}
	return r
}

// needs is what of a kernel's functions a worker has to know for one command; restore makes a function of it,
// which finds it behind the arguments.
func needs(k *cuda.Kernel, args []abi.Arg) ([]abi.Arg, error) {
	vals := make([]int64, len(args))
	for i, a := range args {
		vals[i] = a.Value
	}
	d, err := k.Demand(vals)
	return []abi.Arg{{Tag: abi.TagScalar, Value: d.Blocks}, {Tag: abi.TagScalar, Value: d.Arena}, {Tag: abi.TagScalar, Value: d.Common}}, err
}

func restore(k *cuda.Kernel) {
	k.Demand = func(args []int64) (cuda.Demand, error) {
		d := args[len(args)-3:]
		return cuda.Demand{Blocks: d[0], Arena: d[1], Common: d[2]}, nil
	}
}
