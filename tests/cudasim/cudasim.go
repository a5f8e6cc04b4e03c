// Package cudasim is a CUDA driver that runs PTX on the interpreter: what is tested with it is everything
// that ptoc does for a GPU, except the GPU.
//
// Nothing happens at the same time here. Streams are queues; asking whether an event is over lets the
// kernels run on for a while, so that a host which asks again and again sees them go on, and what it does
// meanwhile, they see. The clock counts their instructions.
package cudasim

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"ptoc/runtime/cuda"
	"ptoc/tests/ptxsim"
)

// Driver is a cuda.Driver and a cuda.Clock. Its zero value has one GPU.
type Driver struct {
	GPUs          int   // 0: 1
	SMs           int   // of each; 0: 8
	BlocksPerSM   int   // 0: what shared memory allows, at most 16
	Memory        int64 // bytes of each; 0: 1 GiB
	NoHostAtomics bool
	NoPeers       bool
	Missing       bool // there is no GPU
	Seed          uint64
	Races         bool
	StepLimit     int64
	NsPerStep     int64 // of the clock; 0: 1
	FailLaunches  int   // the n-th launch fails; 0: none
	Old, Busy     []int // GPUs that are no use: too old, or somebody else's alone

	Opened   []int    // GPUs that a context was made on
	Launches []Launch // what was launched
	Text     string   // the last PTX that was loaded
	Steps    int64    // executed so far

	mem     *ptxsim.Memory
	devices []*device
	free    map[cuda.Ptr]int64 // what was freed, with its size
	sizes   map[cuda.Ptr]int64
	host    int // pieces of host memory
	slept   time.Duration
	runs    *batch
	dead    error // what a kernel did wrong: from then on every call says so, as in a real context
}

// Launch is one that was made.
type Launch struct {
	GPU         int
	Entry       string
	Ranks       int
	Blocks      int // of each
	Cooperative bool
}

// Version is that of CUDA 12.4.
func (d *Driver) Version() int { return 12040 }

// Left is how many pieces of memory were not freed.
func (d *Driver) Left() int { return len(d.sizes) + d.host }

// Now follows the instructions that were executed, and how long the host slept.
func (d *Driver) Now() time.Time {
	return time.Unix(0, 0).Add(time.Duration(d.steps()*max(d.NsPerStep, 1)) + d.slept)
}

func (d *Driver) steps() int64 {
	if d.runs != nil {
		return d.Steps + d.runs.steps
	}
	return d.Steps
}

// Sleep passes at once; kernels would have run meanwhile.
func (d *Driver) Sleep(t time.Duration) {
	if d.runs == nil {
		d.slept += t
	}
}

// Count is how many there are.
func (d *Driver) Count() (int, error) {
	if d.Missing {
		return 0, fmt.Errorf("%w: the driver is installed and finds no GPU", cuda.ErrNoGPU)
	}
	return max(d.GPUs, 1), nil
}

// Open makes a context; like a primary context, that of a GPU is there once.
func (d *Driver) Open(i int) (cuda.Device, error) {
	if d.mem == nil {
		d.mem = ptxsim.NewMemory()
		d.free, d.sizes = map[cuda.Ptr]int64{}, map[cuda.Ptr]int64{}
		for n := range max(d.GPUs, 1) {
			d.devices = append(d.devices, &device{d: d, index: n})
		}
	}
	if slices.Contains(d.Busy, i) {
		return nil, &cuda.Error{Call: "cuDevicePrimaryCtxRetain", Code: 46, Name: "CUDA_ERROR_DEVICE_UNAVAILABLE"}
	}
	d.Opened = append(d.Opened, i)
	return d.devices[i], nil
}

// Reaches asks for peers.
func (d *Driver) Reaches(i, j int) error {
	if d.NoPeers {
		return fmt.Errorf("GPU %d cannot reach the memory of GPU %d", i, j)
	}
	return nil
}

// AddsToHost is what a connection without atomic operations lacks.
func (d *Driver) AddsToHost(int) bool { return !d.NoHostAtomics }

// batch is launches that run at the same time.
type batch struct {
	streams map[*stream]bool // whose launches these are
	resume  func() (struct{}, bool)
	steps   int64
	err     error
}

// start runs the launches at the heads of all streams. A stream's launches follow each other; what stands
// between them is done when the one before it ends.
func (d *Driver) start() bool {
	b := &batch{streams: map[*stream]bool{}}
	var all []ptxsim.Launch
	for _, g := range d.devices {
		taken := 0.0
		for _, s := range g.streams {
			n, share := len(all), 0.0
			all, share = s.take(all)
			b.streams[s] = len(all) > n
			taken += share
		}
		if taken > 1+1e-9 {
			b.err = fmt.Errorf("what runs on GPU %d at the same time takes %.0f%% of it: some of it is not resident, and may be waited for", g.index, 100*taken)
		}
	}
	if len(all) == 0 {
		return false
	}
	if b.err != nil {
		d.runs = b
		b.resume = func() (struct{}, bool) { return struct{}{}, false }
		return true
	}
	resume, _ := iter.Pull(func(yield func(struct{}) bool) {
		all[0].Config.Host = func(steps int64) {
			b.steps = steps
			yield(struct{}{})
		}
		all[0].Config.Seed, all[0].Config.GlobalRaces, all[0].Config.StepLimit, all[0].Config.ClockStep = d.Seed, d.Races, d.StepLimit, d.NsPerStep
		var st ptxsim.Stats
		st, b.err = ptxsim.RunAll(all)
		b.steps = st.Steps
	})
	b.resume = resume
	d.runs = b
	return true
}

// advance lets the kernels run on for a round, and everything else as far as it gets. It reports whether
// anything is left.
func (d *Driver) advance() (bool, error) {
	d.pump()
	if d.runs == nil && !d.start() {
		return false, nil
	}
	if _, more := d.runs.resume(); !more {
		d.Steps += d.runs.steps
		err := d.runs.err
		d.runs = nil
		if err != nil {
			d.dead = &cuda.Error{Call: "cuEventQuery", Code: 719, Name: "CUDA_ERROR_LAUNCH_FAILED", Text: err.Error()}
			return false, d.dead
		}
		d.pump()
	}
	return true, nil
}

// pump does what the streams have to do until each is empty, waits for an event, or comes to a launch.
func (d *Driver) pump() {
	for again := true; again; {
		again = false
		for _, g := range d.devices {
			for _, s := range g.streams {
				for len(s.ops) > 0 && s.ready(d) {
					s.ops[0].do()
					s.ops = s.ops[1:]
					again = true
				}
			}
		}
	}
}

// stream is a queue.
type stream struct{ ops []op }

// op is a launch, a wait, or something to do.
type op struct {
	launch *ptxsim.Launch
	share  float64 // of the GPU that the launch takes
	wait   *recording
	do     func()
}

// take adds the launches at the head of the stream to all, as far as nothing has to be waited for, and says how
// much of the GPU the largest takes.
func (s *stream) take(all []ptxsim.Launch) (_ []ptxsim.Launch, share float64) {
	last := 0          // the number of the stream's last launch
	var then *[]func() // what is done when it ends
	for ; len(s.ops) > 0; s.ops = s.ops[1:] {
		o := s.ops[0]
		switch {
		case o.launch != nil:
			l, list := *o.launch, &[]func(){}
			l.After, then = last, list
			l.Config.Ended = func() {
				for _, f := range *list {
					f()
				}
			}
			all = append(all, l)
			last, share = len(all), max(share, o.share)
		case last == 0 || o.wait != nil:
			return all, share
		default:
			*then = append(*then, o.do)
		}
	}
	return all, share
}

// ready reports whether the first op can be done now. Launches are started by others.
func (s *stream) ready(d *Driver) bool {
	if d.runs != nil && d.runs.streams[s] || s.ops[0].launch != nil {
		return false
	}
	return s.ops[0].wait == nil || s.ops[0].wait.done
}

// recording is one Record of an event: waits are for the last one before them.
type recording struct {
	done bool
	at   time.Time
}
