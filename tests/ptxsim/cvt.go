package ptxsim

import "math"

// genCvt emits conversions.
func genCvt(c *compiler, m *mods) {
	ts := m.dtypes()
	if len(ts) != 2 {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	to, from := ts[0], ts[1]
	intRound := m.take("rni", "rzi", "rmi", "rpi")
	round := rounding(m.take("rn", "rz", "rm", "rp", "rna"))
	ftz, sat, relu := m.has("ftz"), m.has("sat"), m.has("relu")
	toFloat, fromFloat := to.float() || to.kind == kTF32, from.float()
	switch {
	case to.lanes == 2:
		c.cvtPair(to, from, round, relu)
	case !toFloat && !fromFloat:
		c.unary(from, intToInt(to, from, sat))
	case !fromFloat:
		c.need(round != "")
		c.unary(from, intToFloat(to, from, round))
	case !toFloat:
		c.need(intRound != "")
		c.unary(from, floatToInt(to, from, rounding(intRound[:2]), ftz))
	default:
		narrows := to.format().mant < from.format().mant || to.bits < from.bits || to.kind == kTF32 || to.kind == kBF16 && from.bits == 32
		c.need(!narrows || round != "" || intRound != "")
		c.unary(from, floatToFloat(to, from, round, intRound, ftz, sat, relu))
	}
}

func (c *compiler) need(ok bool) {
	if !ok {
		c.fail("unknown instruction %s", c.in.opcode)
	}
}

func intToInt(to, from dtype, sat bool) func(uint64) uint64 {
	return func(x uint64) uint64 {
		x = from.read(x)
		if sat {
			x = clampInt(to, from, x)
		}
		// A narrow signed result is extended to the register.
		return to.read(x)
	}
}

func clampInt(to, from dtype, x uint64) uint64 {
	low, high := float64(0), math.Ldexp(1, to.bits)-1
	if to.kind == kInt {
		low, high = -math.Ldexp(1, to.bits-1), math.Ldexp(1, to.bits-1)-1
	}
	v := float64(x)
	if from.kind == kInt {
		v = float64(int64(x))
	}
	switch {
	case v < low:
		return uint64(int64(low))
	case v > high && to.bits < 64:
		return uint64(high)
	case v > high || v == high && to.bits == 64 && to.kind == kInt && from.kind != kInt && x > math.MaxInt64:
		return math.MaxInt64
	}
	return x
}

func intToFloat(to, from dtype, r rounding) func(uint64) uint64 {
	return func(x uint64) uint64 {
		x = from.read(x)
		neg := from.kind == kInt && int64(x) < 0
		if neg {
			x = -x
		}
		f := float64(x)
		// 64 bits do not fit a double: round to odd, then once more to what is asked for.
		if to.bits < 64 || r != "rn" {
			hi := float64(x>>32) * (1 << 32)
			f = sumOdd(hi, float64(uint32(x)))
		}
		if neg {
			f = -f
		}
		if to.bits == 64 {
			if r != "rn" && float64(x) != f {
				return f64bits(f) // cannot be told apart by what we emit
			}
			return f64bits(f)
		}
		return to.format().encode(f, r)
	}
}

func decodeFloat(t dtype, x uint64) float64 {
	if t.bits == 64 {
		return f64(x)
	}
	return t.format().decode(zext(x, t.bits))
}

// floatToInt saturates. NaN gives 0, or the least integer where FP64 or 64 bits are involved.
func floatToInt(to, from dtype, r rounding, ftz bool) func(uint64) uint64 {
	names := map[rounding]rounding{"rn": "rn", "rz": "rz", "rm": "rm", "rp": "rp"}
	r = names[r]
	low, high := 0.0, math.Ldexp(1, to.bits)
	if to.kind == kInt {
		low, high = -math.Ldexp(1, to.bits-1), math.Ldexp(1, to.bits-1)
	}
	return func(b uint64) uint64 {
		x := decodeFloat(from, b)
		if ftz {
			x = flush(x)
		}
		if math.IsNaN(x) {
			if from.bits == 64 || to.bits == 64 {
				return 1 << (to.bits - 1)
			}
			return 0
		}
		y := math.Copysign(roundTo(math.Abs(x), r, x < 0), x)
		switch {
		case y <= low:
			return to.read(uint64(int64(low)))
		case y >= high && to.kind == kInt:
			return uint64(1)<<(to.bits-1) - 1
		case y >= high:
			return zext(math.MaxUint64, to.bits)
		case to.kind == kInt:
			return to.read(uint64(int64(y)))
		case y >= 1<<63:
			return uint64(y-1<<63) + 1<<63
		}
		return uint64(y)
	}
}

func floatToFloat(to, from dtype, r rounding, intRound string, ftz, sat, relu bool) func(uint64) uint64 {
	if r == "" {
		r = "rn"
	}
	return func(b uint64) uint64 {
		x := decodeFloat(from, b)
		if ftz && from.bits == 32 {
			x = flush(x)
		}
		if intRound != "" && !math.IsNaN(x) && !math.IsInf(x, 0) {
			x = math.Copysign(roundTo(math.Abs(x), rounding(intRound[:2]), x < 0), x)
		}
		if sat {
			x = saturate(x)
		}
		if relu && x < 0 {
			x = 0
		}
		switch {
		case to.kind == kTF32:
			return format{8, 10}.encode(x, r) << 13
		case to.bits == 64:
			return f64bits(x)
		}
		out := to.format().encode(x, r)
		if ftz && to.bits == 32 {
			out = uint64(f32bits(float32(flush(float64(f32(out))))))
		}
		return out
	}
}

// cvtPair emits cvt.rn.f16x2.f32 d, a, b: a becomes the upper half.
func (c *compiler) cvtPair(to, from dtype, r rounding, relu bool) {
	c.need(from == typeNames["f32"] && r != "")
	f := func(x uint64) uint64 {
		v := float64(f32(x))
		if relu && v < 0 {
			v = 0
		}
		return to.format().encode(v, r)
	}
	c.binary(from, func(a, b uint64) uint64 { return f(a)<<16 | f(b) })
}
