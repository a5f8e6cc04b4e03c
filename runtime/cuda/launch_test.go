package cuda

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
	"unsafe"

	"ptoc/codegen/abi"
	"ptoc/runtime/failure"
)

// fake is a GPU whose streams have as little room as a real one's, and whose kernels end when a test says so. It is its
// own driver and clock.
type fake struct {
	Device // nil: nothing else is called
	t      *testing.T

	ends     func(kernel int) bool // now?
	holdLook bool                  // the copies of control blocks wait for kernels
	queues   int                   // that streams share; 0: each has its own

	streams  []*queue
	hardware []*queue
	events   []*recorded
	launched map[int]int // by kernel
	ended    map[int]int
	longest  int // of the queues
	queries  int
	now      time.Time
	memory   [][]byte // that keeps it
}

// queue is a stream, or what several share: a queue of the hardware, with what has to be done.
type queue struct {
	work    []work
	running int // a stream's kernel
	waiting int // a stream's work
}

type work struct {
	on     *queue // the stream
	kernel int    // 1 is the first; 0: none
	wait   *recorded
	record *recorded
}

type recorded struct{ done bool }

const room = 1000

func (f *fake) Version() int             { return 12040 }
func (f *fake) Count() (int, error)      { return 1, nil }
func (f *fake) Open(int) (Device, error) { return f, nil }
func (f *fake) Reaches(i, j int) error   { return nil }
func (f *fake) AddsToHost(int) bool      { return true }
func (f *fake) Sleep(d time.Duration)    { f.now = f.now.Add(d) }
func (f *fake) Now() time.Time           { f.now = f.now.Add(time.Microsecond); return f.now }

func (f *fake) Info() Info {
	return Info{Name: "fake", Major: 8, Multiprocessors: 100, Memory: 1 << 30, CanCooperate: true}
}

func (f *fake) Malloc(n int64) (Ptr, error) {
	f.memory = append(f.memory, make([]byte, n))
	return Ptr(uintptr(unsafe.Pointer(&f.memory[len(f.memory)-1][0]))), nil
}

func (f *fake) MallocHost(n int64) (HostMemory, error) {
	p, err := f.Malloc(n)
	return HostMemory{Data: f.memory[len(f.memory)-1], Ptr: p}, err
}

func (f *fake) Free(Ptr) error            { return nil }
func (f *fake) FreeHost(HostMemory) error { return nil }
func (f *fake) Close() error              { return nil }

func (f *fake) NewStream() (Stream, error) {
	f.streams = append(f.streams, &queue{})
	if f.queues == 0 || len(f.hardware) < f.queues {
		f.hardware = append(f.hardware, &queue{})
	}
	return Stream(len(f.streams)), nil
}

func (f *fake) NewEvent() (Event, error) {
	f.events = append(f.events, &recorded{done: true})
	return Event(len(f.events)), nil
}

func (f *fake) push(s Stream, w work) error {
	w.on = f.streams[s-1]
	if w.on.waiting++; w.on.waiting > room {
		return errors.New("there is no room: the call would block until a kernel ends")
	}
	f.longest = max(f.longest, w.on.waiting)
	q := f.hardware[(int(s)-1)%len(f.hardware)]
	q.work = append(q.work, w)
	return nil
}

func (f *fake) Upload(s Stream, to Ptr, from []byte) error { return f.push(s, work{}) }
func (f *fake) Download(s Stream, to []byte, _ Ptr) error  { return f.push(s, work{}) }
func (f *fake) Zero(s Stream, at Ptr, bytes int64) error   { return f.push(s, work{}) }

func (f *fake) Record(e Event, s Stream) error {
	f.events[e-1] = &recorded{}
	return f.push(s, work{record: f.events[e-1]})
}

func (f *fake) WaitEvent(s Stream, e Event) error { return f.push(s, work{wait: f.events[e-1]}) }

func (f *fake) Launch(s Stream, l Launch) error {
	f.launched[int(l.Function)-1]++
	return f.push(s, work{kernel: int(l.Function)})
}

// Done lets the queues get on: kernels start, and everything else waits for the kernel that its stream runs.
func (f *fake) Done(e Event) (bool, error) {
	if f.queries++; f.queries > 10e6 {
		f.t.Fatal("the host asks for ever")
	}
	for again := true; again; {
		again = false
		for _, s := range f.streams {
			if s.running > 0 && f.ends(s.running-1) {
				f.ended[s.running-1]++
				s.running, again = 0, true
			}
		}
		for _, q := range f.hardware {
			for len(q.work) > 0 && f.ready(q.work[0]) {
				w := q.work[0]
				w.on.running, w.on.waiting = w.kernel, w.on.waiting-1
				if w.record != nil {
					w.record.done = true
				}
				q.work, again = q.work[1:], true
			}
		}
	}
	return f.events[e-1].done, nil
}

func (f *fake) ready(w work) bool {
	runs := slices.ContainsFunc(f.streams, func(s *queue) bool { return s.running > 0 })
	return w.on.running == 0 && (w.wait == nil || w.wait.done) && !(f.holdLook && w.on == f.streams[1] && runs)
}

func (f *fake) Elapsed(Event, Event) (time.Duration, error) { return time.Second, nil }
func (f *fake) Load(string) (Module, error)                 { return 1, nil }
func (f *fake) Occupancy(Function, int, int) (int, error)   { return 1, nil }
func (f *fake) Function(_ Module, name string) (x Function, _ error) {
	return Function(name[0] - 'a' + 1), nil
}

// engineOn has two kernels.
func engineOn(t *testing.T, f *fake, ranks int) *Engine {
	f.t, f.launched, f.ended = t, map[int]int{}, map[int]int{}
	e, err := Open(Config{Driver: f, Ranks: ranks, PTX: "x", Timeout: time.Second,
		Kernels: []Kernel{{Name: "a", Symbol: "a", Threads: 1}, {Name: "b", Symbol: "b", Threads: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A rank waits for the last of more kernels of another one than a stream has room for.
func TestNoLaunchBlocks(t *testing.T) {
	const many = 5000
	f := &fake{}
	f.ends = func(kernel int) bool { return kernel == 1 || f.ended[1] == many }
	e := engineOn(t, f, 2)
	e.Submit(0, 0, nil)
	for range many {
		e.Submit(1, 1, nil)
	}
	if err := e.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if f.ended[0] != 1 || f.ended[1] != many || f.longest > 4*pending {
		t.Errorf("%v ended, and %d were in a stream at once", f.ended, f.longest)
	}
}

// There are more streams than queues of the hardware. Kernels wait for one that is launched last.
func TestStreamsThatShareAQueueStartTogether(t *testing.T) {
	const ranks = 8
	f := &fake{queues: 4}
	f.ends = func(kernel int) bool { return kernel == 1 || f.ended[1] > 0 }
	e := engineOn(t, f, ranks)
	for r := range ranks {
		e.Submit(r, r/(ranks-1), nil)
	}
	if err := e.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if f.ended[0] != ranks-1 || f.ended[1] != 1 {
		t.Errorf("%v ended", f.ended)
	}
}

// A kernel hangs, with more behind it than there is room for, and the host's own copies behind those: it sees the time
// pass all the same. Kernels leave when the abort word is set, and say so.
func TestAHangIsSeenWhateverTheStreamsDo(t *testing.T) {
	for _, held := range []bool{false, true} {
		f := &fake{holdLook: held}
		e := engineOn(t, f, 1)
		f.ends = func(int) bool {
			if e.abort.Data[0] == 0 {
				return false
			}
			e.control(0).Fault.Code = abi.Aborted
			return true
		}
		for range 3000 {
			e.Submit(0, 0, nil)
		}
		err := e.Wait(context.Background())
		var hang *failure.Failure
		if !errors.As(err, &hang) || hang.Cause != failure.Timeout {
			t.Errorf("%v", err)
		}
		if took := f.now.Sub(time.Time{}); took < time.Second || took > 2*time.Second {
			t.Errorf("the timeout is a second; it took %v", took)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if err := e.Recover(); err != nil {
			t.Fatal(err)
		}
		e.Submit(0, 0, nil)
		cancel()
		if err := e.Wait(ctx); err != context.Canceled {
			t.Errorf("%v", err)
		}
	}
}

func TestWhichGPUsTakePTX(t *testing.T) {
	for _, tt := range []struct {
		arch         string
		major, minor int
		want         bool
	}{{"", 8, 0, true}, {"sm_80", 8, 0, true}, {"sm_80", 9, 0, true}, {"sm_86", 8, 0, false}, {"sm_90", 8, 9, false}, {"sm_90", 10, 0, true},
		{"sm_90a", 9, 0, true}, {"sm_90a", 10, 0, false}, {"sm_100", 9, 0, false}, {"sm_120", 12, 0, true}} {
		if got := (Info{Major: tt.major, Minor: tt.minor}).takes(tt.arch); got != tt.want {
			t.Errorf("%s on %d.%d: %v", tt.arch, tt.major, tt.minor, got)
		}
	}
}
