package ptxsim

import "math/bits"

// Bit operations and shifts.

var bitTable = map[string]func(*compiler, *mods){
	"and": genLogic, "or": genLogic, "xor": genLogic, "not": genNot, "cnot": genCnot, "lop3": genLop3,
	"shl": genShift, "shr": genShift, "shf": genFunnel, "prmt": genPrmt,
	"bfe": genBfe, "bfi": genBfi, "brev": genBrev, "clz": genClz, "popc": genPopc, "bfind": genBfind,
}

func genLogic(c *compiler, m *mods) {
	t := c.one(m)
	switch m.name {
	case "and":
		c.binary(t, func(x, y uint64) uint64 { return x & y })
	case "or":
		c.binary(t, func(x, y uint64) uint64 { return x | y })
	default:
		c.binary(t, func(x, y uint64) uint64 { return zext(x^y, t.bits) })
	}
}

func genNot(c *compiler, m *mods) {
	t := c.one(m)
	c.unary(t, func(x uint64) uint64 { return zext(^x, t.bits) })
}

func genCnot(c *compiler, m *mods) {
	t := c.one(m)
	c.unary(t, func(x uint64) uint64 { return b2u(zext(x, t.bits) == 0) })
}

func genLop3(c *compiler, m *mods) {
	c.count(5)
	t := c.one(m)
	d, x, y, z := c.reg(0), c.src(1, t), c.src(2, t), c.src(3, t)
	lut := c.in.args[4].num.bits
	c.out.run = func(th *thread) {
		a, b, e, out := th.r[x], th.r[y], th.r[z], uint64(0)
		for i := range 8 {
			if lut>>i&1 == 0 {
				continue
			}
			out |= pick(a, i&4 != 0) & pick(b, i&2 != 0) & pick(e, i&1 != 0)
		}
		th.r[d] = zext(out, 32)
	}
}

func pick(x uint64, yes bool) uint64 {
	if yes {
		return x
	}
	return ^x
}

// genShift emits shl and shr: counts from the width on clamp.
func genShift(c *compiler, m *mods) {
	c.count(3)
	t := c.one(m)
	d, a, b := c.reg(0), c.src(1, t), c.src(2, typeNames["u32"])
	left, signed, width := m.name == "shl", t.kind == kInt, t.bits
	c.out.run = func(th *thread) {
		n := min(int(uint32(th.r[b])), width)
		switch {
		case left:
			th.r[d] = zext(th.r[a]<<n, width)
		case signed:
			th.r[d] = zext(uint64(sext(th.r[a], width)>>n), width)
		default:
			th.r[d] = zext(th.r[a], width) >> n
		}
	}
}

// genFunnel emits shf.l and shf.r over the pair hi:lo.
func genFunnel(c *compiler, m *mods) {
	t := c.one(m)
	left := m.take("l", "r") == "l"
	clamp := m.take("clamp", "wrap") == "clamp"
	c.ternary(t, typeNames["u32"], func(lo, hi, n uint64) uint64 {
		n = uint64(uint32(n))
		if clamp {
			n = min(n, 32)
		} else {
			n &= 31
		}
		pair := zext(hi, 32)<<32 | zext(lo, 32)
		if left {
			return pair << n >> 32
		}
		return zext(pair>>n, 32)
	})
}

// genPrmt picks bytes of b:a by the nibbles of the selector; its bit 3 repeats the sign.
func genPrmt(c *compiler, m *mods) {
	t := c.one(m)
	if len(m.rest) > 0 {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	c.ternary(t, t, func(a, b, sel uint64) uint64 {
		pair, out := zext(b, 32)<<32|zext(a, 32), uint64(0)
		for i := range 4 {
			s := sel >> (4 * i)
			x := pair >> (8 * (s & 7)) & 0xff
			if s&8 != 0 {
				x = uint64(sext(x, 8)>>7) & 0xff
			}
			out |= x << (8 * i)
		}
		return out
	})
}

func genBfe(c *compiler, m *mods) {
	c.count(4)
	t := c.one(m)
	u32 := typeNames["u32"]
	d, a, b, n := c.reg(0), c.src(1, t), c.src(2, u32), c.src(3, u32)
	c.out.run = func(th *thread) {
		pos, length := int(th.r[b]&0xff), int(th.r[n]&0xff)
		x := zext(th.r[a], t.bits)
		sign := uint64(0)
		if t.kind == kInt && length > 0 {
			sign = x >> min(pos+length-1, t.bits-1) & 1
		}
		out := uint64(0)
		for i := range t.bits {
			bit := sign
			if i < length && pos+i < t.bits {
				bit = x >> (pos + i) & 1
			}
			out |= bit << i
		}
		th.r[d] = out
	}
}

func genBfi(c *compiler, m *mods) {
	c.count(5)
	t := c.one(m)
	u32 := typeNames["u32"]
	d, a, b, p, n := c.reg(0), c.src(1, t), c.src(2, t), c.src(3, u32), c.src(4, u32)
	c.out.run = func(th *thread) {
		pos, length := int(th.r[p]&0xff), int(th.r[n]&0xff)
		out := zext(th.r[b], t.bits)
		for i := 0; i < length && pos+i < t.bits; i++ {
			out = out&^(1<<(pos+i)) | th.r[a]>>i&1<<(pos+i)
		}
		th.r[d] = out
	}
}

func genBrev(c *compiler, m *mods) {
	t := c.one(m)
	c.unary(t, func(x uint64) uint64 { return bits.Reverse64(x) >> (64 - t.bits) })
}

func genClz(c *compiler, m *mods) {
	t := c.one(m)
	c.unary(t, func(x uint64) uint64 { return uint64(bits.LeadingZeros64(zext(x, t.bits)) - (64 - t.bits)) })
}

func genPopc(c *compiler, m *mods) {
	t := c.one(m)
	c.unary(t, func(x uint64) uint64 { return uint64(bits.OnesCount64(zext(x, t.bits))) })
}

// genBfind finds the highest bit that is not the sign; -1 if there is none.
func genBfind(c *compiler, m *mods) {
	t := c.one(m)
	shift := m.has("shiftamt")
	c.unary(t, func(x uint64) uint64 {
		x = t.read(x)
		if t.kind == kInt && int64(x) < 0 {
			x = ^x
		}
		x = zext(x, t.bits)
		if x == 0 {
			return 0xffffffff
		}
		n := 63 - bits.LeadingZeros64(x)
		if shift {
			n = t.bits - 1 - n
		}
		return uint64(n)
	})
}
