package native

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"ptoc/codegen/abi"
)

// Arg is one argument of a command.
type Arg = abi.Arg

// Int passes an integer, Float a floating-point number.
func Int(v int64) Arg     { return Arg{Tag: abi.TagScalar, Value: v} }
func Float(v float64) Arg { return Arg{Tag: abi.TagScalar, Value: int64(math.Float64bits(v))} }

// Heap passes a pointer to the heap, Window one into the running rank's window
// segment.
func Heap(offset int64) Arg   { return Arg{Tag: abi.TagHeap, Value: offset} }
func Window(offset int64) Arg { return Arg{Tag: abi.TagWindow, Value: offset} }

// InDomain passes the domain as the running rank sees it. A distributed tensor
// is this and then the window's offset, as an Int.
func InDomain(d Domain) Arg { return Arg{Tag: abi.TagDomain, Value: int64(d)} }

// queue is the host's end of one rank's ring.
type queue struct {
	mu   sync.Mutex
	seq  int64 // of the last command; read by others
	tail int64
	head int64 // where the rank was when last looked at
	_    [5]int64
}

// Submit queues a command and returns its sequence number on that rank. It
// waits only when the ring is full. After a failure it returns that failure.
func (e *Engine) Submit(rank int, k Kernel, args []Arg) (int64, error) {
	seq, err := e.enqueue(rank, k, args)
	if err == nil {
		e.ringBell(rank)
	}
	return seq, err
}

// SubmitAll queues the same command on every rank.
func (e *Engine) SubmitAll(k Kernel, args []Arg) error {
	for r := range e.cfg.Ranks {
		if _, err := e.enqueue(r, k, args); err != nil {
			return err
		}
	}
	for r := range e.cfg.Ranks {
		e.ringBell(r)
	}
	return nil
}

func (e *Engine) enqueue(rank int, k Kernel, args []Arg) (int64, error) {
	if rank < 0 || rank >= e.cfg.Ranks {
		return 0, fmt.Errorf("rank %d of %d", rank, e.cfg.Ranks)
	}
	if len(args) > maxArgs {
		return 0, fmt.Errorf("%d arguments: at most %d", len(args), maxArgs)
	}
	if atomic.LoadInt32(&e.region.control().Abort) != 0 {
		return 0, e.fail(causeFault)
	}
	q, g := &e.queues[rank], e.region.ring(rank)
	q.mu.Lock()
	defer q.mu.Unlock()
	need := int64(recordHead + 2*len(args))
	if left := ringWords - q.tail%ringWords; left < need {
		if err := e.waitForRoom(rank, q, g, left); err != nil {
			return 0, err
		}
		atomic.StoreInt64(&g.Words[q.tail%ringWords], pack(left, -1))
		q.tail += left
		atomic.StoreInt64(&g.Tail, q.tail)
	}
	if err := e.waitForRoom(rank, q, g, need); err != nil {
		return 0, err
	}
	w := g.Words[q.tail%ringWords:][:need]
	seq := q.seq + 1
	w[0] = pack(need, int32(k))
	w[1] = seq
	w[2] = int64(len(args))
	for i, a := range args {
		w[recordHead+2*i], w[recordHead+2*i+1] = int64(a.Tag), a.Value
	}
	q.tail += need
	atomic.StoreInt64(&q.seq, seq)
	atomic.StoreInt64(&g.Tail, q.tail)
	return seq, nil
}

func pack(low int64, high int32) int64 { return low | int64(high)<<32 }

// waitForRoom waits until n more words fit into the ring. What it holds must
// not grow to the whole ring, or full would look like empty to nobody: tail and
// head count words, so that cannot happen.
func (e *Engine) waitForRoom(rank int, q *queue, g *ring, n int64) error {
	fits := func() bool {
		if q.tail+n-q.head <= ringWords {
			return true
		}
		q.head = atomic.LoadInt64(&g.Head)
		return q.tail+n-q.head <= ringWords
	}
	if fits() {
		return nil
	}
	e.ringBell(rank)
	return e.waitUntil(e.cfg.Context, fits)
}

// ringBell wakes the rank if it sleeps.
func (e *Engine) ringBell(rank int) {
	g := e.region.ring(rank)
	if atomic.LoadInt32(&g.Sleeping) != 0 {
		atomic.AddInt32(&g.Bell, 1)
		e.region.wake(unsafe.Pointer(&g.Bell))
	}
}
