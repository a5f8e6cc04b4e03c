package fleet

import (
	"context"
	"fmt"
	"maps"
	"time"

	"ptoc/codegen/abi"
	"ptoc/runtime/cuda"
	"ptoc/runtime/failure"
)

// Wait runs everything that was submitted. A *failure.Failure says what went wrong on the ranks.
func (e *Engine) Wait(ctx context.Context) error {
	if e.broken != nil {
		return e.broken
	}
	work := false
	for _, q := range e.queue {
		work = work || len(q) > 0
	}
	if !work {
		return nil
	}
	defer func() {
		for r := range e.queue {
			e.queue[r] = e.queue[r][:0]
		}
	}()
	if err := e.addNeeds(); err != nil {
		return err
	}
	e.each(func(r int) message {
		elsewhere := false
		for o, q := range e.queue {
			elsewhere = elsewhere || o != r && len(q) > 0
		}
		return message{Do: run, Commands: e.queue[r], Elsewhere: elsewhere}
	})
	w := &watch{e: e, first: -1, moved: time.Now(), outcomes: make([]outcome, len(e.ranks)), left: len(e.ranks), handles: map[int]cuda.IPCHandle{}}
	return w.run(ctx)
}

// addNeeds puts what a kernel needs behind the arguments of its commands.
func (e *Engine) addNeeds() error {
	for _, q := range e.queue {
		for i := range q {
			k := &e.cfg.Kernels[q[i].Kernel]
			if k.Demand == nil {
				continue
			}
			more, err := needs(k, q[i].Args)
			if err != nil {
				return fmt.Errorf("scratch of %s: %w", k.Name, err)
			}
			q[i].Args = append(q[i].Args, more...)
		}
	}
	return nil
}

// watch is this process while the ranks' run kernels.
type watch struct {
	e        *Engine
	outcomes []outcome // by rank
	left     int       // ranks that run
	handles  map[int]cuda.IPCHandle
	came     int // to the exchange

	moved   time.Time // when a rank last got on
	judged  time.Time // when the time was last looked at
	stopped time.Time // when the ranks were told to leave
	cause   failure.Cause
	first   int
	err     error // of the driver, before any rank failed
}

// outcome is how a rank's part ended. Without a state it did all that it was given.
type outcome struct {
	over  bool
	state *failure.Rank
}

// lookEvery is how often time is looked at; margin is what a process has beside the grace of its kernels.
const (
	lookEvery = 10 * time.Millisecond
	margin    = 3 * time.Second
	asleep    = time.Second // without a look: this process itself was stopped, and has not heard what the ranks did
)

func (w *watch) run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	w.e.elapsed = 0
	cancelled := ctx.Done()
	for w.left > 0 {
		select {
		case ev := <-w.e.events:
			w.note(ev)
		case <-cancelled:
			cancelled = nil
			w.stop(failure.Cancelled)
		case <-tick.C:
			w.judge()
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return w.result()
}

func (w *watch) note(ev event) {
	if ev.ended {
		w.died(ev.rank)
		return
	}
	switch ev.Do {
	case progress:
		w.moved = time.Now()
	case exchange:
		maps.Copy(w.handles, ev.Handles)
		if w.came++; w.came == len(w.e.ranks) {
			all := w.handles
			w.came, w.handles = 0, map[int]cuda.IPCHandle{}
			w.e.each(func(int) message { return message{Do: exchange, Handles: all} })
		}
	case run:
		w.moved = time.Now()
		w.e.elapsed = max(w.e.elapsed, ev.Elapsed)
		w.ended(ev.rank, ev.message)
	}
}

// ended takes what a rank's process says at the end of its part.
func (w *watch) ended(r int, m message) {
	o := outcome{over: true}
	switch {
	case m.State != nil:
		s := m.State.unpacked(r, w.kernel(r), w.e.cfg.Sites)
		o.state = &s
		if s.State == failure.Failed {
			w.fail(r)
		} else {
			w.stop(m.Cause)
		}
	case m.Err != nil:
		if w.stopped.IsZero() {
			w.err = fmt.Errorf("rank %d: %w", r, m.Err)
		}
		w.stop(failure.Fault)
		o.state = &failure.Rank{Rank: -1} // what it did is not known
	}
	w.over(r, o)
}

func (w *watch) over(r int, o outcome) {
	if !w.outcomes[r].over {
		w.left--
	}
	w.outcomes[r] = o
}

// died notes that a rank's process is gone.
func (w *watch) died(r int) {
	l := w.e.lost(r)
	w.over(r, outcome{true, &failure.Rank{Rank: r, State: failure.Dead, Kernel: w.kernel(r), Submitted: w.e.given[r], Completed: w.e.given[r] - 1,
		Code: abi.Died, V: [6]int64{int64(l.Signal), int64(l.Status)}, Output: l.Output}})
	w.fail(r)
}

// kernel is what a rank runs, where its commands are all of one kernel; else "".
func (w *watch) kernel(r int) string {
	q := w.e.queue[r]
	for _, c := range q {
		if c.Kernel != q[0].Kernel {
			return ""
		}
	}
	if len(q) == 0 {
		return ""
	}
	return w.e.cfg.Kernels[q[0].Kernel].Name
}

func (w *watch) fail(r int) {
	if w.first < 0 && w.err == nil {
		w.first, w.cause = r, failure.Fault
	}
	w.stop(failure.Fault)
}

// stop tells all ranks to leave their kernels.
func (w *watch) stop(cause failure.Cause) {
	if !w.stopped.IsZero() {
		return
	}
	w.stopped, w.cause = time.Now(), cause
	w.e.each(func(int) message { return message{Do: stop} })
}

// judge looks at the time.
func (w *watch) judge() {
	now := time.Now()
	if gap := now.Sub(w.judged); gap > asleep && !w.judged.IsZero() {
		w.moved = w.moved.Add(gap)
		if !w.stopped.IsZero() {
			w.stopped = w.stopped.Add(gap)
		}
	}
	w.judged = now
	if !w.stopped.IsZero() {
		if now.Sub(w.stopped) > w.e.cfg.Grace+margin {
			w.giveUp()
		}
		return
	}
	if t := w.e.cfg.Timeout; t > 0 && now.Sub(w.moved) > t {
		w.stop(failure.Timeout)
	}
}

// giveUp ends the processes that do not answer any more.
func (w *watch) giveUp() {
	for r, o := range w.outcomes {
		if o.over {
			continue
		}
		w.e.ranks[r].proc.Kill()
		w.over(r, outcome{true, &failure.Rank{Rank: r, State: failure.Stuck, Kernel: w.kernel(r), Submitted: w.e.given[r],
			Completed: w.e.given[r] - 1, Code: abi.Stuck}})
		w.e.broken = fmt.Errorf("the process of rank %d did not answer", r)
	}
}

// result puts the ranks' outcomes together.
func (w *watch) result() error {
	if w.err != nil {
		return w.err
	}
	f := &failure.Failure{Cause: w.cause, First: w.first, After: w.e.cfg.Timeout.String()}
	bad := false
	for r, o := range w.outcomes {
		s := failure.Rank{Rank: r, Submitted: w.e.given[r], Completed: w.e.given[r]}
		if o.state != nil {
			s, bad = *o.state, true
		}
		if s.Rank >= 0 {
			f.Ranks = append(f.Ranks, s)
		}
	}
	if !bad {
		return nil
	}
	return f
}
