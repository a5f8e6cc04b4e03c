package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"ptoc/codegen/abi"
	"ptoc/runtime/failure"
)

// watch is the host while kernels run. It looks at the ranks' control blocks from time to time, through a
// stream of its own, and sets the abort word when a rank has failed or none gets on.
type watch struct {
	e        *Engine
	plans    [][]step
	launches []*launching // of each group
	written  []*Buffer
	asked    bool // control blocks are on their way

	progress int64 // waits satisfied and steps ended
	moved    time.Time
	stopped  time.Time // when the abort word was set
	cause    failure.Cause
	first    int
	cancel   error
}

// How often the host looks. At first it only asks whether everything is over: most kernels are short.
const (
	briefly   = 200 * time.Microsecond
	lookEvery = time.Millisecond
	nap       = 20 * time.Microsecond
)

func (w *watch) run(ctx context.Context) error {
	e := w.e
	w.first = -1
	begin := e.clock.Now()
	looked := begin
	w.moved = begin
	for {
		if err := w.launch(); err != nil {
			return e.breakDown(w.during(err))
		}
		ended, err := w.ended()
		if err != nil {
			return e.breakDown(w.during(err))
		}
		if ended {
			break
		}
		now := e.clock.Now()
		if now.Sub(looked) > lookEvery {
			looked = now
			if err := w.look(now); err != nil {
				return e.breakDown(w.during(err))
			}
		}
		if ctx.Err() != nil && w.stopped.IsZero() {
			if w.cause = failure.Cancelled; context.Cause(ctx) != ErrStopped {
				w.cancel = ctx.Err()
			}
			w.stop(now)
		}
		if !w.stopped.IsZero() && now.Sub(w.stopped) > e.cfg.Grace {
			return w.stuck()
		}
		if now.Sub(begin) < briefly {
			runtime.Gosched()
		} else {
			e.clock.Sleep(nap)
		}
	}
	return w.finish()
}

// during says which kernels had not ended when the driver noticed what one of them did. It does not say which.
func (w *watch) during(err error) error {
	var driver *Error
	if !errors.As(err, &driver) || !driver.Stopped() {
		return err
	}
	var names []string
	for _, l := range w.launches {
		for _, a := range l.lanes {
			for _, i := range a.steps[a.ended:a.next] {
				if name := l.cfg.Kernels[l.steps[i].kernel].Name; !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	const most = 3
	switch n := len(names); {
	case n == 0:
		return err
	case n > most:
		names = append(names[:most], "others")
	}
	return fmt.Errorf("while %s ran: %w", strings.Join(names, ", "), err)
}

// launch launches as many steps as there is room for.
func (w *watch) launch() error {
	for _, l := range w.launches {
		if err := l.more(); err != nil {
			return err
		}
	}
	return nil
}

// ended reports whether all GPUs have done all steps.
func (w *watch) ended() (bool, error) {
	for _, l := range w.launches {
		if !l.whole {
			return false, nil
		}
		if done, err := l.g.dev.Done(l.g.end); !done || err != nil {
			return false, err
		}
	}
	return true, nil
}

// stop tells all ranks to leave.
func (w *watch) stop(now time.Time) {
	w.stopped = now
	put(w.e.abort.Data, int32(1))
}

// look fetches the control blocks and judges them. Where they do not come, because the copy has to wait for a kernel,
// those that came last are judged: time goes on for them.
func (w *watch) look(now time.Time) error {
	w.e.pulse++
	put(w.e.abort.Data[abi.Pulse:], w.e.pulse)
	if _, err := w.fetch(lookEvery); err != nil {
		return err
	}
	progress := int64(0)
	for _, l := range w.launches {
		n, err := l.count()
		if err != nil {
			return err
		}
		progress += n
	}
	for _, r := range w.e.local() {
		progress += w.e.control(r).Progress
	}
	w.judge(now, progress)
	return nil
}

func (w *watch) judge(now time.Time, progress int64) {
	if progress != w.progress {
		w.progress, w.moved = progress, now
	}
	tell := w.e.progress()
	if tell != nil {
		tell(progress)
	}
	if !w.stopped.IsZero() {
		return
	}
	if w.findFault(); w.first >= 0 {
		w.stop(now)
		return
	}
	if t := w.e.cfg.Timeout; t > 0 && tell == nil && now.Sub(w.moved) > t {
		w.cause = failure.Timeout
		w.stop(now)
	}
}

// findFault notes the first rank that failed by itself.
func (w *watch) findFault() {
	for _, r := range w.e.local() {
		if c := w.e.control(r).Fault.Code; w.first < 0 && c != abi.OK && c != abi.Aborted && c != abi.TimedOut {
			w.first = r
		}
	}
}

// fetch copies the control blocks of all GPUs, and reports whether they came in time. If not, they are still on their way.
func (w *watch) fetch(patience time.Duration) (bool, error) {
	e := w.e
	if !w.asked {
		for _, g := range e.groups {
			if err := g.dev.Download(g.look, g.seen.Data, g.control); err != nil {
				return false, err
			}
			if err := g.dev.Record(g.looked, g.look); err != nil {
				return false, err
			}
		}
		w.asked = true
	}
	until := e.clock.Now().Add(patience)
	for _, g := range e.groups {
		for {
			done, err := g.dev.Done(g.looked)
			if err != nil {
				return false, err
			}
			if done {
				break
			}
			if e.clock.Now().After(until) {
				return false, nil
			}
			runtime.Gosched()
		}
	}
	w.asked = false
	for _, r := range e.local() {
		e.control(r).Fault.Settle()
	}
	return true, nil
}

// fetchLast fetches the control blocks as they are now.
func (w *watch) fetchLast() error {
	for again := true; again; {
		again = w.asked // those on their way may be older
		if came, err := w.fetch(w.e.cfg.Grace); err != nil {
			return err
		} else if !came {
			return errors.New("the GPU has done everything, and does not say how that ended")
		}
	}
	return nil
}

// control is a rank's control block as it was when the host looked last.
func (e *Engine) control(rank int) *abi.RankCtl {
	g := e.home[rank]
	i := slices.Index(g.ranks, rank)
	return (*abi.RankCtl)(unsafe.Pointer(&g.seen.Data[int64(i)*controlBytes]))
}

// finish fetches what the kernels wrote, or says why there is nothing.
func (w *watch) finish() error {
	e := w.e
	if err := w.fetchLast(); err != nil {
		return e.breakDown(err)
	}
	w.findFault()
	late := false
	for _, r := range e.local() {
		late = late || e.control(r).Fault.Code == abi.TimedOut
	}
	if err := w.download(); err != nil {
		return e.breakDown(err)
	}
	e.elapsed = 0
	for _, g := range e.groups {
		t, err := g.dev.Elapsed(g.start, g.end)
		if err != nil {
			return e.breakDown(err)
		}
		e.elapsed = max(e.elapsed, t)
	}
	if w.cancel == nil && w.allDone() { // by themselves: if they were told to stop, none has looked
		w.stopped = time.Time{}
		put(e.abort.Data, int32(0))
	}
	if w.stopped.IsZero() && w.first < 0 && !late {
		copy(e.completed, e.submitted)
		return nil
	}
	switch {
	case w.cancel != nil: // nobody wants to know
		return w.cancel
	case w.first >= 0:
		w.cause = failure.Fault
	case late:
		w.cause = failure.Timeout
	}
	return w.failure(false)
}

// allDone reports whether all that ended did so at its end.
func (w *watch) allDone() bool {
	for _, r := range w.e.local() {
		if w.e.control(r).Fault.Code != abi.OK {
			return false
		}
	}
	return true
}

// download fetches the tensors that kernels wrote, and the host's views of windows.
func (w *watch) download() error {
	e := w.e
	for _, b := range w.written {
		if err := e.groups[0].dev.Download(e.groups[0].main, b.Data, b.dev); err != nil {
			return err
		}
	}
	for _, v := range e.windows.views {
		g := e.home[v.rank]
		if err := g.dev.Download(g.main, v.memory.Data, e.windows.segments[v.rank].at+Ptr(v.offset)); err != nil {
			return err
		}
	}
	for _, g := range e.groups {
		if err := g.finish(g.main, g.ready); err != nil {
			return err
		}
	}
	return nil
}

// stuck gives up on kernels that do not leave: only the end of the process stops them.
func (w *watch) stuck() error {
	if _, err := w.fetch(lookEvery); err != nil {
		return w.e.breakDown(err)
	}
	w.findFault()
	f := w.failure(true)
	w.e.broken, w.e.stuck = errors.New("a kernel on the GPU cannot be stopped: start ptoc again"), true
	if w.cancel != nil { // nobody wants to know
		return w.cancel
	}
	return f
}

// breakDown notes an error of the driver.
func (e *Engine) breakDown(err error) error {
	var d *Error
	if errors.As(err, &d) && d.Stopped() {
		err = fmt.Errorf("the GPU stopped: %w", err)
	}
	e.broken = err
	return err
}

// failure describes all ranks.
func (w *watch) failure(stuck bool) error {
	f := &failure.Failure{Cause: w.cause, First: w.first, After: w.e.cfg.Timeout.String()}
	for _, r := range w.e.local() {
		f.Ranks = append(f.Ranks, w.rank(r, stuck))
	}
	return f
}

func (w *watch) rank(r int, stuck bool) failure.Rank {
	e := w.e
	c := e.control(r)
	out := failure.Rank{Rank: r, Submitted: e.submitted[r], Completed: e.completed[r] + w.stepsOf(r), Code: c.Fault.Code, V: c.Fault.V}
	site := c.Fault.Site
	switch {
	case out.Code == abi.OK && !stuck || out.Completed == out.Submitted && out.Code == abi.OK:
		out.Completed = out.Submitted
		return out
	case out.Code == abi.OK: // it runs on, and has said nothing
		out.State, out.Code, site = failure.Stuck, abi.Stuck, -1
		out.Kernel = w.kernelOf(r)
	case out.Code == abi.Aborted || out.Code == abi.TimedOut:
		out.State = failure.Running
	default:
		out.State = failure.Failed
	}
	if w := abi.WaitState(c.Waiting); out.State != failure.Failed && (w == abi.WaitActive || w == abi.WaitAborted) {
		out.State, site = failure.Waiting, c.WaitSite
		out.Wait = &failure.Wait{At: e.site(site), Domain: int(c.WaitDom), Offset: c.WaitCell, Cmp: abi.Cmp(c.WaitCmp),
			Want: int64(c.WaitWant), Seen: int64(c.WaitSeen)}
	}
	out.At = e.site(site)
	if site >= 0 && int(site) < len(e.cfg.Sites) {
		out.Kernel = e.cfg.Sites[site].Kernel
	}
	out.Completed = min(out.Completed, out.Submitted-1)
	return out
}

// kernelOf names the kernel that a rank is at.
func (w *watch) kernelOf(rank int) string {
	for i, g := range w.e.groups {
		at := slices.Index(g.ranks, rank)
		for _, s := range w.plans[i] {
			if !s.done && slices.Contains(s.ranks, at) {
				return w.e.cfg.Kernels[s.kernel].Name
			}
		}
	}
	return ""
}

// stepsOf is how many of this Wait's kernels of a rank were seen to end.
func (w *watch) stepsOf(rank int) int64 {
	n := int64(0)
	for i, g := range w.e.groups {
		at := slices.Index(g.ranks, rank)
		for _, s := range w.plans[i] {
			if s.done && slices.Contains(s.ranks, at) {
				n++
			}
		}
	}
	return n
}

func (e *Engine) site(site int32) failure.Place {
	if site < 0 || int(site) >= len(e.cfg.Sites) {
		return failure.Place{}
	}
	return e.cfg.Sites[site].Place
}

// Recover makes the engine usable again after a failure.
func (e *Engine) Recover() error {
	if e.broken != nil {
		return e.broken
	}
	put(e.abort.Data, int32(0))
	copy(e.completed, e.submitted)
	for _, g := range e.groups {
		if err := g.forgive(); err != nil {
			return e.breakDown(err)
		}
	}
	return nil
}
