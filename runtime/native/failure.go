package native

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"ptoc/codegen/abi"
)

// RankStatus is what is known of one rank.
type RankStatus struct {
	Rank      int
	Code      abi.Code // OK: nothing is wrong with it
	Site      int32    // of the fault, or of the loop that was aborted; -1 when unknown
	Operands  [6]int64 // of the fault; see abi.Codes
	Kernel    Kernel   // that runs, or failed; -1: none
	Name      string   // of the kernel
	Seq       int64    // of that command
	Submitted int64
	Completed int64
	Wait      *WaitStatus // the wait that the rank is in, or was in when it was aborted
	Exited    bool        // its process ended
	Output    string      // the last that its process wrote on stderr
}

// WaitStatus describes a wait that was not satisfied.
type WaitStatus struct {
	Site   int32
	Domain Domain
	Offset int64 // of the cell in the rank's window segment
	Cmp    abi.Cmp
	Want   int32
	Seen   int32
}

// Status returns the present state of every rank.
func (e *Engine) Status() []RankStatus {
	out := make([]RankStatus, e.cfg.Ranks)
	for r := range out {
		out[r] = e.rankStatus(r)
	}
	return out
}

func (e *Engine) rankStatus(r int) RankStatus {
	c := e.region.rank(r)
	s := RankStatus{
		Rank: r, Site: -1,
		Code:      abi.Code(atomic.LoadInt32(&c.Status)),
		Kernel:    Kernel(atomic.LoadInt32(&c.Kernel)),
		Submitted: atomic.LoadInt64(&e.queues[r].seq),
		Completed: e.completed(r),
	}
	if s.Code == abi.OK && c.FaultSeq > 0 { // from that one on, commands were skipped
		s.Completed = c.FaultSeq - 1
	}
	s.Seq = s.Completed
	if s.Kernel >= 0 {
		s.Seq++
	}
	if s.Code != abi.OK {
		s.Kernel, s.Seq = Kernel(c.FaultKern), c.FaultSeq
		if c.Fault.Code == s.Code {
			s.Site, s.Operands = c.Fault.Site, c.Fault.V
		}
	}
	s.Name = e.KernelName(s.Kernel)
	if atomic.LoadInt32(&c.Waiting) != int32(abi.WaitNone) {
		s.Wait = &WaitStatus{
			Site: atomic.LoadInt32(&c.WaitSite), Domain: Domain(atomic.LoadInt32(&c.WaitDom)),
			Offset: atomic.LoadInt64(&c.WaitCell), Cmp: abi.Cmp(atomic.LoadInt32(&c.WaitCmp)),
			Want: atomic.LoadInt32(&c.WaitWant), Seen: atomic.LoadInt32(&c.WaitSeen),
		}
	}
	if e.kids != nil {
		s.Exited, s.Output = e.kids[r].Exited(), e.kids[r].Output()
	}
	return s
}

type cause int

const (
	causeFault cause = iota
	causeTimeout
	causeCancelled
)

// Failure says why the ranks were aborted, and what each was doing then.
type Failure struct {
	TimedOut  bool // nobody made progress
	Cancelled bool // the host gave up
	First     int  // the rank that failed first; -1 when none did
	Ranks     []RankStatus
	timeout   time.Duration
}

// Error is a plain summary; the controller knows source lines and tells more.
func (f *Failure) Error() string {
	var b strings.Builder
	switch {
	case f.TimedOut:
		fmt.Fprintf(&b, "no rank made progress for %v", f.timeout)
	case f.Cancelled:
		b.WriteString("cancelled")
	default:
		b.WriteString("a rank failed")
	}
	for _, r := range f.Ranks {
		if f.First == r.Rank || (f.First < 0 && r.Code != abi.OK) {
			fmt.Fprintf(&b, "; rank %d: %v", r.Rank, r)
		}
	}
	return b.String()
}

func (r RankStatus) String() string {
	switch {
	case r.Wait != nil:
		op := [...]string{"==", ">="}[r.Wait.Cmp&1]
		return fmt.Sprintf("%s waits at site %d for the cell at %d %s %d, and sees %d",
			r.Name, r.Wait.Site, r.Wait.Offset, op, r.Wait.Want, r.Wait.Seen)
	case r.Code == abi.OK && r.Kernel < 0:
		return "idle"
	case r.Code == abi.OK:
		return r.Name + " runs"
	}
	s := fmt.Sprintf("%s: %v", r.Name, r.Code)
	if info, ok := r.Code.Info(); ok {
		for i, name := range info.Operands {
			s += fmt.Sprintf(", %s %d", name, r.Operands[i])
		}
	}
	return s
}

// fail aborts all ranks, gives them time to leave their kernels, and returns
// what happened. The first call decides; later ones get the same Failure.
func (e *Engine) fail(why cause) error {
	e.failMu.Lock()
	defer e.failMu.Unlock()
	if e.failure != nil {
		return e.failure
	}
	ctl := e.region.control()
	atomic.StoreInt32(&ctl.Abort, 1)
	e.wakeAll()
	e.drain()
	f := &Failure{
		TimedOut: why == causeTimeout, Cancelled: why == causeCancelled,
		First: int(atomic.LoadInt32(&ctl.First)), timeout: e.cfg.Timeout,
	}
	for r := range e.cfg.Ranks {
		s := e.rankStatus(r)
		if !e.idle(r) {
			s.Code = abi.Stuck
			e.kill(r)
		}
		f.Ranks = append(f.Ranks, s)
	}
	e.failure = f
	return f
}

// drain waits until no rank runs anything, but not longer than the grace.
func (e *Engine) drain() {
	end := time.Now().Add(e.cfg.Grace)
	for i := 0; time.Now().Before(end); i++ {
		busy := false
		for r := range e.cfg.Ranks {
			busy = busy || !e.idle(r)
		}
		if !busy {
			return
		}
		if i < hostYields {
			yieldCore()
		} else {
			time.Sleep(time.Millisecond)
		}
	}
}

func (e *Engine) idle(r int) bool {
	return e.completed(r) >= atomic.LoadInt64(&e.queues[r].seq) || (e.kids != nil && e.kids[r].Exited())
}

// Reset makes the engine usable again after a failure. Processes that died are
// started anew; a thread that is stuck makes it impossible. Windows keep what
// they hold: ResetWindows clears them.
func (e *Engine) Reset() error {
	for r := range e.cfg.Ranks {
		if !e.idle(r) {
			return errors.Join(fmt.Errorf("rank %d cannot be reset", r), ErrLeaked)
		}
	}
	for r := range e.cfg.Ranks {
		c := e.region.rank(r)
		c.Status, c.Waiting, c.Kernel, c.Sleeping, c.Fault, c.FaultSeq = 0, 0, -1, 0, abi.Fault{}, 0
		if e.kids != nil && e.kids[r].Exited() {
			if err := e.restart(r); err != nil {
				return err
			}
		}
	}
	ctl := e.region.control()
	atomic.StoreInt32(&ctl.First, -1)
	atomic.StoreInt32(&ctl.Abort, 0)
	e.failMu.Lock()
	e.failure = nil
	e.failMu.Unlock()
	return nil
}
