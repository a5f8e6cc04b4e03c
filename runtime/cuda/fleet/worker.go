package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ptoc/codegen/abi"
	"ptoc/runtime/cuda"
	"ptoc/runtime/failure"
)

// workerEnv, when set, makes a process the worker of a rank.
const workerEnv = "PTOC_GPU_WORKER"

// Inherited descriptors: the connection, and the file of the heap.
const (
	connFD = 3
	heapFD = 4
)

// MaybeWorker turns this process into a rank's if another one's Open started it for that, and then never returns.
// main and TestMain call it before anything else. driver finds the GPUs.
func MaybeWorker(driver func() (cuda.Driver, error)) {
	if os.Getenv(workerEnv) == "" {
		return
	}
	w := &worker{conn: newConn(os.NewFile(connFD, "connection")), heap: os.NewFile(heapFD, "heap"), driver: driver,
		calls: make(chan call, 16), handles: make(chan map[int]cuda.IPCHandle, 1)}
	if err := w.serve(); err != nil {
		fmt.Fprintln(os.Stderr, "ptoc worker:", err)
		os.Exit(1)
	}
	syscall.Exit(0) // nothing is left to do, and os.Exit of a race build sleeps a second
}

// worker is the process of one rank.
type worker struct {
	conn    *conn
	heap    *os.File
	driver  func() (cuda.Driver, error)
	calls   chan call
	handles chan map[int]cuda.IPCHandle

	rank   int
	engine *cuda.Engine
	maps   []mapping // by offset
	run    context.Context
	given  int64 // commands so far
	told   int64 // of progress
	toldAt time.Time
}

// call is a message; a run's ends early when ctx does.
type call struct {
	message
	ctx context.Context
}

// mapping is a tensor: part of the heap's file as this process and its GPU see it.
type mapping struct {
	offset int64
	data   []byte
	at     cuda.Ptr
}

// serve answers calls until the connection ends.
func (w *worker) serve() error {
	if err := w.conn.send(message{Do: hello}); err != nil {
		return err
	}
	go w.receive()
	for c := range w.calls {
		answer, answered := w.answer(c)
		if !answered {
			continue
		}
		answer.Do = c.Do
		if err := w.conn.send(answer); err != nil {
			return nil // nobody is there any more
		}
	}
	// The engine is not closed: others may still have this rank's windows open, and memory must not be freed before they
	// close it. The end of the process gives everything back.
	return nil
}

// receive hands calls on, and what a run has to know while it goes on. When the connection ends so does the run.
func (w *worker) receive() {
	defer close(w.calls)
	end := func(error) {}
	for {
		m, err := w.conn.receive()
		if err != nil {
			end(cuda.ErrStopped)
			return
		}
		switch m.Do {
		case stop:
			end(cuda.ErrStopped)
		case exchange:
			w.handles <- m.Handles
		case run:
			var ctx context.Context
			ctx, end = context.WithCancelCause(context.Background())
			w.calls <- call{m, ctx}
		default:
			w.calls <- call{message: m}
		}
	}
}

func (w *worker) answer(c call) (out message, answered bool) {
	var err error
	switch c.Do {
	case open:
		err = w.open(c.Rank, c.Program)
	case mapMemory:
		err = w.mapMemory(c.Offset, c.Bytes)
	case unmapMemory:
		w.unmapMemory(c.Offset)
		return out, false
	case domain:
		var id int
		id, err = w.engine.Domain(c.Devices)
		out.Number = int64(id)
	case window:
		out.Number, err = w.engine.AllocWindow(c.Bytes)
	case resetWindows:
		w.engine.ResetWindows()
		return out, false
	case look:
		out.Data, err = w.engine.Window(w.rank, c.Offset, c.Bytes)
	case recovered:
		err = w.engine.Recover()
	case run:
		out, err = w.runAll(c)
	}
	out.Err = newFault(err)
	return out, true
}

func (w *worker) open(rank int, p *program) error {
	driver, err := w.driver()
	if err != nil {
		return err
	}
	w.rank = rank
	for i := range p.Kernels {
		if p.Needs[i] {
			restore(&p.Kernels[i])
		}
	}
	share := &cuda.Share{Local: []int{rank}, Exchange: w.exchange, Progress: w.progress}
	w.engine, err = cuda.Open(cuda.Config{Driver: cuda.Only(driver, rank), Ranks: p.Ranks, PTX: p.PTX, Arch: p.Arch, Kernels: p.Kernels,
		Sites: numberedSites(p.Sites), Timeout: p.Timeout, Grace: p.Grace, Share: share})
	return err
}

func (w *worker) mapMemory(offset, bytes int64) error {
	data, err := mapHeap(w.heap, offset, bytes)
	if err != nil {
		return err
	}
	at, err := w.engine.Adopt(data)
	if err != nil {
		unix.Munmap(data)
		return err
	}
	i, _ := w.mapping(offset)
	w.maps = slices.Insert(w.maps, i, mapping{offset, data, at})
	return nil
}

func mapHeap(f *os.File, offset, bytes int64) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), offset, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func (w *worker) unmapMemory(offset int64) {
	if i, ok := w.mapping(offset); ok && w.engine.Disown(w.maps[i].data) == nil {
		unix.Munmap(w.maps[i].data)
		w.maps = slices.Delete(w.maps, i, i+1)
	}
}

// mapping is where the tensor at offset is in maps, or would be.
func (w *worker) mapping(offset int64) (int, bool) {
	return slices.BinarySearchFunc(w.maps, offset, func(m mapping, o int64) int { return int(m.offset - o) })
}

// runAll runs a rank's commands. What went wrong on the rank is no error.
func (w *worker) runAll(c call) (out message, err error) {
	w.run, w.told, w.toldAt = c.ctx, 0, time.Now()
	select {
	case <-w.handles: // of a run that was stopped
	default:
	}
	for _, k := range c.Commands {
		for i, a := range k.Args {
			if a.Tag == abi.TagHeap {
				k.Args[i].Value = w.onGPU(a.Value)
			}
		}
		w.engine.Submit(w.rank, k.Kernel, k.Args)
	}
	w.given += int64(len(c.Commands))
	if c.Elsewhere {
		w.engine.Submit((w.rank+1)%w.engine.Ranks(), 0, nil)
	}
	err = w.engine.Wait(c.ctx)
	out.Elapsed = w.engine.Elapsed()
	var f *failure.Failure
	switch {
	case errors.As(err, &f):
		out.State, out.Cause, err = packed(f.Ranks[0]), f.Cause, nil
	case errors.Is(err, cuda.ErrStopped): // before its kernels began
		out.State, out.Cause, err = &state{Submitted: w.given, Completed: w.given - int64(len(c.Commands)), Site: -1}, failure.Cancelled, nil
	}
	return out, err
}

// onGPU is where the GPU sees an address of the heap.
func (w *worker) onGPU(addr int64) int64 {
	i, exact := w.mapping(addr)
	if !exact {
		i-- // it lies within the one before
	}
	return int64(w.maps[i].at) + addr - w.maps[i].offset
}

// exchange gives the other ranks this one's windows and waits for theirs.
func (w *worker) exchange(mine map[int]cuda.IPCHandle) (map[int]cuda.IPCHandle, error) {
	if err := w.conn.send(message{Do: exchange, Handles: mine}); err != nil {
		return nil, err
	}
	select {
	case all := <-w.handles:
		return all, nil
	case <-w.run.Done():
		return nil, context.Cause(w.run)
	}
}

// progress is told the controlling process from time to time, if there is any.
func (w *worker) progress(n int64) {
	const often = 20 * time.Millisecond
	if n != w.told && time.Since(w.toldAt) > often {
		w.told, w.toldAt = n, time.Now()
		w.conn.send(message{Do: progress, Number: n})
	}
}
