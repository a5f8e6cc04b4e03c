package native

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Wait waits until every rank has done everything that was submitted before.
// The error is a *Failure, or that of ctx, which also aborts the ranks.
func (e *Engine) Wait(ctx context.Context) error {
	want := make([]int64, e.cfg.Ranks)
	for r := range want {
		want[r] = atomic.LoadInt64(&e.queues[r].seq)
	}
	next := 0
	err := e.waitUntil(ctx, func() bool {
		for next < len(want) && e.completed(next) >= want[next] {
			next++
		}
		return next == len(want)
	})
	e.lib.order()
	return err
}

// WaitFor waits until a rank has done the command seq and those before it.
func (e *Engine) WaitFor(ctx context.Context, rank int, seq int64) error {
	err := e.waitUntil(ctx, func() bool { return e.completed(rank) >= seq })
	e.lib.order()
	return err
}

// Done says whether a rank has ended the command seq, or dropped it.
func (e *Engine) Done(rank int, seq int64) bool { return e.completed(rank) >= seq }

func (e *Engine) completed(rank int) int64 {
	return atomic.LoadInt64(&e.region.rank(rank).Completed)
}

func (e *Engine) aborted() bool { return atomic.LoadInt32(&e.region.control().Abort) != 0 }

const (
	hostYields = 100
	hostSleep  = 20 * time.Millisecond
)

// hostSpins is how often the host looks before it yields: for about two
// microseconds, but much less where it keeps a rank from running.
func hostSpins(ranks int) int {
	if ranks < runtime.NumCPU() {
		return 1000
	}
	return 50
}

// waitUntil waits for ready, in the ranks' own manner: it looks a few times,
// then yields the core (the ranks may need it), then sleeps. While it waits it
// watches for progress: without any for the timeout, the ranks hang.
func (e *Engine) waitUntil(ctx context.Context, ready func() bool) error {
	spins := hostSpins(e.cfg.Ranks)
	for i := range spins + hostYields {
		// A rank that fails says so before it counts the command as done.
		ok := ready()
		if e.aborted() {
			return e.fail(causeFault)
		}
		if ok {
			return nil
		}
		if i >= spins {
			yieldCore()
		}
	}
	ctl := e.region.control()
	atomic.AddInt32(&ctl.HostWaiting, 1)
	defer atomic.AddInt32(&ctl.HostWaiting, -1)
	sleep := min(hostSleep, max(e.cfg.Timeout/4, time.Millisecond))
	last, since := e.progress(), time.Now()
	for {
		done := atomic.LoadInt32(&ctl.Done)
		ok := ready()
		if e.aborted() {
			return e.fail(causeFault)
		}
		if ok {
			return nil
		}
		if ctx.Err() != nil {
			e.fail(causeCancelled)
			return ctx.Err()
		}
		if now := e.progress(); now != last {
			last, since = now, time.Now()
		} else if time.Since(since) > e.cfg.Timeout {
			return e.fail(causeTimeout)
		}
		e.region.sleep(&ctl.Done, done, sleep)
	}
}

// progress is a number that changes while any rank gets on.
func (e *Engine) progress() int64 {
	var sum int64
	for r := range e.cfg.Ranks {
		c := e.region.rank(r)
		sum += atomic.LoadInt64(&c.Completed) + atomic.LoadInt64(&c.Progress)
	}
	return sum
}
