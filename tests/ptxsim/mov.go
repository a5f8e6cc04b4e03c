package ptxsim

// Data movement: mov, ld, st, cvta, selp, prmt and what is no arithmetic.

// table maps the first part of an opcode to its compiler.
var table = merge(map[string]func(*compiler, *mods){
	"mov": genMov, "ld": genLd, "ldu": genLd, "st": genSt, "cvta": genCvta, "selp": genSelp, "slct": genSlct,
	"prefetch": genNothing, "prefetchu": genNothing, "isspacep": genIsspacep, "applypriority": genNothing, "discard": genNothing,
}, intTable, bitTable, floatTable, cmpTable, controlTable, warpTable, syncTable, mmaTable)

func merge(into map[string]func(*compiler, *mods), more ...map[string]func(*compiler, *mods)) map[string]func(*compiler, *mods) {
	for _, m := range more {
		for name, gen := range m {
			into[name] = gen
		}
	}
	return into
}

// one is the only type of an opcode.
func (c *compiler) one(m *mods) dtype {
	ts := m.dtypes()
	if len(ts) != 1 {
		c.fail("unknown instruction %s: it should have one type", c.in.opcode)
	}
	return ts[0]
}

func genNothing(c *compiler, m *mods) {
	m.rest = nil
	c.out.run = func(*thread) {}
}

// genMov also packs and unpacks vectors: mov.b64 %rd, {%r1, %r2}.
func genMov(c *compiler, m *mods) {
	c.count(2)
	t := c.one(m)
	dst, src := c.in.args[0], c.in.args[1]
	switch {
	case dst.kind == oList:
		c.unpack(dst.list, c.src(1, t), t)
	case src.kind == oList:
		c.pack(c.reg(0), src.list, t)
	case src.kind == oName && changing[src.name]:
		d, name := c.reg(0), src.name
		c.out.run = func(th *thread) { th.r[d] = th.special(name) }
	default:
		d, s := c.reg(0), c.src(1, t)
		c.out.run = func(th *thread) { th.r[d] = th.r[s] }
	}
}

func (c *compiler) unpack(list []operand, s int, t dtype) {
	var regs []int
	for _, o := range list {
		regs = append(regs, c.regOf(o))
	}
	bits := t.bits / len(regs)
	c.out.run = func(th *thread) {
		x := th.r[s]
		for _, d := range regs {
			th.r[d] = zext(x, bits)
			x >>= bits
		}
	}
}

func (c *compiler) pack(d int, list []operand, t dtype) {
	bits := t.bits / len(list)
	var regs []int
	for _, o := range list {
		regs = append(regs, c.srcOf(o, dtype{kBits, bits, 1}))
	}
	c.out.run = func(th *thread) {
		x := uint64(0)
		for i, s := range regs {
			x |= zext(th.r[s], bits) << (i * bits)
		}
		th.r[d] = x
	}
}

// memMods reads what ld, st, atom and red have in common.
type memMods struct {
	order string // weak, relaxed, acquire, release, acq_rel, volatile
	scope string
	space space
	vec   int
}

func readMemMods(m *mods) memMods {
	mm := memMods{order: "weak", vec: 1}
	if s := m.take("weak", "relaxed", "acquire", "release", "acq_rel", "volatile"); s != "" {
		mm.order = s
	}
	mm.scope = m.take("cta", "cluster", "gpu", "sys")
	if s := m.take("global", "const", "shared", "shared::cta", "local", "param"); s != "" {
		mm.space = spaceNames[s]
	}
	if v := m.take("v2", "v4"); v != "" {
		mm.vec = int(v[1] - '0')
	}
	// Hints about caches change nothing here.
	m.take("ca", "cg", "cs", "lu", "cv", "wb", "wt")
	m.take("nc")
	m.dropPrefixed("L1::", "L2::")
	return mm
}

// vector is the list of registers or values of a vector operand.
func (c *compiler) vector(i, n int) []operand {
	o := c.in.args[i]
	if n == 1 && o.kind != oList {
		return []operand{o}
	}
	if o.kind != oList || len(o.list) != n {
		c.fail("%s: a vector of %d should stand at operand %d", c.in.opcode, n, i+1)
	}
	return o.list
}

func genLd(c *compiler, m *mods) {
	c.count(2)
	t, mm := c.one(m), readMemMods(m)
	if mm.order == "release" || mm.order == "acq_rel" {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	base, off := c.address(1)
	size := t.bytes()
	a := &access{size: size * mm.vec, read: true, elem: size, strong: mm.order != "weak", sync: mm.order == "acquire"}
	var regs []int
	for _, o := range c.vector(0, mm.vec) {
		regs = append(regs, c.regOf(o))
	}
	signed := t.kind == kInt
	one := func(th *thread, b []byte) {
		x := getUint(b, size)
		if signed {
			x = uint64(sext(x, size*8))
		}
		th.r[regs[0]] = x
	}
	if mm.vec > 1 {
		one = func(th *thread, b []byte) {
			for i, d := range regs {
				x := getUint(b[i*size:], size)
				if signed {
					x = uint64(sext(x, size*8))
				}
				th.r[d] = x
			}
		}
	}
	sp := mm.space
	if !a.strong {
		c.out.run = func(th *thread) { one(th, th.bytes(sp, th.r[base]+off, a)) }
		return
	}
	c.out.run = func(th *thread) {
		addr := th.r[base] + off
		one(th, th.bytes(sp, addr, a))
		th.observe(addr, mm)
		th.yield = true // somebody may spin here
	}
}

func genSt(c *compiler, m *mods) {
	c.count(2)
	t, mm := c.one(m), readMemMods(m)
	if mm.order == "acquire" || mm.order == "acq_rel" {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	base, off := c.address(0)
	size := t.bytes()
	a := &access{size: size * mm.vec, write: true, elem: size, strong: mm.order != "weak", sync: mm.order == "release"}
	var vals []int
	for _, o := range c.vector(1, mm.vec) {
		vals = append(vals, c.srcOf(o, t))
	}
	sp := mm.space
	c.out.run = func(th *thread) {
		addr := th.r[base] + off
		b := th.bytes(sp, addr, a)
		if a.strong {
			th.publish(addr, mm, false)
		}
		for i, s := range vals {
			putUint(b[i*size:], size, th.r[s])
		}
	}
}

var windows = map[space]uint64{sShared: sharedWindow, sLocal: localWindow}

func genCvta(c *compiler, m *mods) {
	c.count(2)
	to := m.has("to")
	t := c.one(m)
	sp := spaceNames[m.take("global", "const", "shared", "local", "param")]
	if sp == sGeneric || sp == sParam {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	delta := windows[sp]
	d, s := c.reg(0), c.src(1, t)
	if to {
		delta = -delta
	}
	c.out.run = func(th *thread) { th.r[d] = th.r[s] + delta }
}

func genIsspacep(c *compiler, m *mods) {
	c.count(2)
	sp := spaceNames[m.take("global", "const", "shared", "local")]
	d, s := c.reg(0), c.src(1, dtype{kBits, 64, 1})
	c.out.run = func(th *thread) {
		x, in := th.r[s], false
		switch sp {
		case sShared, sLocal:
			in = x-windows[sp] < windowSize
		default:
			in = x-sharedWindow >= windowSize && x-localWindow >= windowSize
		}
		th.r[d] = b2u(in)
	}
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func genSelp(c *compiler, m *mods) {
	c.count(4)
	t := c.one(m)
	d, x, y := c.reg(0), c.src(1, t), c.src(2, t)
	p, not := c.pred(3)
	c.out.run = func(th *thread) {
		if (th.r[p] != 0) != not {
			th.r[d] = th.r[x]
		} else {
			th.r[d] = th.r[y]
		}
	}
}

func genSlct(c *compiler, m *mods) {
	c.count(4)
	ts := m.dtypes()
	if len(ts) != 2 {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	d, x, y, s := c.reg(0), c.src(1, ts[0]), c.src(2, ts[0]), c.src(3, ts[1])
	isFloat := ts[1].kind == kFloat
	c.out.run = func(th *thread) {
		ge := sext(th.r[s], 32) >= 0
		if isFloat {
			ge = f32(th.r[s]) >= 0
		}
		if ge {
			th.r[d] = th.r[x]
		} else {
			th.r[d] = th.r[y]
		}
	}
}
