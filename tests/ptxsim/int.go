package ptxsim

import "math/bits"

// Integer arithmetic and conversions between widths.

var intTable = map[string]func(*compiler, *mods){
	"add": genAddSub, "sub": genAddSub, "addc": genCarry, "subc": genCarry,
	"mul": genMul, "mad": genMad, "mul24": genMul24, "sad": genSad, "div": genDiv, "rem": genRem,
	"min": genMinMax, "max": genMinMax, "abs": genAbs, "neg": genNeg,
	"dp4a": genDp4a,
}

// binary emits d = f(a, b).
func (c *compiler) binary(t dtype, f func(x, y uint64) uint64) {
	c.count(3)
	d, a, b := c.reg(0), c.src(1, t), c.src(2, t)
	c.out.run = func(th *thread) { th.r[d] = f(th.r[a], th.r[b]) }
}

func (c *compiler) unary(t dtype, f func(x uint64) uint64) {
	c.count(2)
	d, a := c.reg(0), c.src(1, t)
	c.out.run = func(th *thread) { th.r[d] = f(th.r[a]) }
}

func (c *compiler) ternary(t, third dtype, f func(x, y, z uint64) uint64) {
	c.count(4)
	d, a, b, e := c.reg(0), c.src(1, t), c.src(2, t), c.src(3, third)
	c.out.run = func(th *thread) { th.r[d] = f(th.r[a], th.r[b], th.r[e]) }
}

// integer fails for types that are none.
func (c *compiler) integer(t dtype) dtype {
	if t.kind != kUint && t.kind != kInt && t.kind != kBits || t.lanes != 1 {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	return t
}

func genAddSub(c *compiler, m *mods) {
	t := c.one(m)
	minus := m.name == "sub"
	if t.float() {
		floatArith(c, m, t, m.name)
		return
	}
	c.integer(t)
	switch {
	case m.has("cc"):
		genWithCarry(c, t, minus, false, true)
	case m.has("sat"):
		if t != typeNames["s32"] {
			c.fail("unknown instruction %s", c.in.opcode)
		}
		c.binary(t, func(x, y uint64) uint64 {
			s := sext(x, 32) + sext(y, 32)
			if minus {
				s = sext(x, 32) - sext(y, 32)
			}
			return uint64(min(max(s, -1<<31), 1<<31-1))
		})
	case minus:
		c.binary(t, func(x, y uint64) uint64 { return zext(x-y, t.bits) })
	default:
		c.binary(t, func(x, y uint64) uint64 { return zext(x+y, t.bits) })
	}
}

func genCarry(c *compiler, m *mods) {
	t := c.integer(c.one(m))
	genWithCarry(c, t, m.name == "subc", true, m.has("cc"))
}

// genWithCarry emits add.cc, addc, addc.cc and the like: CC.CF is the carry, or the borrow.
func genWithCarry(c *compiler, t dtype, minus, in, out bool) {
	c.count(3)
	d, a, b := c.reg(0), c.src(1, t), c.src(2, t)
	c.out.run = func(th *thread) {
		x, y, cf := zext(th.r[a], t.bits), zext(th.r[b], t.bits), uint64(0)
		if in && th.carry {
			cf = 1
		}
		var s, over uint64
		if minus {
			s, over = bits.Sub64(x, y, cf)
		} else {
			s, over = bits.Add64(x, y, cf)
			if t.bits < 64 {
				over = s >> t.bits
			}
		}
		if out {
			th.carry = over != 0
		}
		th.r[d] = zext(s, t.bits)
	}
}

// product is the double-width product of x and y.
func product(t dtype, x, y uint64) (hi, lo uint64) {
	x, y = t.read(x), t.read(y)
	if t.bits < 64 {
		p := x * y // of the extended operands: right in 2*bits <= 64 bits
		return zext(p>>t.bits, t.bits), zext(p, t.bits)
	}
	hi, lo = bits.Mul64(x, y)
	if t.kind == kInt {
		if int64(x) < 0 {
			hi -= y
		}
		if int64(y) < 0 {
			hi -= x
		}
	}
	return hi, lo
}

// mulPart is the part of the product that .lo, .hi or .wide selects.
func (c *compiler) mulPart(m *mods, t dtype) (func(x, y uint64) uint64, int) {
	switch m.take("lo", "hi", "wide") {
	case "lo":
		return func(x, y uint64) uint64 { return zext(x*y, t.bits) }, t.bits
	case "hi":
		return func(x, y uint64) uint64 { hi, _ := product(t, x, y); return hi }, t.bits
	case "wide":
		if t.bits > 32 {
			break
		}
		return func(x, y uint64) uint64 { return zext(t.read(x)*t.read(y), 2*t.bits) }, 2 * t.bits
	}
	c.fail("unknown instruction %s", c.in.opcode)
	return nil, 0
}

func genMul(c *compiler, m *mods) {
	t := c.one(m)
	if t.float() {
		floatArith(c, m, t, "mul")
		return
	}
	f, _ := c.mulPart(m, c.integer(t))
	c.binary(t, f)
}

func genMul24(c *compiler, m *mods) {
	t := c.integer(c.one(m))
	if m.take("lo") == "" {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	t24 := dtype{t.kind, 24, 1}
	c.binary(t, func(x, y uint64) uint64 { return zext(t24.read(x)*t24.read(y), 32) })
}

func genMad(c *compiler, m *mods) {
	t := c.one(m)
	if t.float() {
		floatFma(c, m, t)
		return
	}
	f, width := c.mulPart(m, c.integer(t))
	if m.has("cc") {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	third := dtype{t.kind, width, 1}
	c.ternary(t, third, func(x, y, z uint64) uint64 { return zext(f(x, y)+z, width) })
}

func genSad(c *compiler, m *mods) {
	t := c.integer(c.one(m))
	c.ternary(t, t, func(x, y, z uint64) uint64 {
		x, y = t.read(x), t.read(y)
		if t.kind == kInt && int64(x) < int64(y) || t.kind != kInt && x < y {
			x, y = y, x
		}
		return zext(x-y+z, t.bits)
	})
}

func genDiv(c *compiler, m *mods) {
	t := c.one(m)
	if t.float() {
		floatArith(c, m, t, "div")
		return
	}
	c.quotient(c.integer(t), func(x, y uint64) uint64 {
		if t.kind == kInt {
			if int64(y) == -1 {
				return -x
			}
			return uint64(int64(x) / int64(y))
		}
		return x / y
	})
}

func genRem(c *compiler, m *mods) {
	t := c.integer(c.one(m))
	c.quotient(t, func(x, y uint64) uint64 {
		if t.kind == kInt {
			if int64(y) == -1 {
				return 0
			}
			return uint64(int64(x) % int64(y))
		}
		return x % y
	})
}

// quotient emits a division; what a zero divisor gives is not defined.
func (c *compiler) quotient(t dtype, f func(x, y uint64) uint64) {
	c.count(3)
	d, a, b := c.reg(0), c.src(1, t), c.src(2, t)
	c.out.run = func(th *thread) {
		y := t.read(th.r[b])
		if y == 0 {
			th.fail("integer division by zero")
		}
		th.r[d] = zext(f(t.read(th.r[a]), y), t.bits)
	}
}

func genMinMax(c *compiler, m *mods) {
	t := c.one(m)
	if t.float() {
		floatMinMax(c, m, t)
		return
	}
	c.integer(t)
	m.has("relu")
	c.binary(t, intMinMax(t, m.name == "min"))
}

// intMinMax is min or max on the integer type t.
func intMinMax(t dtype, least bool) func(x, y uint64) uint64 {
	return func(x, y uint64) uint64 {
		a, b := t.read(x), t.read(y)
		less := a < b
		if t.kind == kInt {
			less = int64(a) < int64(b)
		}
		if less == least {
			return x
		}
		return y
	}
}

func genAbs(c *compiler, m *mods) {
	t := c.one(m)
	if t.float() {
		m.has("ftz")
		mask := ^signBits(t)
		c.unary(t, func(x uint64) uint64 { return x & mask })
		return
	}
	c.integer(t)
	c.unary(t, func(x uint64) uint64 {
		if v := sext(x, t.bits); v < 0 {
			return zext(uint64(-v), t.bits)
		}
		return zext(x, t.bits)
	})
}

func genNeg(c *compiler, m *mods) {
	t := c.one(m)
	if t.float() {
		m.has("ftz")
		mask := signBits(t)
		c.unary(t, func(x uint64) uint64 { return x ^ mask })
		return
	}
	c.integer(t)
	c.unary(t, func(x uint64) uint64 { return zext(-x, t.bits) })
}

// signBits are the sign bits of all lanes.
func signBits(t dtype) uint64 {
	s := uint64(1) << (t.bits - 1)
	if t.lanes == 2 {
		s |= s << t.bits
	}
	return s
}

func genDp4a(c *compiler, m *mods) {
	ts := m.dtypes()
	if len(ts) != 2 {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	a8, b8 := dtype{ts[0].kind, 8, 1}, dtype{ts[1].kind, 8, 1}
	c.ternary(ts[0], typeNames["b32"], func(x, y, z uint64) uint64 {
		for i := 0; i < 32; i += 8 {
			z += a8.read(x>>i) * b8.read(y>>i)
		}
		return zext(z, 32)
	})
}
