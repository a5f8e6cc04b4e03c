package ptxsim

import "bytes"

// Barriers, fences, atomics, and asynchronous copies.

var syncTable = map[string]func(*compiler, *mods){
	"bar": genBar, "barrier": genBar, "membar": genFence, "fence": genFence,
	"atom": genAtom, "red": genAtom, "cp": genCp,
}

// genBar: bar.sync id{, threads}; bar.warp.sync mask; bar.red.popc.u32 d, id, p.
func genBar(c *compiler, m *mods) {
	m.has("cta")
	m.has("aligned")
	if m.has("warp") {
		c.need(m.has("sync"))
		c.count(1)
		c.together(0, func(lanes []*thread) {
			full := true
			for _, t := range lanes {
				full = full && t != nil
			}
			if full { // the shared memory's marks know whole warps only
				lanes[0].warp.epoch++
			}
			joinLanes(lanes)
		})
		return
	}
	c.out.barrier = true
	if m.has("red") {
		c.barrierReduction(m)
		return
	}
	c.need(m.has("sync"))
	c.count(1, 2)
	if len(c.in.args) == 2 {
		n := c.src(1, typeNames["u32"])
		c.out.atRest = func(b *block) {
			for _, t := range b.threads {
				if int(zext(t.r[n], 32)) != len(b.threads) {
					t.fail("a barrier of a part of the block is not known")
				}
			}
		}
	}
}

func (c *compiler) barrierReduction(m *mods) {
	t := c.one(m)
	op := m.take("popc", "and", "or")
	c.need(op != "")
	last := len(c.in.args) - 1
	c.count(3, 4)
	d := c.reg(0)
	p, not := c.pred(last)
	c.need((t.kind == kPred) == (op != "popc"))
	c.out.atRest = func(b *block) {
		n := 0
		for _, th := range b.threads {
			if (th.r[p] != 0) != not {
				n++
			}
		}
		res := map[string]uint64{"popc": uint64(n), "and": b2u(n == len(b.threads)), "or": b2u(n > 0)}[op]
		for _, th := range b.threads {
			th.r[d] = res
		}
	}
}

func genFence(c *compiler, m *mods) {
	c.count(0)
	scope := m.take("cta", "cluster", "gl", "gpu", "sys")
	if m.name == "fence" {
		c.need(m.take("acq_rel", "sc") != "")
	}
	c.need(scope != "")
	if scope == "gl" {
		scope = "gpu"
	}
	level := scopes[scope]
	c.out.run = func(th *thread) { th.fenced(level) }
}

// genAtom emits atom and red.
func genAtom(c *compiler, m *mods) {
	red := m.name == "red"
	m.has("noftz")
	t := c.one(m)
	op := m.take("add", "exch", "cas", "min", "max", "and", "or", "xor", "inc", "dec")
	mm := readMemMods(m)
	if mm.order == "weak" || mm.order == "volatile" {
		mm.order = "relaxed"
	}
	if mm.scope == "" {
		mm.scope = "gpu"
	}
	c.need(mm.vec == 1 && (mm.space == sGeneric || mm.space == sGlobal || mm.space == sShared))
	c.need(!red || op != "exch" && op != "cas" && mm.order != "acquire" && mm.order != "acq_rel")
	at, d := 1, 0
	if red {
		at, d = 0, c.sink()
	} else {
		d = c.reg(0)
	}
	a := &access{size: t.bytes(), elem: t.bytes(), read: true, write: true, atomic: true, strong: true,
		sync: mm.order != "relaxed"}
	f, b, e := combine(op, t), 0, 0
	if op == "cas" {
		c.count(4)
		e = c.src(3, t)
	} else {
		c.need(f != nil)
		c.count(at + 2)
	}
	base, off := c.address(at)
	b = c.src(at+1, t)
	c.out.run = func(th *thread) {
		addr := th.r[base] + off
		mem := th.bytes(mm.space, addr, a)
		old := getUint(mem, a.size)
		new := th.r[b]
		switch {
		case op != "cas":
			new = f(old, new)
		case old == zext(new, 8*a.size):
			new = th.r[e]
		default:
			new = old
		}
		th.observe(addr, mm)
		th.publish(addr, mm, true)
		putUint(mem, a.size, new)
		th.r[d] = old
		th.yield = true
	}
}

// asyncCopy is a cp.async that has been issued: its bytes arrive when the thread waits for them. They may be read at
// any time before.
type asyncCopy struct {
	to, from uint64
	data     []byte
	have     int // how many of them are the source's
}

func genCp(c *compiler, m *mods) {
	c.need(m.has("async"))
	switch {
	case m.has("commit_group"):
		c.count(0)
		c.out.run = func(th *thread) {
			th.groups = append(th.groups, th.copies)
			th.copies = nil
		}
	case m.has("wait_group"):
		c.count(1)
		n := c.src(0, typeNames["u32"])
		c.out.run = func(th *thread) { th.arrive(int(th.r[n])) }
	case m.has("wait_all"):
		c.count(0)
		c.out.run = func(th *thread) {
			th.groups = append(th.groups, th.copies)
			th.copies = nil
			th.arrive(0)
		}
	default:
		c.asyncCopy(m)
	}
}

// asyncCopy emits cp.async.cg.shared.global [to], [from], size{, bytes}: what bytes leaves is zeroed.
func (c *compiler) asyncCopy(m *mods) {
	cache := m.take("ca", "cg")
	c.need(cache != "" && m.take("shared", "shared::cta") != "" && m.has("global"))
	m.dropPrefixed("L2::")
	c.count(3, 4)
	size := int(c.in.args[2].num.bits)
	c.need(c.in.args[2].kind == oNumber && (size == 16 || cache == "ca" && (size == 4 || size == 8)))
	to, toOff := c.address(0)
	from, fromOff := c.address(1)
	n := c.constant(uint64(size))
	if len(c.in.args) == 4 {
		n = c.src(3, typeNames["u32"])
	}
	write := &access{size: size, elem: size, write: true}
	c.out.run = func(th *thread) {
		have := int(uint32(th.r[n]))
		if have > size {
			th.fail("cp.async of %d bytes takes %d from its source", size, have)
		}
		dst, src := th.r[to]+toOff, th.r[from]+fromOff
		th.bytes(sShared, dst, write)
		for i := range size {
			th.block.shadow[dst+uint64(i)].pending = int32(th.index + 1)
		}
		data := make([]byte, size)
		th.asyncRead(data[:have], src, size)
		th.copies = append(th.copies, asyncCopy{dst, src, data, have})
	}
}

// asyncRead reads the source of a cp.async, which is aligned to the whole copy.
func (t *thread) asyncRead(dst []byte, src uint64, size int) {
	if src%uint64(size) != 0 {
		t.fail("misaligned access: cp.async of %d bytes from %#x", size, src)
	}
	for i := range dst {
		dst[i] = t.bytes(sGlobal, src+uint64(i), &oneByte)[0]
	}
}

var oneByte = access{size: 1, elem: 1, read: true}

// arrive lets all but the last keep groups of copies arrive.
func (t *thread) arrive(keep int) {
	for len(t.groups) > keep {
		for _, cp := range t.groups[0] {
			again := make([]byte, cp.have)
			t.asyncRead(again, cp.from, len(cp.data))
			if !bytes.Equal(again, cp.data[:cp.have]) {
				t.fail("the source of a cp.async, %s, was written before it was waited for", t.block.mem.describe(cp.from))
			}
			copy(t.block.shared[cp.to:], cp.data)
			now := t.mark()
			for i := range cp.data {
				s := &t.block.shadow[cp.to+uint64(i)]
				s.pending, s.written, s.write, s.atomic = 0, true, now, false
			}
		}
		t.groups = t.groups[1:]
	}
}
