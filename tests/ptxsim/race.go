package ptxsim

// Races on global memory, found with vector clocks: two accesses to one byte, one of them a write, that
// neither a barrier nor a release and an acquire order. A release or acquire counts as far as its scope
// reaches: ranks are different devices, so between them only .sys does.

// vclock says how far each thread of the run has come, as seen from somewhere. nil knows nothing.
type vclock []uint32

func (v *vclock) join(o vclock) {
	if o == nil {
		return
	}
	if *v == nil {
		*v = append(vclock(nil), o...)
		return
	}
	for len(*v) < len(o) { // threads that were not there before
		*v = append(*v, 0)
	}
	for i, x := range o {
		(*v)[i] = max((*v)[i], x)
	}
}

func (v vclock) at(i int) uint32 {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// blockClock is what all threads of a block have seen since the last barrier.
type blockClock struct{ base vclock }

// clockState is a thread's clock: its own time, and what it has seen beyond its block's.
type clockState struct {
	id       int // in the run
	now      uint32
	extra    vclock
	pending  vclock // seen by relaxed loads: counts after a fence
	released vclock // what the last fence releases through later relaxed stores
	fence    int    // scope of that fence
}

// cellClock is what an acquire of a word learns.
type cellClock struct {
	seen   vclock
	scope  int
	block  *block
	launch int
}

// stamp is an access that a byte of global memory remembers.
type stamp struct {
	who    int32 // thread of the run + 1
	at     uint32
	line   int32
	strong bool
}

type globalShadow struct {
	bytes []struct{ write, read, other stamp }
}

var scopes = map[string]int{"cta": 1, "cluster": 1, "gpu": 2, "sys": 3}

// initClocks numbers the threads of new blocks. They have seen all that the launch before them did.
func (r *run) initClocks(blocks []*block, before int) {
	if !r.globalRaces {
		return
	}
	for _, b := range blocks {
		for _, t := range b.threads {
			t.strong = clockState{id: len(r.all), now: 1}
			r.all = append(r.all, t)
		}
	}
	var seen vclock
	for _, b := range r.blocks {
		if before >= 0 && b.launch == before {
			for _, t := range b.threads {
				seen.join(t.clock())
			}
		}
	}
	for _, b := range blocks {
		b.clock.base = make(vclock, len(r.all))
		b.clock.base.join(seen)
	}
}

// joinClocks lets a barrier's threads see what each of them saw and did.
func (b *block) joinClocks() {
	if !b.run.globalRaces {
		return
	}
	for _, t := range b.threads {
		s := &t.strong
		b.clock.base.join(s.extra)
		b.clock.base[s.id] = s.now
		s.extra = nil
		s.now++
	}
}

// joinLanes does the same for lanes of a warp.
func joinLanes(lanes []*thread) {
	var all vclock
	for _, t := range lanes {
		if t != nil && t.block.run.globalRaces {
			all.join(t.clock())
			t.strong.now++
		}
	}
	for _, t := range lanes {
		if t != nil && t.block.run.globalRaces {
			t.strong.extra.join(all)
		}
	}
}

// clock is all that t has seen, itself included.
func (t *thread) clock() vclock {
	v := append(vclock(nil), t.block.clock.base...)
	v.join(t.strong.extra)
	v[t.strong.id] = t.strong.now
	return v
}

func (t *thread) saw(s stamp) bool {
	id := int(s.who) - 1
	return s.who == 0 || id == t.strong.id || s.at <= t.block.clock.base.at(id) || s.at <= t.strong.extra.at(id)
}

func scopeOf(mm memMods) int {
	if mm.order == "volatile" {
		return 3
	}
	return scopes[mm.scope]
}

// observe is a strong load.
func (t *thread) observe(addr uint64, mm memMods) {
	c := t.block.run.cells[addr]
	if c == nil {
		return
	}
	reach := min(scopeOf(mm), c.scope)
	if c.launch != t.block.launch && reach < 3 || c.block != t.block && reach < 2 {
		return
	}
	if mm.order == "acquire" || mm.order == "acq_rel" {
		t.strong.extra.join(c.seen)
	} else {
		t.strong.pending.join(c.seen)
	}
}

// publish is a strong store; rmw keeps what earlier releases left at the word.
func (t *thread) publish(addr uint64, mm memMods, rmw bool) {
	r := t.block.run
	if !r.globalRaces {
		return
	}
	s := &t.strong
	seen, scope := s.released, min(s.fence, scopeOf(mm))
	if mm.order == "release" || mm.order == "acq_rel" {
		seen, scope = t.clock(), scopeOf(mm)
		s.now++
	}
	c := r.cells[addr]
	if c == nil || !rmw {
		r.cells[addr] = &cellClock{seen: append(vclock(nil), seen...), scope: scope, block: t.block, launch: t.block.launch}
		return
	}
	c.seen.join(seen)
	c.scope = min(c.scope, scope)
	if c.block != t.block {
		c.block = nil
	}
	if c.launch != t.block.launch {
		c.launch = -1
	}
}

// fenced is a fence of the given scope.
func (t *thread) fenced(scope int) {
	if !t.block.run.globalRaces {
		return
	}
	s := &t.strong
	s.extra.join(s.pending)
	s.pending = nil
	s.released, s.fence = t.clock(), scope
	s.now++
}

// globalRace checks an access against what the bytes remember.
func (t *thread) globalRace(al *alloc, off uint64, a *access) {
	if al.race == nil {
		al.race = &globalShadow{make([]struct{ write, read, other stamp }, len(al.data))}
	}
	now := stamp{int32(t.strong.id + 1), t.strong.now, 0, a.strong || a.atomic}
	if t.in != nil {
		now.line = int32(t.in.line)
	}
	for i := off; i < off+uint64(a.size); i++ {
		b := &al.race.bytes[i]
		t.against(al, i, b.write, now, "wrote")
		if !a.write {
			if b.read.who != now.who {
				b.other = b.read
			}
			b.read = now
			continue
		}
		t.against(al, i, b.read, now, "read")
		t.against(al, i, b.other, now, "read")
		b.write = now
	}
}

func (t *thread) against(al *alloc, off uint64, old, now stamp, did string) {
	if t.saw(old) || old.strong && now.strong {
		return
	}
	u := t.block.run.all[old.who-1]
	t.fail("race on global memory at %s: %s %s it at line %d, and nothing orders the two",
		t.block.mem.describe(al.base+off), u.where(), did, old.line)
}
