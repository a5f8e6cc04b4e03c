package native

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"ptoc/codegen/abi"
	"ptoc/runtime/process"
)

// readyTimeout bounds how long a process takes to become a rank. One that takes
// longer is no worker: its main does not call MaybeWorker.
const readyTimeout = 20 * time.Second

func (e *Engine) startChildren() error {
	// The host resolves tables too, to find mistakes early: an engine with no ranks.
	proc, err := e.lib.start(e.region, 0, 0)
	if err != nil {
		return err
	}
	e.proc = proc
	e.kids = make([]*process.Process, e.cfg.Ranks)
	for r := range e.kids {
		if err := e.spawn(r); err != nil {
			return err
		}
	}
	for r := range e.kids {
		if err := e.awaitReady(r); err != nil {
			return err
		}
	}
	return nil
}

// spawn starts the process of rank r.
func (e *Engine) spawn(r int) error {
	env := []string{workerEnv + "=" + workerSpec{
		Rank: r, Ranks: e.cfg.Ranks, Engine: e.cfg.EnginePath,
		WindowBytes: e.cfg.WindowBytes, HeapBytes: e.cfg.HeapBytes,
	}.encode(), "GOMAXPROCS=1", "GOGC=off"}
	p, err := process.Start(env, []*os.File{e.region.file}, func(p *process.Process) { e.recordDeath(r, p) })
	if err != nil {
		return fmt.Errorf("starting the process of rank %d: %w", r, err)
	}
	e.kids[r] = p
	return nil
}

func (e *Engine) awaitReady(r int) error {
	c := e.kids[r]
	state := &e.region.rank(r).State
	for end := time.Now().Add(readyTimeout); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		if atomic.LoadInt32(state) == int32(abi.RankRunning) {
			return nil
		}
		if c.Exited() {
			return fmt.Errorf("the process of rank %d ended at once: %s\n%s", r, c.State(), c.Output())
		}
	}
	return fmt.Errorf("the process of rank %d does not start: main must call native.MaybeWorker first", r)
}

// recordDeath turns the end of a process into a fault of its rank.
func (e *Engine) recordDeath(r int, p *process.Process) {
	if e.dying.Load() {
		return
	}
	ctl, rank := e.region.control(), e.region.rank(r)
	if rank.Status == int32(abi.OK) {
		rank.Fault = abi.Fault{Code: abi.Died, Site: -1}
		signal, status := p.Ending()
		rank.Fault.V[0], rank.Fault.V[1] = int64(signal), int64(status)
		rank.FaultKern, rank.FaultSeq = rank.Kernel, rank.Completed+1
		atomic.StoreInt32(&rank.Status, int32(abi.Died))
	}
	atomic.CompareAndSwapInt32(&ctl.First, -1, int32(r))
	atomic.StoreInt32(&ctl.Abort, 1)
	atomic.AddInt32(&ctl.Done, 1)
	e.region.wake(unsafe.Pointer(&ctl.Done))
	e.wakeAll()
}

// kill ends the process of a rank that does not react. A thread cannot be ended.
func (e *Engine) kill(r int) {
	if e.kids != nil {
		e.kids[r].Kill()
	}
}

// restart starts the process of rank r again, with nothing to do.
func (e *Engine) restart(r int) error {
	c, g, q := e.region.rank(r), e.region.ring(r), &e.queues[r]
	g.Head, g.Sleeping = g.Tail, 0
	c.Completed, c.State = q.seq, int32(abi.RankStarting)
	if err := e.spawn(r); err != nil {
		return err
	}
	return e.awaitReady(r)
}

// stopChildren ends all processes: politely, then not.
func (e *Engine) stopChildren() {
	grace := time.After(e.cfg.Grace)
	for _, c := range e.kids {
		select {
		case <-c.Done():
		case <-grace:
			for _, c := range e.kids {
				c.Kill()
			}
		}
	}
}
