package ptxsim

import "math"

// Floating-point instructions.

var floatTable = map[string]func(*compiler, *mods){
	"fma": func(c *compiler, m *mods) { floatFma(c, m, c.one(m)) },
	"rcp": genMath, "sqrt": genMath, "rsqrt": genMath, "sin": genMath, "cos": genMath, "lg2": genMath, "ex2": genMath,
	"tanh": genMath, "copysign": genCopysign, "testp": genTestp, "cvt": genCvt,
}

// floatMods are the modifiers of floating-point arithmetic.
type floatMods struct {
	round    rounding
	ftz, sat bool
}

func readFloatMods(m *mods) floatMods {
	f := floatMods{round: rounding(m.take("rn", "rz", "rm", "rp")), ftz: m.has("ftz"), sat: m.has("sat")}
	if f.round == "" {
		f.round = "rn"
	}
	return f
}

// lanewise applies f, which computes in double and is rounded once, to each lane of values of type t.
func (c *compiler) lanewise(t dtype, fm floatMods, f func(x []float64) float64) func(x []uint64) uint64 {
	fmtOf := t.format()
	one := func(x []uint64) uint64 {
		var in [3]float64
		for i, b := range x {
			in[i] = fmtOf.decode(zext(b, t.bits))
			if fm.ftz && t.bits == 32 {
				in[i] = flush(in[i])
			}
		}
		y := f(in[:len(x)])
		if fm.sat {
			y = saturate(y)
		}
		out := fmtOf.encode(y, fm.round)
		if fm.ftz && t.bits == 32 {
			out = uint64(f32bits(float32(flush(float64(f32(out))))))
		}
		return out
	}
	if t.lanes == 1 {
		return one
	}
	return func(x []uint64) uint64 {
		var lo, hi [3]uint64
		for i, b := range x {
			lo[i], hi[i] = b&0xffff, b>>16&0xffff
		}
		return one(hi[:len(x)])<<16 | one(lo[:len(x)])
	}
}

// floatArith emits add, sub, mul and div.
func floatArith(c *compiler, m *mods, t dtype, op string) {
	approx := op == "div" && m.take("approx", "full") != ""
	fm := readFloatMods(m)
	if t.bits == 64 {
		c.double(fm, op)
		return
	}
	if op == "div" && t.bits != 32 || approx && fm.round != "rn" {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	if t.kind == kFloat && t.bits == 32 && fm == (floatMods{round: "rn"}) {
		c.binary(t, fastFloat[op])
		return
	}
	f := map[string]func(x []float64) float64{
		"add": func(x []float64) float64 { return sumOdd(x[0], x[1]) },
		"sub": func(x []float64) float64 { return sumOdd(x[0], -x[1]) },
		"mul": func(x []float64) float64 { return x[0] * x[1] },
		"div": func(x []float64) float64 { return quotient(x[0], x[1]) },
	}[op]
	g := c.lanewise(t, fm, f)
	c.binary(t, func(x, y uint64) uint64 { return g([]uint64{x, y}) })
}

// fastFloat is FP32 arithmetic, rounded to nearest.
var fastFloat = map[string]func(x, y uint64) uint64{
	"add": func(x, y uint64) uint64 { return canonical(f32(x) + f32(y)) },
	"sub": func(x, y uint64) uint64 { return canonical(f32(x) - f32(y)) },
	"mul": func(x, y uint64) uint64 { return canonical(f32(x) * f32(y)) },
	"div": func(x, y uint64) uint64 { return canonical(f32(x) / f32(y)) },
}

// canonical gives NaN the bits that the hardware gives it.
func canonical(x float32) uint64 {
	if x != x {
		return 0x7fffffff
	}
	return uint64(f32bits(x))
}

func (c *compiler) double(fm floatMods, op string) {
	if fm.round != "rn" || fm.ftz || fm.sat {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	f := map[string]func(x, y float64) float64{
		"add": func(x, y float64) float64 { return x + y },
		"sub": func(x, y float64) float64 { return x - y },
		"mul": func(x, y float64) float64 { return x * y },
		"div": func(x, y float64) float64 { return x / y },
	}[op]
	c.binary(typeNames["f64"], func(x, y uint64) uint64 { return f64bits(f(f64(x), f64(y))) })
}

// floatFma emits fma and the floating mad.
func floatFma(c *compiler, m *mods, t dtype) {
	relu := m.has("relu")
	fm := readFloatMods(m)
	if t.bits == 64 {
		if fm.round != "rn" {
			c.fail("unknown instruction %s", c.in.opcode)
		}
		c.ternary(t, t, func(x, y, z uint64) uint64 { return f64bits(math.FMA(f64(x), f64(y), f64(z))) })
		return
	}
	if t.bits == 32 && fm == (floatMods{round: "rn"}) {
		c.ternary(t, t, func(x, y, z uint64) uint64 {
			return canonical(float32(fused(float64(f32(x)), float64(f32(y)), float64(f32(z)))))
		})
		return
	}
	g := c.lanewise(t, fm, func(x []float64) float64 {
		y := fused(x[0], x[1], x[2])
		if relu && y < 0 {
			y = 0
		}
		return y
	})
	c.ternary(t, t, func(x, y, z uint64) uint64 { return g([]uint64{x, y, z}) })
}

func floatMinMax(c *compiler, m *mods, t dtype) {
	nan := m.has("NaN")
	fm := floatMods{round: "rn", ftz: m.has("ftz")}
	f := minNumber
	if m.name == "max" {
		f = maxNumber
	}
	if t.bits == 64 {
		c.binary(t, func(x, y uint64) uint64 { return f64bits(f(f64(x), f64(y), nan)) })
		return
	}
	g := c.lanewise(t, fm, func(x []float64) float64 { return f(x[0], x[1], nan) })
	c.binary(t, func(x, y uint64) uint64 { return g([]uint64{x, y}) })
}

// mathFuncs are computed in double and rounded once: better than the hardware's approximations.
var mathFuncs = map[string]func(x float64) float64{
	"rcp": func(x float64) float64 { return quotient(1, x) }, "sqrt": root,
	"rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) },
	"sin":   math.Sin, "cos": math.Cos, "tanh": math.Tanh,
	"lg2": math.Log2, "ex2": math.Exp2,
}

func genMath(c *compiler, m *mods) {
	t := c.one(m)
	approx := m.has("approx")
	exact := m.name == "rcp" || m.name == "sqrt"
	fm := readFloatMods(m)
	if !approx && !exact {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	f := mathFuncs[m.name]
	if t.bits == 64 {
		if fm.round != "rn" {
			c.fail("unknown instruction %s", c.in.opcode)
		}
		c.unary(t, func(x uint64) uint64 { return f64bits(doubleMath(m.name, f, f64(x))) })
		return
	}
	g := c.lanewise(t, fm, func(x []float64) float64 { return f(x[0]) })
	c.unary(t, func(x uint64) uint64 { return g([]uint64{x}) })
}

func doubleMath(name string, f func(float64) float64, x float64) float64 {
	switch name {
	case "sqrt":
		return math.Sqrt(x)
	case "rcp":
		return 1 / x
	}
	return f(x)
}

// genCopysign: d has the sign of a and the magnitude of b.
func genCopysign(c *compiler, m *mods) {
	t := c.one(m)
	s := signBits(t)
	c.binary(t, func(a, b uint64) uint64 { return a&s | b&^s })
}

func genTestp(c *compiler, m *mods) {
	t := c.one(m)
	what := m.take("finite", "infinite", "number", "notanumber", "normal", "subnormal")
	least := 0x1p-126
	if t.bits == 64 {
		least = 0x1p-1022
	}
	c.unary(t, func(b uint64) uint64 {
		x := f64(b)
		if t.bits == 32 {
			x = float64(f32(b))
		}
		inf, nan, tiny := math.IsInf(x, 0), math.IsNaN(x), math.Abs(x) < least
		return b2u(map[string]bool{"finite": !inf && !nan, "infinite": inf, "number": !nan, "notanumber": nan,
			"normal": !inf && !nan && !tiny, "subnormal": tiny && x != 0}[what])
	})
}
