package verify

import (
	"fmt"
	"iter"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/verify/term"
)

// The executor of the static layers. It walks a program for given ranks and extents, one rank at a time
// until that one has to wait, with numbers where they are known and symbolic terms for everything that
// depends on inputs. What it does to signals and shared memory goes into each rank's trace; the
// layers then reason about the traces, for all schedules.
//
// Integers that depend on inputs are unknown. Where one decides a branch, a trip count, a peer or an
// offset, the run is given up with the reason: the static layers check nothing then.

// run is one execution.
type run struct {
	module *ir.Module
	scope  Scope
	space  *term.Space
	values bool // elements are computed; otherwise only shapes are

	mems     []*memory
	ranks    []*rankState
	domains  map[string]*domain
	calls    []*hostCall // one per repeat
	zeros    *origin
	given    *given
	gaveUp   string    // why the traces are not complete; "" if they are
	stuck    []*action // the waits at which ranks hang for ever
	faults   []Finding // bounds, peers
	faulty   map[faultKey]bool
	seq      int
	ticks    []int // actions of each strand
	acquires int
	budget   int
	ghosts   bool // waits return at once: what would have come after a hang
	slots    map[*ir.Func]int
	apart    map[*ir.Func][]ir.Pair // parameters that must not overlap
	windows  map[allocKey]*memory
	ord      *order
}

type faultKey struct {
	op   *ir.Op
	code diag.Code
}

type allocKey struct {
	op    *ir.Op
	count int
}

// hostCall is one repeat of the host program: its arguments as the golden function sees them.
type hostCall struct {
	args []value
}

type memoryKind uint8

const (
	hostMemory memoryKind = iota
	windowMemory
	localMemory
)

// memory is one allocation; windows have a copy on every device.
type memory struct {
	kind  memoryKind
	name  string
	bytes int64
	shape []int64 // of the first view
	size  int64   // of its elements
	home  int     // localMemory: whose
	in    *strand // localMemory: that made it
	data  map[int]*content
	cells map[int]map[int64]int64
	blurs map[int]bool // without values: devices whose integers are not all known
	users map[int]bool // devices that it was dispatched to
	named string       // the domain that a pass gave it
	op    *ir.Op
}

// domain is an ordered set of devices.
type domain struct {
	devices []int
	waiting map[int]*rendezvous
}

func (d *domain) rank(device int) int {
	for i, x := range d.devices {
		if x == device {
			return i
		}
	}
	return -1
}

// dispatch is a kernel that a rank has to run.
type dispatch struct {
	f    *ir.Func
	args []value
	syms map[string]int64
	at   *ir.Op
	coll *ir.Op // a host collective instead of a kernel
	fr   *frame // with coll: where its operands are
}

type rankState struct {
	id         int
	dispatches []dispatch
	call       int
	trace      []*action
	path       *place
	strand     *strand
	next       func() (struct{}, bool)
	stop       func()
	yield      func(struct{}) bool
	waiting    *action
	meeting    *rendezvous
	done       bool
}

// Limits of one run: enough for every library collective at 16 ranks, and about a second at most.
const (
	maxSteps       = 4_000_000
	maxValueTerms  = 4_000_000
	maxTraceLength = 400_000
	maxClocks      = 16 << 20 // numbers in all clocks of a run
	stepsOfMemory  = 64       // what an allocation costs, or a call of a kernel
)

// giveUp ends a run.
type giveUp struct{ reason string }

// stopped unwinds a coroutine that nobody resumes.
type stopped struct{}

// execute runs m's entry in scope s: with values if that is affordable, else without.
func execute(m *ir.Module, entry string, s Scope) *run {
	r := attempt(m, entry, s, true)
	if r.gaveUp == tooMuch || r.gaveUp == tooManyTerms {
		r = attempt(m, entry, s, false)
	}
	return r
}

// Reasons for which a run without values may get further.
const (
	tooMuch      = "the program does more than the static layers follow"
	tooManyTerms = "what the program computes is more than the static layers follow"
)

func newSpace() *term.Space {
	s := term.NewSpace()
	s.Limit, s.TooMany = maxValueTerms, giveUp{tooManyTerms}
	return s
}

func attempt(m *ir.Module, entry string, s Scope, values bool) *run {
	r := newRun(m, s, values)
	r.start(entry)
	return r
}

func newRun(m *ir.Module, s Scope, values bool) *run {
	r := &run{module: m, scope: s, space: newSpace(), values: values, domains: map[string]*domain{}, budget: maxSteps,
		faulty: map[faultKey]bool{}, slots: map[*ir.Func]int{}, apart: map[*ir.Func][]ir.Pair{}, windows: map[allocKey]*memory{}}
	r.zeros = &origin{fn: func(int64) term.T { return 0 }, n: denseOrigin + 1}
	r.given = &given{r: r}
	r.ticks = make([]int, s.Ranks)
	for i := range s.Ranks {
		r.ranks = append(r.ranks, &rankState{id: i, strand: &strand{id: i}})
	}
	return r
}

// start runs the host program, as often as the scope says, and then the ranks.
func (r *run) start(entry string) {
	r.gaveUp = guarded(func() {
		f := r.module.Func(entry)
		for range r.scope.Repeats {
			r.host(f)
		}
	})
	if r.gaveUp == "" {
		r.schedule()
	}
}

// guarded runs fn and returns the reason if it gives up.
func guarded(fn func()) (reason string) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case giveUp:
			reason = e.reason
		default:
			panic(e)
		}
	}()
	fn()
	return ""
}

func (r *run) abandon(at source.Span, format string, args ...any) {
	reason := fmt.Sprintf(format, args...)
	if at.IsValid() {
		reason += " (" + at.String() + ")"
	}
	panic(giveUp{reason})
}

// step pays for work.
func (r *run) step(n int) {
	r.budget -= n
	if r.budget < 0 {
		panic(giveUp{tooMuch})
	}
}

// schedule runs the ranks: each until it has to wait, round and round, until all are done or stuck.
func (r *run) schedule() {
	for _, rk := range r.ranks {
		rk.next, rk.stop = iter.Pull(r.body(rk))
	}
	defer func() {
		for _, rk := range r.ranks {
			rk.stop()
		}
	}()
	for moved := true; moved && r.gaveUp == ""; {
		moved = false
		for _, rk := range r.ranks {
			if rk.done || rk.waiting != nil && !r.satisfied(rk.waiting) || rk.meeting != nil && !rk.meeting.complete {
				continue
			}
			moved = true
			rk.waiting, rk.meeting = nil, nil
			if _, more := rk.next(); !more {
				rk.done = true
			}
			if r.gaveUp != "" {
				return
			}
		}
	}
	r.collectStuck()
}

// collectStuck notes the waits that no rank can satisfy any more, and then lets everybody run on
// without waiting, to learn which notifies would have come.
func (r *run) collectStuck() {
	for _, rk := range r.ranks {
		if rk.waiting != nil {
			r.stuck = append(r.stuck, rk.waiting)
		} else if rk.meeting != nil {
			r.stuck = append(r.stuck, rk.meeting.arrived[rk.id])
		}
	}
	if len(r.stuck) == 0 {
		return
	}
	r.ghosts = true
	why := r.gaveUp
	for _, rk := range r.ranks {
		for !rk.done {
			if _, more := rk.next(); !more {
				rk.done = true
			}
		}
	}
	r.gaveUp = why
}

func (r *run) body(rk *rankState) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		rk.yield = yield
		defer func() {
			if e := recover(); e != nil {
				if _, ok := e.(stopped); !ok {
					panic(e)
				}
			}
		}()
		reason := guarded(func() {
			for i := range rk.dispatches {
				rk.call = i
				r.dispatch(rk, &rk.dispatches[i])
			}
		})
		if reason != "" && !r.ghosts {
			r.gaveUp = reason
		}
	}
}

func (r *run) dispatch(rk *rankState, d *dispatch) {
	r.record(rk, &action{kind: actStart, op: d.at})
	if d.coll != nil {
		r.collective(rk, d.fr, d.coll)
	} else {
		fr := r.frame(d.f, d.args, d.syms, rk)
		r.block(fr, d.f.Body)
	}
	r.record(rk, &action{kind: actEnd, op: d.at})
}

// record appends an action to a rank's trace.
func (r *run) record(rk *rankState, a *action) *action {
	r.number(rk, rk.strand)
	return r.append(rk, rk.strand, a)
}

func (r *run) append(rk *rankState, s *strand, a *action) *action {
	a.rank, a.call, a.blk, a.seq, a.ghost = rk.id, rk.call, s.blk, r.seq, r.ghosts
	a.path = rk.path
	a.strand, a.tick, a.prev = s.id, r.ticks[s.id], s.last
	s.last = a
	r.ticks[s.id]++
	r.seq++
	if len(rk.trace) >= maxTraceLength {
		panic(giveUp{"the trace of a rank is longer than the static layers follow"})
	}
	rk.trace = append(rk.trace, a)
	switch a.kind {
	case actWait, actCollective, actFork, actJoin:
		if r.acquires++; r.acquires*len(r.ticks) > maxClocks {
			panic(giveUp{"more blocks wait than the static layers follow"})
		}
	}
	return a
}

// pause gives the turn to the next rank until what is waited for is there.
func (rk *rankState) pause() {
	if !rk.yield(struct{}{}) {
		panic(stopped{})
	}
}

func (r *run) satisfied(a *action) bool {
	v := a.cell.mem.cells[a.cell.device][a.cell.off]
	if a.eq {
		return v == a.value
	}
	return v >= a.value
}

// fault notes a fault at op, once.
func (r *run) fault(code diag.Code, op *ir.Op, format string, args ...any) {
	if r.ghosts || r.faulty[faultKey{op, code}] {
		return
	}
	r.faulty[faultKey{op, code}] = true
	r.faults = append(r.faults, Finding{Diagnostic: diag.New(code, op.Span, format, args...), Scope: r.scope})
}

// newMemory makes an allocation. Windows and local memory are zero; host memory is what init says.
func (r *run) newMemory(kind memoryKind, name string, bytes int64, op *ir.Op) *memory {
	r.step(stepsOfMemory)
	m := &memory{kind: kind, name: name, bytes: bytes, op: op, home: -1, data: map[int]*content{}, cells: map[int]map[int64]int64{}, blurs: map[int]bool{}, users: map[int]bool{}}
	r.mems = append(r.mems, m)
	return m
}

// shown gives the memory the indices by which it is shown to the user.
func (m *memory) shown(shape []int64, size int64) {
	if m.shape == nil {
		m.shape, m.size = shape, size
	}
}
