package sim

import (
	"errors"
	"iter"
	"math"
	"time"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/failure"
	"ptoc/runtime/interp"
)

// rank is one simulated device: a queue of kernels and the coroutine that runs them.
type rank struct {
	m      *Machine
	device int

	queue                []command
	submitted, completed int64

	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	finished bool
	err      error
	kernel   *interp.Code // that runs
	in       *Block       // that runs; nil: none
	wait     *waiting     // not nil: blocked
	at       *ir.Op       // the loop that it was stopped in
	fault    *interp.Fault
}

// command is one queued kernel.
type command struct {
	code *interp.Code
	args []abi.Arg
}

// waiting is a wait that has begun.
type waiting struct {
	op     *ir.Op
	cell   Cell
	domain int
	want   int32
	cmp    abi.Cmp
}

func (w *waiting) satisfied(mem Memory) bool {
	seen := mem.Peek(w.cell)
	if w.cmp == abi.Eq {
		return seen == w.want
	}
	return seen >= w.want
}

func (w *waiting) blocked(device int) Blocked {
	return Blocked{device, w.op, w.cell, w.want, w.cmp == abi.Eq}
}

var errStopped = errors.New("stopped")

// start makes the coroutine; it does not run yet.
func (r *rank) start() {
	r.finished, r.err, r.wait, r.at, r.fault, r.kernel, r.in = false, nil, nil, nil, nil, nil, nil
	r.next, r.stop = iter.Pull(func(yield func(struct{}) bool) {
		r.yield = yield
		r.err = interp.Catch(r.runQueue)
	})
}

// resume runs the rank up to its next point.
func (r *rank) resume() error {
	if _, more := r.next(); !more {
		r.finished = true
	}
	return r.err
}

// end makes the coroutine unwind if it is not at its end, and drops what was not begun.
func (r *rank) end() {
	if r.stop != nil {
		r.stop()
	}
	r.queue = nil
}

func (r *rank) runQueue() {
	for len(r.queue) > 0 {
		if err := r.m.ctx.Err(); err != nil { // short kernels come to no point where limit would look
			interp.Stop(err)
		}
		c := r.queue[0]
		r.queue = r.queue[1:]
		r.kernel = c.code
		fr := r.frame(c)
		hook := r.m.cfg.Hooks.Kernel
		if hook != nil {
			hook(r.device, c.code.Func, false)
		}
		c.code.Exec(fr)
		if hook != nil {
			hook(r.device, c.code.Func, true)
		}
		r.kernel = nil
		r.completed++
		r.m.since = time.Now()
	}
}

// point lets the scheduler choose who goes on.
func (r *rank) point(p Point) {
	r.m.limit(p.Op)
	p.Device = r.device
	if hook := r.m.cfg.Hooks.Point; hook != nil && !hook(p) {
		return
	}
	if !r.yield(struct{}{}) {
		interp.Stop(errStopped)
	}
}

// block waits for a cell.
func (r *rank) block(w *waiting) {
	r.wait = w // at once: it is not this rank's turn before the cell has the value
	r.point(Point{Op: w.op, Cell: w.cell, Value: w.want, Eq: w.cmp == abi.Eq})
	for !r.m.ignoring && !w.satisfied(r.m.cfg.Memory) {
		if !r.yield(struct{}{}) {
			interp.Stop(errStopped)
		}
	}
	r.wait = nil
	r.m.cfg.Memory.Acquire(w.blocked(r.device))
	r.m.since = time.Now()
}

// fork begins the i-th of n blocks; i is n when all have ended.
func (r *rank) fork(op *ir.Op, i, n int64) {
	hook, over := r.m.cfg.Hooks.Block, i == n
	switch {
	case hook == nil:
		return
	case i == 0:
		r.in = &Block{Loop: &Loop{Op: op, N: n, In: r.in}}
	case !over:
		r.in = &Block{Loop: r.in.Loop, Index: i}
	}
	hook(r.device, r.in, over)
	if over {
		r.in = r.in.Loop.In
	}
}

// frame makes the activation of a queued kernel out of its argument words.
func (r *rank) frame(c command) *interp.Frame {
	fr := c.code.NewFrame(r)
	fr.Tick, fr.Fork = r.m.limit, r.fork
	params := c.code.Func.Params()
	copyTail(fr.Syms, c.args)
	shapes := c.code.ParamShapes(fr.Syms)
	at := 0
	for i, p := range params {
		v := &fr.Vals[p.ID]
		switch t := p.Type.(type) {
		case *ir.Tensor:
			if t.Window {
				v.P = r.windowView(int(c.args[at].Value), c.args[at+1].Value, t.DType, shapes[i])
				at++
			} else {
				addr := c.args[at].Value
				v.P = newView(r.m, r.m.heap[addr>>heapShift], addr&(1<<heapShift-1), t.DType, shapes[i])
			}
		default:
			if ir.DTypeOf(t).IsFloat() {
				v.F = floatFrom(c.args[at].Value)
			} else {
				v.I = interp.WrapInt(ir.DTypeOf(t), c.args[at].Value)
			}
		}
		at++
	}
	return fr
}

// scalarArg passes a scalar.
func scalarArg(p *ir.Value, v interp.Value) abi.Arg {
	if ir.DTypeOf(p.Type).IsFloat() {
		return abi.Arg{Value: int64(math.Float64bits(v.F))}
	}
	return abi.Arg{Value: v.I}
}

// copyTail takes the symbols from the end of the arguments.
func copyTail(syms []int64, args []abi.Arg) {
	for i := range syms {
		syms[i] = args[len(args)-len(syms)+i].Value
	}
}

func (r *rank) windowView(domain int, offset int64, dt ir.DType, shape []int64) *view {
	w := r.m.windowAt(r.device, offset)
	v := newView(r.m, w, offset-w.Offset, dt, shape)
	v.domain, v.window = domain, true
	v.peer = rankIn(r.m.domains[domain], r.device)
	for _, d := range r.m.domains[domain] {
		if a := r.m.windows[d][w.ID]; offset == a.Offset {
			a.Shape, a.Elem = shape, r.m.size(dt)
		}
	}
	return v
}

// rankIn is the rank of a device in a domain; -1 if it is not a member.
func rankIn(devices []int, device int) int {
	for i, d := range devices {
		if d == device {
			return i
		}
	}
	return -1
}

// failure collects what every rank is doing.
func (m *Machine) failure(cause failure.Cause, first int) *failure.Failure {
	f := &failure.Failure{Cause: cause, First: first, After: m.cfg.Timeout.String()}
	for _, r := range m.ranks {
		f.Ranks = append(f.Ranks, r.status())
	}
	return f
}

func (r *rank) status() failure.Rank {
	s := failure.Rank{Rank: r.device, Submitted: r.submitted, Completed: r.completed}
	if r.kernel != nil {
		s.State, s.Kernel = failure.Running, r.kernel.Func.Name
	}
	switch {
	case r.fault != nil:
		s.State, s.Code, s.V, s.At = failure.Failed, r.fault.Code, r.fault.V, place(r.fault.Op)
	case r.wait != nil:
		w := r.wait
		s.State = failure.Waiting
		s.Wait = &failure.Wait{At: place(w.op), Domain: w.domain, Offset: w.cell.Mem.Offset + w.cell.Off,
			Cmp: w.cmp, Want: int64(w.want), Seen: int64(r.m.cfg.Memory.Peek(w.cell))}
	case r.at != nil:
		s.At = place(r.at)
	}
	return s
}

func place(op *ir.Op) failure.Place {
	if op == nil {
		return failure.Place{}
	}
	return failure.Place{Span: op.Span, Op: op.Kind.Name}
}
