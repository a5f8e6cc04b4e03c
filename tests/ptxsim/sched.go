package ptxsim

import (
	"fmt"
	"strings"
)

// RunAll runs kernels at the same time: all blocks of all launches take turns. Seed, StepLimit, ClockStep,
// Host and GlobalRaces are those of the first launch.
func RunAll(launches []Launch) (st Stats, err error) {
	r := &run{limit: 1e9, clockStep: 1}
	if len(launches) == 0 {
		return Stats{}, nil
	}
	c := launches[0].Config
	if c.StepLimit > 0 {
		r.limit = c.StepLimit
	}
	if c.ClockStep > 0 {
		r.clockStep = c.ClockStep
	}
	r.rng, r.globalRaces, r.host = rng(c.Seed), c.GlobalRaces, c.Host
	r.todo = launches
	r.started = make([]bool, len(launches))
	r.left = make([]int, len(launches))
	for _, l := range launches {
		if l.Config.Memory != nil {
			l.Config.Memory.forget()
		}
	}
	defer func() {
		st = r.stats
		st.Steps = r.steps
		switch e := recover().(type) {
		case nil:
		case *Error:
			err = e
		default:
			panic(e)
		}
	}()
	r.cells = map[uint64]*cellClock{}
	for {
		ready, err := r.startReady()
		if err != nil {
			return Stats{}, err
		}
		if len(ready) == 0 {
			return st, nil
		}
		r.loop()
	}
}

// startReady starts the launches that may run now and returns their numbers.
func (r *run) startReady() (ready []int, err error) {
	for i, l := range r.todo {
		if r.started[i] || l.After > 0 && !(r.started[l.After-1] && r.left[l.After-1] == 0) {
			continue
		}
		r.started[i] = true
		first := len(r.blocks)
		if err := r.start(l, i); err != nil {
			return nil, err
		}
		r.initClocks(r.blocks[first:], l.After-1)
		ready = append(ready, i)
	}
	return ready, nil
}

// start makes the blocks and threads of a launch.
func (r *run) start(l Launch, number int) error {
	c := l.Config
	bad := func(format string, args ...any) error {
		return &Error{Where: c.Name, Msg: "launch of " + c.Entry + ": " + fmt.Sprintf(format, args...)}
	}
	if names := l.Module.Entries(); c.Entry == "" && len(names) == 1 {
		c.Entry = names[0]
	}
	f := l.Module.funcs[c.Entry]
	if f == nil || !f.entry {
		return bad("the module has no such kernel")
	}
	for i := range 3 {
		c.Grid[i], c.Block[i] = max(c.Grid[i], 1), max(c.Block[i], 1)
	}
	n := c.Block[0] * c.Block[1] * c.Block[2]
	switch {
	case n > 1024:
		return bad("%d threads a block", n)
	case f.maxThreads > 0 && n > f.maxThreads:
		return bad("%d threads a block, .maxntid says %d", n, f.maxThreads)
	case f.reqBlock != [3]int{} && f.reqBlock != c.Block:
		return bad("block %v, .reqntid says %v", c.Block, f.reqBlock)
	case len(c.Params) != f.argBytes:
		return bad("%d bytes of parameters, the kernel takes %d", len(c.Params), f.argBytes)
	case c.Memory == nil:
		return bad("no memory")
	}
	globals, err := c.Memory.load(l.Module)
	if err != nil {
		return err
	}
	dynamic := alignUp(l.Module.shared, 1024)
	for z := range c.Grid[2] {
		for y := range c.Grid[1] {
			for x := range c.Grid[0] {
				b := &block{run: r, name: c.Name, mod: l.Module, mem: c.Memory, globals: globals, grid: c.Grid, dim: c.Block,
					at: [3]int{x, y, z}, dynamic: dynamic, dynSize: c.Shared, params: c.Params, launch: number}
				b.shared = make([]byte, l.Module.shared)
				if c.Shared > 0 {
					b.shared = make([]byte, dynamic+c.Shared)
				}
				b.shadow = make([]shadow, len(b.shared))
				b.populate(f, n)
				r.blocks = append(r.blocks, b)
			}
		}
	}
	return nil
}

// populate makes a block's threads, at the entry of f.
func (b *block) populate(f *function, n int) {
	for i := range n {
		if i%32 == 0 {
			b.warps = append(b.warps, &warp{})
		}
		w := b.warps[len(b.warps)-1]
		t := &thread{block: b, warp: w, index: i, at: [3]int{i % b.dim[0], i / b.dim[0] % b.dim[1], i / (b.dim[0] * b.dim[1])}}
		w.lanes[i%32] = t
		b.threads = append(b.threads, t)
		t.enter(f)
		copy(t.params, b.params)
	}
	b.run.live += n
	b.run.left[b.launch] += n
}

// loop lets all threads take turns until a launch has ended, or all have.
func (r *run) loop() {
	var order []*thread
	for _, b := range r.blocks {
		order = append(order, alive(append([]*thread(nil), b.threads...))...)
	}
	more := len(r.todo)
	for _, s := range r.started {
		if s {
			more--
		}
	}
	running := r.running()
	for r.live > 0 {
		if more > 0 && r.running() < running {
			return // others may start now
		}
		r.round(order)
		if len(order) > 2*r.live {
			order = alive(order)
		}
	}
}

// running is the number of launches that have threads left.
func (r *run) running() int {
	n := 0
	for _, k := range r.left {
		if k > 0 {
			n++
		}
	}
	return n
}

// round gives every thread its turn.
func (r *run) round(order []*thread) {
	slice := 200
	r.greedy = false
	if r.rng != 0 {
		slice = 1 + int(r.rng.next()%100)
		r.greedy = r.rng.next()&1 == 0
		for i := range order {
			j := i + int(r.rng.next()%uint64(len(order)-i))
			order[i], order[j] = order[j], order[i]
		}
	}
	moved := false
	for _, t := range order {
		if t.state == running {
			r.steps += int64(t.run(slice))
			moved = true
		}
	}
	if !moved && r.live > 0 {
		r.deadlock(order)
	}
	if r.host != nil {
		r.host(r.steps)
	}
	if r.steps > r.limit {
		r.tooLong(order)
	}
}

func alive(ts []*thread) []*thread {
	out := ts[:0]
	for _, t := range ts {
		if t.state != ended {
			out = append(out, t)
		}
	}
	return out
}

// deadlock reports that nobody can run.
func (r *run) deadlock(ts []*thread) {
	var b strings.Builder
	first := alive(ts)[0]
	n := 0
	for _, t := range ts {
		if t.state == atBarrier || t.state == atWarp {
			if n++; n <= 4 {
				fmt.Fprintf(&b, "; %s is at line %d (%s)", t.where(), t.in.line, t.in.opcode)
			}
		}
	}
	first.fail("deadlock: %d threads wait, none can go on%s", n, b.String())
}

func (r *run) tooLong(ts []*thread) {
	t := alive(ts)[0]
	t.fail("no end after %d instructions; %d threads have not ended", r.steps, r.live)
}

// rng is xorshift.
type rng uint64

func (r *rng) next() uint64 {
	x := uint64(*r)
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	*r = rng(x)
	return x >> 11
}
