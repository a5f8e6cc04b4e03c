package dynamic

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ptoc/ir"
	"ptoc/runtime/controller"
	"ptoc/runtime/failure"
	"ptoc/runtime/interp"
	"ptoc/runtime/sim"
	"ptoc/runtime/tensor"
	"ptoc/verify"
)

// Inputs say what a program is given where that matters: NAME=SPEC, as for ptoc run.
type Inputs []string

// plan is how a run goes: the same plan gives the same run.
type plan struct {
	ctx    context.Context // nil: the run takes what it takes
	policy Policy
	seed   uint64
	sched  sim.Scheduler
	point  func(sim.Point) bool
	held   func(sim.Cell) bool
	stuck  func(*memory) unstuck // instead of memory.stuck
	begin  func(*memory)
}

// unstuck is what helps when all ranks wait.
type unstuck uint8

const (
	stuckForEver unstuck = iota
	goesOn
	halted // the run is of no more interest
)

// outcome is what a run showed.
type outcome struct {
	t         *trace
	m         *memory
	err       error // not a fault of signalling: a fault of the program, or the step limit
	fail      *failure.Failure
	unwritten []unwritten
	prog      *controller.Program
	calls     []map[string]*argument // of each repeat
	before    []map[string]*tensor.Tensor
}

// argument is a tensor, or a scalar.
type argument struct {
	*controller.Tensor
	scalar interp.Value
}

// backend keeps windows between the repeats of the host program, and tells the trace where the host
// waits for the ranks.
type backend struct {
	controller.Backend
	t       *trace
	m       *memory
	windows []int64 // offsets of the windows allocated so far
	next    int
	heap    int // allocations of the host so far
	outs    map[string]bool
}

func (b *backend) ResetWindows() {}

func (b *backend) AllocWindow(name string, bytes int64) (int64, error) {
	if b.next < len(b.windows) {
		b.next++
		return b.windows[b.next-1], nil
	}
	off, err := b.Backend.AllocWindow(name, bytes)
	b.windows = append(b.windows, off)
	b.next++
	return off, err
}

func (b *backend) Alloc(name string, bytes int64) (controller.Buffer, error) {
	if b.outs[name] {
		b.m.undefined[b.heap] = newBits(int(bytes))
	}
	b.heap++
	return b.Backend.Alloc(name, bytes)
}

// Free keeps memory: ranks may be behind the host.
func (b *backend) Free(controller.Buffer) {}

func (b *backend) Wait(ctx context.Context) error {
	err := b.Backend.Wait(ctx)
	if err == nil {
		b.t.gathered()
	}
	return err
}

// stepLimit ends programs that loop for ever.
const stepLimit = 5_000_000

// execute runs a program as planned, s.Repeats times on the same windows with other inputs each time.
func execute(m *ir.Module, entry string, s verify.Scope, in Inputs, pl plan) *outcome {
	if pl.ctx == nil {
		pl.ctx = context.Background()
	}
	t := newTrace(s.Ranks)
	t.ctx = pl.ctx
	mem := newMemory(t, pl.policy, pl.seed)
	mem.held = pl.held
	o := &outcome{t: t, m: mem}
	mem.fault = func(f unwritten) { o.unwritten = append(o.unwritten, f) }
	if pl.begin != nil {
		pl.begin(mem)
	}
	inner, err := controller.NewSim(sim.Config{Ranks: s.Ranks, Scheduler: pl.sched, Memory: mem, StepLimit: stepLimit, Hooks: o.hooks(pl)})
	if err != nil {
		o.err = err
		return o
	}
	o.err = o.run(m, m.Func(entry), &backend{Backend: inner, t: t, m: mem, outs: map[string]bool{}}, s, in)
	o.judge()
	return o
}

// hooks watch and steer a run.
func (o *outcome) hooks(pl plan) sim.Hooks {
	t, ghosts := o.t, 0
	h := sim.Hooks{Kernel: t.kernel, Call: t.called, Block: t.block}
	h.Point = func(p sim.Point) bool {
		if t.full {
			interp.Stop(errTooLong)
		}
		if t.ghosts {
			if ghosts++; ghosts > 100_000 {
				interp.Stop(errGhosts)
			}
			return false
		}
		return pl.point == nil || pl.point(p)
	}
	h.Stuck = func(bs []sim.Blocked) sim.Resume {
		if t.ghosts {
			return sim.Fail
		}
		how := stuckForEver
		if pl.stuck != nil {
			how = pl.stuck(o.m)
		} else if o.m.stuck() {
			how = goesOn
		}
		switch how {
		case goesOn:
			return sim.Retry
		case halted:
			return sim.Fail
		}
		t.blocked(bs)
		t.ghosts = true
		return sim.Ignore
	}
	return h
}

var (
	errTooLong = errors.New("the run is longer than the dynamic layers follow")
	errGhosts  = errors.New("after a deadlock")
)

// run submits the host program as often as s says and lets the ranks run.
func (o *outcome) run(m *ir.Module, entry *ir.Func, b *backend, s verify.Scope, in Inputs) error {
	prog, err := controller.Prepare(m, entry, b, s.Syms)
	if err != nil {
		return err
	}
	o.prog = prog
	prog.MayOverlap() // what two windows on one buffer do to each other is for the layers to find
	for i, p := range entry.Params() {
		b.outs[p.Name] = entry.Dirs[i] == ir.Out
	}
	for k := range max(s.Repeats, 1) {
		args, err := o.arguments(entry, s, in, k)
		if err != nil {
			return err
		}
		b.next = 0
		if err := prog.Submit(o.t.ctx, args); err != nil {
			return err
		}
	}
	return b.Wait(o.t.ctx)
}

// judge separates hangs from other failures.
func (o *outcome) judge() {
	if o.err == nil && len(o.t.stuck) == 0 {
		o.m.deliverMail(func(*event) bool { return true }) // nothing is under way for ever
	}
	o.t.settle()
	var f *failure.Failure
	if len(o.t.stuck) > 0 {
		o.err = nil // what comes after a deadlock does not count
		return
	}
	if errors.As(o.err, &f) && f.Cause == failure.Fault {
		o.fail = f
	}
}

// arguments makes the inputs of the k-th repeat: other numbers each time, unless they are given.
func (o *outcome) arguments(entry *ir.Func, s verify.Scope, in Inputs, k int) ([]any, error) {
	specs := map[string]tensor.Spec{}
	for _, text := range in {
		if isNumber(text) {
			continue
		}
		sp, err := tensor.ParseSpec(text)
		if err != nil {
			return nil, err
		}
		specs[sp.Name] = sp
	}
	var args []any
	byName, before := map[string]*argument{}, map[string]*tensor.Tensor{}
	for i, p := range entry.Params() {
		ten, ok := p.Type.(*ir.Tensor)
		if !ok {
			x := verify.GivenScalar(in, p.Name, ir.DTypeOf(p.Type))
			v := interp.Value{I: int64(x), F: x}
			byName[p.Name] = &argument{scalar: v}
			args = append(args, v)
			continue
		}
		x, err := o.tensor(p.Name, ten, s)
		if err != nil {
			return nil, err
		}
		byName[p.Name] = &argument{Tensor: x}
		args = append(args, x)
		if entry.Dirs[i] == ir.Out {
			continue
		}
		if err := fill(x, p.Name, specs, uint64(k)); err != nil {
			return nil, err
		}
		if entry.Dirs[i] == ir.InOut {
			before[p.Name] = x.Clone()
		}
	}
	o.calls, o.before = append(o.calls, byName), append(o.before, before)
	return args, nil
}

// isNumber reports whether an input is "NAME=NUMBER", a scalar.
func isNumber(text string) bool {
	_, v, _ := strings.Cut(text, "=")
	_, err := strconv.ParseFloat(v, 64)
	return err == nil
}

func (o *outcome) tensor(name string, t *ir.Tensor, s verify.Scope) (*controller.Tensor, error) {
	shape := make([]int64, len(t.Dims))
	for d, dim := range t.Dims {
		n, err := dim.Eval(func(a ir.Atom) (int64, bool) { v, ok := s.Syms[a.Sym]; return v, ok })
		if err != nil {
			return nil, err
		}
		shape[d] = n
	}
	return o.prog.NewTensor(name, t.DType, shape)
}

// fill takes what the user gives, else small whole numbers: their sums are exact in any order.
func fill(x *controller.Tensor, name string, specs map[string]tensor.Spec, k uint64) error {
	sp, given := specs[name]
	switch {
	case given && sp.Kind == tensor.File:
		v, err := sp.Load()
		if err != nil {
			return err
		}
		fit, err := tensor.Fit(name, v, x.DType, x.Shape)
		if err == nil {
			copy(x.Data, fit.Data)
		}
		return err
	case given:
		sp.Seed += k
		return sp.Fill(x.Tensor)
	case x.DType.IsFloat():
		x.FillInts(name, k, -4, 4)
	default:
		x.FillDefault(name, k)
	}
	return nil
}

// text names an error that is no fault of signalling.
func (o *outcome) text() string {
	var f *failure.Failure
	if errors.As(o.err, &f) && f.Cause == failure.Timeout {
		return "a rank runs on for ever, or for longer than the dynamic layers follow"
	}
	if o.prog != nil {
		if d := o.prog.Report(o.err); d != nil {
			return fmt.Sprintf("%s (%s)", d.Message, d.At)
		}
	}
	return o.err.Error()
}
