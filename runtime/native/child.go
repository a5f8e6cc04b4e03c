package native

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"ptoc/codegen/abi"
)

// child is the process of one rank.
type child struct {
	cmd    *exec.Cmd
	done   chan struct{} // closed when it has ended and its fault is recorded
	output tail
}

func (c *child) exited() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// tail keeps the last bytes that are written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - tailBytes; extra > 0 {
		t.buf = append([]byte{}, t.buf[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}

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
	e.kids = make([]*child, e.cfg.Ranks)
	for r := range e.kids {
		e.kids[r] = &child{done: make(chan struct{})}
		close(e.kids[r].done) // not running yet
	}
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
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	c := &child{cmd: exec.Command(exe), done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), workerEnv+"="+workerSpec{
		Rank: r, Ranks: e.cfg.Ranks, Engine: e.cfg.EnginePath,
		WindowBytes: e.cfg.WindowBytes, HeapBytes: e.cfg.HeapBytes,
	}.encode(), "GOMAXPROCS=1", "GOGC=off")
	if os.Getenv("GOTRACEBACK") == "" { // the report names the kernel; our own stacks tell a user nothing
		c.cmd.Env = append(c.cmd.Env, "GOTRACEBACK=none")
	}
	c.cmd.ExtraFiles = []*os.File{e.region.file}
	c.cmd.Stderr = &c.output
	c.cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL, // nobody is left when we are killed
		Setpgid:   true,            // Ctrl-C is ours to handle
	}
	started := make(chan error)
	go func() {
		// Pdeathsig comes when the *thread* that started the child ends: this
		// one stays as long as the child.
		runtime.LockOSThread()
		err := c.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		c.cmd.Wait()
		e.recordDeath(r, c)
		close(c.done)
		runtime.UnlockOSThread()
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("starting the process of rank %d: %w", r, err)
	}
	e.kids[r] = c
	return nil
}

func (e *Engine) awaitReady(r int) error {
	c := e.kids[r]
	state := &e.region.rank(r).State
	for end := time.Now().Add(readyTimeout); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		if atomic.LoadInt32(state) == int32(abi.RankRunning) {
			return nil
		}
		if c.exited() {
			return fmt.Errorf("the process of rank %d ended at once: %v\n%s", r, c.cmd.ProcessState, c.output.String())
		}
	}
	return fmt.Errorf("the process of rank %d does not start: main must call native.MaybeWorker first", r)
}

// recordDeath turns the end of a process into a fault of its rank.
func (e *Engine) recordDeath(r int, c *child) {
	if e.dying.Load() {
		return
	}
	ctl, rank := e.region.control(), e.region.rank(r)
	if rank.Status == int32(abi.OK) {
		rank.Fault = abi.Fault{Code: abi.Died, Site: -1}
		if ws, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			rank.Fault.V[0] = int64(ws.Signal())
		} else {
			rank.Fault.V[1] = int64(c.cmd.ProcessState.ExitCode())
		}
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
	if e.kids == nil || e.kids[r].cmd == nil {
		return
	}
	e.kids[r].cmd.Process.Kill()
	<-e.kids[r].done
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
		if c.cmd == nil {
			continue
		}
		select {
		case <-c.done:
		case <-grace:
			for _, c := range e.kids {
				if c.cmd != nil && !c.exited() {
					c.cmd.Process.Kill()
				}
			}
			<-c.done
		}
	}
}
