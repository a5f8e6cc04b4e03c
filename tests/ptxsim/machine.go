package ptxsim

import "fmt"

// run is several launches that run at the same time.
type run struct {
	todo        []Launch
	started     []bool
	left        []int // threads that have not ended, by launch
	blocks      []*block
	live        int // threads that have not ended
	steps       int64
	stats       Stats
	limit       int64
	clockStep   int64
	globalRaces bool
	host        func(steps int64)
	rng         rng
	greedy      bool      // threads go on in their turn after what others may see or wait for
	all         []*thread // for races on global memory
	cells       map[uint64]*cellClock
}

// block is one thread block.
type block struct {
	run     *run
	name    string
	mod     *Module
	mem     *Memory
	globals []uint64
	grid    [3]int
	dim     [3]int
	at      [3]int
	shared  []byte
	shadow  []shadow
	dynamic int // address of the dynamic shared array
	dynSize int
	params  []byte
	threads []*thread
	warps   []*warp
	arrived int // threads at the barrier
	ended   int
	epoch   int // barriers so far
	launch  int
	clock   blockClock
}

// warp is 32 threads of a block.
type warp struct {
	lanes [32]*thread
	epoch int // bar.warp.sync so far
}

type state uint8

const (
	running state = iota
	atBarrier
	atWarp
	ended
)

// thread is one thread.
type thread struct {
	block *block
	warp  *warp
	index int // in the block
	at    [3]int

	state  state
	pc     int
	f      *function
	r      []uint64 // registers of the current frame, then its constants
	params []byte   // the current frame's parameter area
	frames []frame  // of the callers
	carry  bool     // CC.CF
	yield  bool     // let others run: set by spinning instructions
	in     *instr   // the current instruction
	mask   uint32   // lanes of the warp instruction that it waits at
	last   *alloc   // that was accessed

	local    []byte
	localTop int // where the current frame's .local begins
	localEnd int

	copies  []asyncCopy // not yet committed
	groups  [][]asyncCopy
	spare   [][]uint64 // register files to use again
	reduced uint64     // this thread's part of a barrier reduction, then the result
	strong  clockState
}

// frame is what a call saves.
type frame struct {
	f        *function
	pc       int
	r        []uint64
	params   []byte
	localTop int
	call     *instr
}

func (t *thread) fail(format string, args ...any) {
	line := 0
	if t.in != nil {
		line = t.in.line
	}
	panic(&Error{Line: line, Where: t.where(), Msg: fmt.Sprintf(format, args...)})
}

func (t *thread) where() string {
	b := t.block
	s := fmt.Sprintf("block (%d,%d,%d), thread (%d,%d,%d)", b.at[0], b.at[1], b.at[2], t.at[0], t.at[1], t.at[2])
	if b.name != "" {
		s = b.name + ", " + s
	}
	return s
}

func (t *thread) lane() int { return t.index % 32 }

// enter makes a frame for f. Registers hold garbage until they are written.
func (t *thread) enter(f *function) {
	n := f.nregs + len(f.pool)
	var r []uint64
	if k := len(t.spare); k > 0 && cap(t.spare[k-1]) >= n {
		r, t.spare = t.spare[k-1][:n], t.spare[:k-1]
	} else {
		r = make([]uint64, n)
	}
	for i := range f.nregs {
		r[i] = 0xdead_beef_dead_beef
	}
	t.f, t.r, t.pc = f, r, 0
	t.params = make([]byte, f.paramBytes)
	t.localTop = alignUp(max(t.localEnd, localStart), 16)
	t.localEnd = t.localTop + f.local
	for len(t.local) < t.localEnd {
		t.local = append(t.local, make([]byte, t.localEnd)...)
	}
	for i, e := range f.pool {
		r[f.nregs+i] = t.poolValue(e)
	}
}

func (t *thread) poolValue(e poolEntry) uint64 {
	switch e.kind {
	case pGlobal:
		return t.block.globals[e.value] + uint64(e.add)
	case pDynamic:
		return uint64(t.block.dynamic) + uint64(e.add)
	case pLocal:
		return uint64(t.localTop) + e.value + uint64(e.add)
	case pSpecial:
		return t.special(e.name)
	}
	return e.value
}

// run executes up to n instructions and returns how many it did.
func (t *thread) run(n int) int {
	t.yield = false
	for i := range n {
		if t.pc >= len(t.f.code) {
			t.leave()
			if t.state != running {
				return i
			}
			continue
		}
		in := &t.f.code[t.pc]
		t.pc++
		if in.guard >= 0 && (t.r[in.guard] != 0) == in.not {
			continue
		}
		t.in = in
		switch {
		case in.run != nil:
			in.run(t)
		case in.warp != nil:
			t.joinWarp(in)
		default:
			t.joinBarrier(in)
		}
		if t.state != running || t.yield && !t.block.run.greedy {
			return i + 1
		}
	}
	return n
}

// joinBarrier waits for all threads of the block.
func (t *thread) joinBarrier(in *instr) {
	b := t.block
	if b.ended > 0 {
		t.fail("divergent barrier: %d of the block's %d threads have ended", b.ended, len(b.threads))
	}
	t.state = atBarrier
	b.arrived++
	if b.arrived < len(b.threads) {
		return
	}
	for _, u := range b.threads {
		if u.in != in {
			u.fail("divergent barrier: this thread waits here, and %s at line %d", t.where(), in.line)
		}
	}
	if in.atRest != nil {
		in.atRest(b)
	}
	b.epoch++
	b.arrived = 0
	for _, u := range b.threads {
		u.state = running
	}
	b.joinClocks()
}

// joinWarp waits for the lanes of the instruction's mask and runs it for all of them.
func (t *thread) joinWarp(in *instr) {
	t.mask = 0xffffffff
	if in.mask >= 0 {
		t.mask = uint32(t.r[in.mask])
	}
	if t.mask>>t.lane()&1 == 0 {
		t.fail("%s: the thread is not in its own mask %#x", in.opcode, t.mask)
	}
	t.state = atWarp
	var lanes [32]*thread
	all := true
	for l, u := range t.warp.lanes {
		if t.mask>>l&1 == 0 {
			continue
		}
		switch {
		case u == nil || u.state == ended:
			t.fail("%s: lane %d of mask %#x has ended or does not exist", in.opcode, l, t.mask)
		case u.state != atWarp:
			all = false
		case u.in != in || u.mask != t.mask:
			if u.mask>>t.lane()&1 != 0 {
				t.fail("divergent warp: this thread is at %s with mask %#x, lane %d at line %d with mask %#x", in.opcode, t.mask, l, u.in.line, u.mask)
			}
			all = false
		}
		lanes[l] = u
	}
	if !all {
		return
	}
	in.warp(lanes[:])
	for _, u := range lanes {
		if u != nil {
			u.state = running
		}
	}
}

// leave ends the current function.
func (t *thread) leave() {
	if len(t.frames) == 0 {
		t.end()
		return
	}
	k := len(t.frames) - 1
	fr := t.frames[k]
	t.frames = t.frames[:k]
	callee := t.params
	t.spare = append(t.spare, t.r)
	t.localEnd = t.localTop
	t.f, t.pc, t.r, t.params, t.localTop = fr.f, fr.pc, fr.r, fr.params, fr.localTop
	t.localEnd = t.localTop + t.f.local
	for _, s := range fr.call.copyResult {
		copy(t.params[s.to:][:s.n], callee[s.from:])
	}
}

// end ends the thread.
func (t *thread) end() {
	b := t.block
	t.state = ended
	b.ended++
	b.run.live--
	b.run.left[b.launch]--
	if b.arrived > 0 {
		t.fail("divergent barrier: this thread ends while %d others of its block wait at a barrier", b.arrived)
	}
	if f := b.run.todo[b.launch].Config.Ended; f != nil && b.run.left[b.launch] == 0 {
		f()
	}
}

// call enters a function.
func (t *thread) call(in *instr) {
	if len(t.frames) > 200 {
		t.fail("calls are nested too deeply")
	}
	caller := t.params
	t.frames = append(t.frames, frame{t.f, t.pc, t.r, t.params, t.localTop, in})
	t.enter(in.target)
	for _, s := range in.copyIn {
		copy(t.params[s.to:][:s.n], caller[s.from:])
	}
}
