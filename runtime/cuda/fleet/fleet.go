// Package fleet runs each rank on a GPU of its own, in a process of its own.
//
// This process keeps the host program, and one memory file with its tensors, which all processes map and
// their GPUs reach. A rank's process has a cuda.Engine for its rank alone: it gets its kernels when the host
// waits, and meets the others by handles of their windows. What a rank does wrong, to the point that its process
// is gone, ends the run with a report; no process outlives this one.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ptoc/codegen/abi"
	"ptoc/runtime/cuda"
	"ptoc/runtime/process"
)

// Engine is a set of ranks with processes. It is not for several goroutines at once.
type Engine struct {
	cfg    cuda.Config
	ranks  []*rank
	events chan event
	closed chan struct{}

	heap    *os.File
	used    int64                  // of the heap; what is freed is not used again, and has no memory
	tensors map[int64]*cuda.Buffer // by address

	queue   [][]command
	given   []int64 // commands so far, by rank
	elapsed time.Duration
	broken  error
}

// rank is the process of one.
type rank struct {
	proc *process.Process
	conn *conn
	deaf bool // it took no message any more, and was ended
}

// event is what a rank's process said, or that its connection ended.
type event struct {
	rank  int
	ended bool
	message
}

// readyTimeout bounds how long a process takes to say that it is there. One that takes longer is no worker.
const readyTimeout = 20 * time.Second

const page = 4096

// Open starts a process for each rank. cfg.Driver is only asked about the GPUs: the processes have their own.
func Open(ctx context.Context, cfg cuda.Config) (*Engine, error) {
	if cfg.Ranks < 1 || cfg.Ranks > abi.MaxRanks {
		return nil, fmt.Errorf("%d ranks: an engine has 1 to %d", cfg.Ranks, abi.MaxRanks)
	}
	if cfg.Grace == 0 {
		cfg.Grace = 2 * time.Second
	}
	if err := cfg.EnoughGPUs(); err != nil {
		return nil, err
	}
	// A memory file has no name: it is gone with the last process that maps it, however that ends.
	fd, err := unix.MemfdCreate("ptoc", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, ranks: make([]*rank, cfg.Ranks), events: make(chan event), closed: make(chan struct{}),
		heap: os.NewFile(uintptr(fd), "ptoc"),
		used: page, tensors: map[int64]*cuda.Buffer{}, queue: make([][]command, cfg.Ranks), given: make([]int64, cfg.Ranks)}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// start starts the processes, and their engines.
func (e *Engine) start(ctx context.Context) error {
	for r := range e.ranks {
		if err := e.spawn(r); err != nil {
			return fmt.Errorf("starting the process of rank %d: %w", r, err)
		}
	}
	ready, cancel := context.WithTimeoutCause(ctx, readyTimeout, errors.New("it is no worker: main must call fleet.MaybeWorker first"))
	defer cancel()
	if _, err := e.answers(ready, hello); err != nil {
		return err
	}
	p := &program{Ranks: e.cfg.Ranks, PTX: e.cfg.PTX, Arch: e.cfg.Arch, Kernels: e.cfg.Kernels, Sites: len(e.cfg.Sites), Timeout: e.cfg.Timeout, Grace: e.cfg.Grace}
	for _, k := range p.Kernels {
		p.Needs = append(p.Needs, k.Demand != nil)
	}
	e.each(func(r int) message { return message{Do: open, Rank: r, Program: p} })
	_, err := e.answers(ctx, open)
	return err
}

func (e *Engine) spawn(r int) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	unix.SetNonblock(fds[0], true) // so that it has deadlines
	ours, theirs := os.NewFile(uintptr(fds[0]), "connection"), os.NewFile(uintptr(fds[1]), "connection")
	defer theirs.Close()
	k := &rank{conn: newConn(ours)}
	if k.proc, err = process.Start([]string{workerEnv + "=" + strconv.Itoa(r)}, []*os.File{theirs, e.heap}, nil); err != nil {
		ours.Close()
		return err
	}
	e.ranks[r] = k
	go func() {
		for {
			m, err := k.conn.receive()
			select {
			case e.events <- event{r, err != nil, m}:
			case <-e.closed:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return nil
}

// each sends every process a message. One that is gone shows as an event.
func (e *Engine) each(of func(r int) message) {
	for r := range e.ranks {
		e.tell(r, of(r))
	}
}

// tell sends a process a message. One that does not take it, because it is stopped and the connection is full, is ended.
func (e *Engine) tell(r int, m message) {
	k := e.ranks[r]
	if e.cfg.Timeout > 0 {
		k.conn.file.SetWriteDeadline(time.Now().Add(e.cfg.Timeout + margin))
	}
	if err := k.conn.send(m); errors.Is(err, os.ErrDeadlineExceeded) {
		k.deaf = true
		k.proc.Kill()
	}
}

// answers waits until all processes have answered a call; the first one's error is the error.
func (e *Engine) answers(ctx context.Context, do verb) ([]message, error) {
	out, came := make([]message, len(e.ranks)), make([]bool, len(e.ranks))
	for range e.ranks {
		ev, err := e.next(ctx, do)
		if err == errNoAnswer {
			err = e.silent(slices.Index(came, false))
		}
		if err != nil {
			return nil, err
		}
		out[ev.rank], came[ev.rank] = ev.message, true
	}
	for r, m := range out {
		if m.Err != nil {
			return nil, fmt.Errorf("rank %d: %w", r, m.Err)
		}
	}
	return out, nil
}

// next is the next answer to a call.
func (e *Engine) next(ctx context.Context, do verb) (event, error) {
	for {
		select {
		case <-ctx.Done():
			return event{}, context.Cause(ctx)
		case ev := <-e.events:
			if ev.ended && e.ranks[ev.rank].deaf {
				return ev, e.silent(ev.rank)
			}
			if ev.ended {
				return ev, e.lost(ev.rank)
			}
			if ev.Do == do {
				return ev, nil
			}
		}
	}
}

// Lost says that the process of a rank ended before its kernels began, or after.
type Lost struct {
	Rank           int
	Signal, Status int
	Output         string // the last that it wrote
}

func (l *Lost) Error() string {
	how := fmt.Sprintf("ended with status %d", l.Status)
	if l.Signal != 0 {
		how = fmt.Sprintf("was ended by signal %d", l.Signal)
	}
	return strings.TrimSpace(fmt.Sprintf("the process of rank %d %s\n%s", l.Rank, how, l.Output))
}

// lost notes that the process of a rank is gone. One that only closed its connection is ended.
func (e *Engine) lost(r int) *Lost {
	p := e.ranks[r].proc
	select {
	case <-p.Done():
	case <-time.After(margin):
		p.Kill()
	}
	l := &Lost{Rank: r, Output: p.Output()}
	l.Signal, l.Status = p.Ending()
	e.broken = l
	return l
}

// Silent says that the process of a rank did not answer, and was ended.
type Silent struct{ Rank int }

func (s *Silent) Error() string {
	return fmt.Sprintf("the process of rank %d does not answer: it was ended", s.Rank)
}

// ask is a call of all processes.
func (e *Engine) ask(m message) ([]message, error) {
	if e.broken != nil {
		return nil, e.broken
	}
	e.each(func(int) message { return m })
	ctx, cancel := e.patient(m.Bytes)
	defer cancel()
	return e.answers(ctx, m.Do)
}

// patient bounds how long an answer may take, with as much time again for memory of so many bytes, which is pinned page
// for page.
func (e *Engine) patient(bytes int64) (context.Context, context.CancelFunc) {
	if e.cfg.Timeout == 0 {
		return context.WithCancel(context.Background())
	}
	const bytesPerSecond = 256 << 20
	return context.WithTimeoutCause(context.Background(), e.cfg.Timeout+margin+time.Duration(bytes/bytesPerSecond)*time.Second, errNoAnswer)
}

var errNoAnswer = errors.New("no answer")

// silent ends a process that does not answer.
func (e *Engine) silent(rank int) error {
	e.ranks[rank].proc.Kill()
	e.broken = &Silent{rank}
	return e.broken
}

// Ranks is their number.
func (e *Engine) Ranks() int { return e.cfg.Ranks }

// Elapsed is how long the GPUs took for the kernels of the last Wait: the longest of them.
func (e *Engine) Elapsed() time.Duration { return e.elapsed }

// Alloc makes a zeroed tensor that all processes and GPUs reach.
func (e *Engine) Alloc(bytes int64) (*cuda.Buffer, error) {
	if bytes < 0 {
		return nil, fmt.Errorf("a tensor of %d bytes", bytes)
	}
	at, size := e.used, (max(bytes, 1)+page-1)&^(page-1)
	if err := e.heap.Truncate(at + size); err != nil {
		return nil, fmt.Errorf("a tensor of %d bytes: %w", bytes, err)
	}
	data, err := mapHeap(e.heap, at, size)
	if err != nil {
		return nil, fmt.Errorf("a tensor of %d bytes: %w", bytes, err)
	}
	e.used += size
	if _, err := e.ask(message{Do: mapMemory, Offset: at, Bytes: size}); err != nil {
		unix.Munmap(data)
		return nil, err
	}
	b := &cuda.Buffer{Addr: at, Data: data[:bytes]}
	e.tensors[at] = b
	return b, nil
}

// Free gives the tensor at addr back.
func (e *Engine) Free(addr int64) {
	b := e.tensors[addr]
	if b == nil || e.broken != nil {
		return
	}
	delete(e.tensors, addr)
	e.each(func(int) message { return message{Do: unmapMemory, Offset: addr} })
	data := b.Data[:cap(b.Data)]
	unix.Fallocate(int(e.heap.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, addr, int64(len(data)))
	unix.Munmap(data)
}

// Domain returns the number of an ordered set of devices that share windows.
func (e *Engine) Domain(devices []int) (int, error) {
	all, err := e.ask(message{Do: domain, Devices: devices})
	if err != nil {
		return 0, err
	}
	return int(all[0].Number), nil
}

// AllocWindow makes a zeroed window at the same offset of every rank's segment.
func (e *Engine) AllocWindow(bytes int64) (int64, error) {
	all, err := e.ask(message{Do: window, Bytes: bytes})
	if err != nil {
		return 0, err
	}
	return all[0].Number, nil
}

// ResetWindows frees all windows.
func (e *Engine) ResetWindows() { e.each(func(int) message { return message{Do: resetWindows} }) }

// Window is what part of a rank's window holds. The host only looks at it.
func (e *Engine) Window(rank int, offset, bytes int64) ([]byte, error) {
	if e.broken != nil {
		return nil, e.broken
	}
	e.tell(rank, message{Do: look, Offset: offset, Bytes: bytes})
	ctx, cancel := e.patient(bytes)
	defer cancel()
	ev, err := e.next(ctx, look)
	if err == errNoAnswer {
		err = e.silent(rank)
	}
	if err == nil && ev.Err != nil {
		err = ev.Err
	}
	return ev.Data, err
}

// Submit gives a rank a kernel. It keeps nothing of args. Kernels start when the host waits.
func (e *Engine) Submit(rank, kernel int, args []abi.Arg) {
	e.queue[rank] = append(e.queue[rank], command{kernel, append([]abi.Arg(nil), args...)})
	e.given[rank]++
}

// Recover makes the engine usable again after a failure, if all processes are still there.
func (e *Engine) Recover() error {
	_, err := e.ask(message{Do: recovered})
	return err
}

// Close ends the processes: politely, then not.
func (e *Engine) Close() error {
	close(e.closed)
	for _, k := range e.ranks {
		if k != nil {
			unix.Shutdown(int(k.conn.file.Fd()), unix.SHUT_RDWR) // wakes who receives
		}
	}
	grace, killed := time.After(e.cfg.Grace), false
	for _, k := range e.ranks {
		if k == nil {
			continue
		}
		if !killed {
			select {
			case <-k.proc.Done():
			case <-grace:
				killed = true
				e.kill()
			}
		}
		k.conn.file.Close()
	}
	for _, b := range e.tensors {
		unix.Munmap(b.Data[:cap(b.Data)])
	}
	return e.heap.Close()
}

// kill ends all processes at once.
func (e *Engine) kill() {
	var wg sync.WaitGroup
	for _, k := range e.ranks {
		if k != nil {
			wg.Go(k.proc.Kill)
		}
	}
	wg.Wait()
}
