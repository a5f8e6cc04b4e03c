package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"ptoc/codegen/abi"
	"ptoc/runtime/failure"
)

// Wait runs everything that was submitted. A *failure.Failure says what went wrong on the ranks.
func (e *Engine) Wait(ctx context.Context) error {
	if e.broken != nil {
		return e.broken
	}
	work := e.elsewhere
	for _, q := range e.queue {
		work = work || len(q) > 0
	}
	if !work {
		return nil
	}
	defer e.forgetQueue()
	plans := make([][]step, len(e.groups))
	for i, g := range e.groups {
		plans[i] = plan(e.queues(g))
		if err := g.divide(&e.cfg, plans[i]); err != nil {
			return err
		}
	}
	w := &watch{e: e, plans: plans}
	err := e.start(w)
	var full *failure.Failure
	if errors.As(err, &full) { // nothing was started, and less may fit
		return full
	}
	if err != nil {
		return e.breakDown(err)
	}
	return w.run(ctx)
}

func (e *Engine) forgetQueue() {
	e.elsewhere = false
	for r := range e.queue {
		e.queue[r] = e.queue[r][:0]
	}
}

// queues are those of a group's ranks.
func (e *Engine) queues(g *group) [][]command {
	out := make([][]command, len(g.ranks))
	for i, r := range g.ranks {
		out[i] = e.queue[r]
	}
	return out
}

// start brings the GPUs' memory up to date and launches the first steps of w.
func (e *Engine) start(w *watch) error {
	if err := e.renew(); err != nil {
		return err
	}
	e.windows.filled = max(e.windows.filled, e.windows.used)
	if err := e.tell(); err != nil {
		return err
	}
	var used []*Buffer
	used, w.written = e.traffic()
	for _, b := range used {
		if err := e.groups[0].dev.Upload(e.groups[0].main, b.dev, b.Data); err != nil {
			return err
		}
	}
	for _, v := range e.windows.views {
		g := e.home[v.rank]
		if err := g.dev.Upload(g.main, e.windows.segments[v.rank].at+Ptr(v.offset), v.memory.Data); err != nil {
			return err
		}
	}
	for i, g := range e.groups {
		params, err := e.stageArguments(g, w.plans[i])
		if err != nil {
			return err
		}
		w.launches = append(w.launches, newLaunching(g, &e.cfg, w.plans[i], params))
	}
	if err := e.meet(); err != nil {
		return err
	}
	for _, g := range e.groups {
		if err := g.dev.Record(g.start, g.main); err != nil {
			return err
		}
	}
	return w.launch()
}

// meet lets no GPU begin before the memory of all is ready: its kernels write into the others' windows.
func (e *Engine) meet() error {
	for _, g := range e.groups {
		if err := g.dev.Record(g.ready, g.main); err != nil {
			return err
		}
	}
	for _, g := range e.groups {
		for _, o := range e.groups {
			if o == g {
				continue
			}
			if err := g.dev.WaitEvent(g.main, o.ready); err != nil {
				return err
			}
		}
	}
	return nil
}

// stageArguments writes the launch records of all steps, and says where each step's are.
func (e *Engine) stageArguments(g *group, steps []step) ([]Ptr, error) {
	const record, context = int64(unsafe.Sizeof(abi.GPULaunch{})), int64(unsafe.Sizeof(abi.GPUCtx{}))
	need := int64(0)
	for _, s := range steps {
		need += (record+15)&^15*int64(len(s.ranks)) + 16
		for _, r := range s.ranks {
			need += context + 8*int64(len(e.queue[g.ranks[r]][s.at].args)) + 48
		}
	}
	if err := g.stage.reset(g.dev, need); err != nil {
		return nil, err
	}
	if err := e.growArenas(g, steps); err != nil {
		return nil, err
	}
	var out []Ptr
	for _, s := range steps {
		records, at := g.stage.add(record * int64(len(s.ranks)))
		for i, r := range s.ranks {
			c := &e.queue[g.ranks[r]][s.at]
			args := e.resolve(g.ranks[r], c)
			data, argsAt := g.stage.add(8 * int64(max(len(args), 1)))
			for j, x := range args {
				put(data[8*j:], x)
			}
			ctx, ctxAt := g.stage.add(context)
			put(ctx, e.context(g, r, s.demands[i]))
			put(records[int64(i)*record:], abi.GPULaunch{Ctx: uintptr(ctxAt), Args: uintptr(argsAt)})
		}
		out = append(out, at)
	}
	return out, g.stage.upload(g.dev, g.main)
}

// context is what kernels of a rank know beside their arguments. Their own patience is for the case that
// the host, whose pulse they then miss, is not there any more to tell them to stop.
func (e *Engine) context(g *group, r int, d Demand) abi.GPUCtx {
	self := uintptr(g.control) + uintptr(controlBytes)*uintptr(r)
	at := uintptr(g.arenas[r].at)
	c := abi.GPUCtx{Device: int32(g.ranks[r]), NDevices: int32(e.cfg.Ranks), Common: at, Arena: at + uintptr(d.Common), ArenaBytes: d.Arena,
		Abort: uintptr(e.abort.Ptr), Fault: self + uintptr(abi.Offset[abi.RankCtl]("Fault")), Self: self}
	c.Patience = patience(e.cfg.Timeout)
	return c
}

// patience is how long a kernel waits, in nanoseconds: longer than the host, which makes a report; 0 is for ever.
func patience(timeout time.Duration) int64 {
	const more = 10 * time.Second
	if timeout > math.MaxInt64/4 { // of which nobody sees the end; kernels add it to the time of day
		return 0
	}
	if timeout > 0 {
		return int64(2*timeout + more)
	}
	return 0
}

// resolve turns a command's arguments into what the kernel reads.
func (e *Engine) resolve(rank int, c *command) []int64 {
	out := make([]int64, len(c.args))
	for i, a := range c.args {
		switch a.Tag {
		case abi.TagDomain:
			out[i] = int64(e.windows.where[a.Value][rank])
		case abi.TagWindow:
			out[i] = int64(e.windows.segments[rank].at) + a.Value
		default:
			out[i] = a.Value
		}
	}
	return out
}

// growArenas makes a rank's scratch as large as the largest of its kernels needs. Where there is too little
// memory for all blocks, there are fewer.
func (e *Engine) growArenas(g *group, steps []step) error {
	for i := range steps {
		s := &steps[i]
		if err := e.size(g, s); err != nil {
			return err
		}
		for j, r := range s.ranks {
			err := g.grow(&g.arenas[r], s.demands[j].bytes(s.blocks))
			for err != nil && s.blocks > 1 {
				s.blocks /= 2
				err = g.grow(&g.arenas[r], s.demands[j].bytes(s.blocks))
			}
			if err != nil {
				return e.noRoom(g.ranks[r], s, s.demands[j].bytes(s.blocks), err)
			}
		}
	}
	return nil
}

// noRoom says that there is no memory for the scratch of a rank's kernel: that is the kernel's fault, as on the CPU.
func (e *Engine) noRoom(rank int, s *step, bytes int64, err error) error {
	name := e.cfg.Kernels[s.kernel].Name
	var d *Error
	if bytes < addressSpace && !(errors.As(err, &d) && d.Code == errorOutOfMemory) {
		return fmt.Errorf("scratch of %s: %w", name, err)
	}
	f := &failure.Failure{Cause: failure.Fault, First: rank}
	for _, r := range e.local() {
		state := failure.Rank{Rank: r, Submitted: e.submitted[r], Completed: e.completed[r]}
		if r == rank {
			state.State, state.Kernel, state.Code, state.V = failure.Failed, name, abi.NoMemory, [6]int64{bytes}
		}
		f.Ranks = append(f.Ranks, state)
	}
	return f
}

// addressSpace is more than any GPU has.
const addressSpace = 1 << 47

// grow makes scratch larger; if that cannot be, it is what it was.
func (g *group) grow(a *scratch, n int64) error {
	if n <= a.size {
		return nil
	}
	had := a.size
	if had > 0 {
		g.dev.Free(a.at)
	}
	*a = scratch{}
	at, err := g.dev.Malloc(n)
	if err != nil && had > 0 {
		n = had
		var again error
		if at, again = g.dev.Malloc(n); again != nil {
			return again
		}
	} else if err != nil {
		return err
	}
	*a = scratch{at, n}
	return err
}
