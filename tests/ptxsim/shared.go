package ptxsim

// mark is an access that a byte of shared memory remembers: who, and when, counted in barriers of the
// block and of the warp. The zero mark is no access.
type mark struct {
	who   int32 // thread of the block + 1
	block int32 // barriers of the block before it
	warp  int32 // barriers of its warp before it
}

// shadow is what is known about one byte of shared memory.
type shadow struct {
	write   mark
	read    mark // the last
	other   mark // the last by another thread than read's
	atomic  bool // write came from an atomic
	written bool
	pending int32 // a cp.async of this thread + 1 will write the byte
}

func (t *thread) mark() mark {
	return mark{int32(t.index + 1), int32(t.block.epoch), int32(t.warp.epoch)}
}

// ordered reports whether a happened before t's current position.
func (t *thread) ordered(a mark) bool {
	switch {
	case a.who == 0, int(a.who) == t.index+1, int(a.block) < t.block.epoch:
		return true
	}
	return int(a.who-1)/32 == t.index/32 && int(a.warp) < t.warp.epoch
}

// sharedBytes checks an access to shared memory.
func (t *thread) sharedBytes(addr uint64, a *access) []byte {
	b := t.block
	if addr < sharedStart || addr+uint64(a.size) > uint64(len(b.shared)) {
		t.fail("out of range: %d bytes at shared address %#x; the block has %#x to %#x", a.size, addr, sharedStart, len(b.shared))
	}
	if a.read {
		b.run.stats.Read += int64(a.size)
	}
	if a.write {
		b.run.stats.Written += int64(a.size)
	}
	now := t.mark()
	for i := addr; i < addr+uint64(a.size); i++ {
		s := &b.shadow[i]
		if s.pending != 0 {
			t.fail("shared address %#x is touched while a cp.async of thread %d still writes it", i, s.pending-1)
		}
		if a.read && !s.written {
			t.fail("read of shared address %#x, which nobody wrote", i)
		}
		if !t.ordered(s.write) && !(a.atomic && s.atomic) {
			t.race(i, "wrote", s.write)
		}
		if a.write {
			t.writeMark(s, i, a, now)
		} else {
			s.readMark(now)
		}
	}
	return b.shared[addr:][:a.size]
}

func (t *thread) writeMark(s *shadow, addr uint64, a *access, now mark) {
	if !t.ordered(s.read) {
		t.race(addr, "read", s.read)
	}
	if !t.ordered(s.other) {
		t.race(addr, "read", s.other)
	}
	s.write, s.atomic, s.written = now, a.atomic, true
}

func (s *shadow) readMark(now mark) {
	if s.read.who != now.who {
		// Of two readers of one warp one is enough: another warp's says more.
		if s.read.who != 0 && (s.read.who-1)/32 != (now.who-1)/32 || s.other.who == 0 {
			s.other = s.read
		}
	}
	s.read = now
}

func (t *thread) race(addr uint64, did string, m mark) {
	t.fail("race on shared address %#x: thread %d %s it since the last barrier", addr, m.who-1, did)
}
