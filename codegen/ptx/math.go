package ptx

import (
	"math"

	ll "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/lower"
	"ptoc/ir"
)

// functions of one FP32 argument. The polynomials are those of Cephes, with fused multiply-adds: within 2
// units in the last place.
var functions map[*ir.Kind]func(*fn, val) val

func init() {
	functions = map[*ir.Kind]func(*fn, val) val{
		ir.Recip: func(e *fn, x val) val { return e.b.NewFDiv(f32(1), x) },
		ir.Sqrt:  func(e *fn, x val) val { return e.intrinsic("sqrt", x) },
		ir.Rsqrt: func(e *fn, x val) val { return e.b.NewFDiv(f32(1), e.intrinsic("sqrt", x)) },
		ir.Exp:   (*fn).exp, ir.Log: (*fn).log, ir.Tanh: (*fn).tanh,
		ir.Sin: func(e *fn, x val) val { return e.sinCos(x, 0) },
		ir.Cos: func(e *fn, x val) val { return e.sinCos(x, 1) },
	}
}

// approximations are those of the hardware, for --fast-math.
var approximations = map[*ir.Kind]func(*fn, val) val{
	ir.Recip: func(e *fn, x val) val { return e.approx("rcp", x) },
	ir.Sqrt:  func(e *fn, x val) val { return e.approx("sqrt", x) },
	ir.Rsqrt: func(e *fn, x val) val { return e.approx("rsqrt", x) },
	ir.Exp:   func(e *fn, x val) val { return e.approx("ex2", e.b.NewFMul(x, f32(math.Log2E))) },
	ir.Log:   func(e *fn, x val) val { return e.b.NewFMul(e.approx("lg2", x), f32(math.Ln2)) },
	ir.Sin:   func(e *fn, x val) val { return e.approx("sin", x) },
	ir.Cos:   func(e *fn, x val) val { return e.approx("cos", x) },
	ir.Tanh:  func(e *fn, x val) val { return e.approx("tanh", x) },
}

func (e *fn) approx(name string, x val) val {
	return e.pure(types.Float, name+".approx.f32 $0, $1;", "=f,f", x)
}

// divide rounds correctly; with fast maths it is within 2 units in the last place.
func (e *fn) divide(x, y val) val {
	if e.g.opt.FastMath {
		return e.pure(types.Float, "div.full.f32 $0, $1, $2;", "=f,f,f", x, y)
	}
	return e.b.NewFDiv(x, y)
}

func (e *fn) fma(a, b, c val) val { return e.intrinsic("fma", a, b, c) }

// poly is ((c0 x + c1) x + c2) ...
func (e *fn) poly(x val, c ...float64) val {
	p := f32(c[0])
	for _, k := range c[1:] {
		p = e.fma(p, x, f32(k))
	}
	return p
}

func (e *fn) isNaN(x val) val      { return e.fcmp(enum.FPredUNO, x, x) }
func (e *fn) bitsOf(x val) val     { return e.b.NewBitCast(x, types.I32) }
func (e *fn) fromBits(x val) val   { return e.b.NewBitCast(x, types.Float) }
func (e *fn) less(x, y val) val    { return e.fcmp(enum.FPredOLT, x, y) }
func (e *fn) greater(x, y val) val { return e.fcmp(enum.FPredOGT, x, y) }

// power is 2^n for n in [-126, 127].
func (e *fn) power(n val) val { return e.fromBits(e.b.NewShl(e.add(n, i32(127)), i32(23))) }

// exp: x = n ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts.
func (e *fn) exp(x val) val {
	y := e.sel(e.greater(x, f32(89)), f32(89), x)
	y = e.sel(e.less(y, f32(-104)), f32(-104), y)
	n := e.intrinsic("rint", e.b.NewFMul(y, f32(1.44269504088896341)))
	r := e.fma(n, f32(-0.693359375), y)
	r = e.fma(n, f32(2.12194440e-4), r)
	p := e.poly(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	p = e.b.NewFAdd(e.fma(p, e.b.NewFMul(r, r), r), f32(1))
	// Two steps: the result may be subnormal. The conversion gives 0 for NaN.
	k := e.toInt(n, ir.INT32)
	half := e.b.NewAShr(k, i32(1))
	v := e.b.NewFMul(e.b.NewFMul(p, e.power(half)), e.power(e.sub(k, half)))
	return e.sel(e.isNaN(x), x, v)
}

// log: x = m 2^k with m in [sqrt(1/2), sqrt 2).
func (e *fn) log(x val) val {
	tiny := e.less(x, f32(0x1p-126))
	y := e.sel(tiny, e.b.NewFMul(x, f32(0x1p24)), x)
	b := e.bitsOf(y)
	k := e.sub(e.b.NewLShr(b, i32(23)), e.sel(tiny, i32(150), i32(126)))
	m := val(e.fromBits(e.b.NewOr(e.b.NewAnd(b, i32(0x007fffff)), i32(0x3f000000))))
	low := e.less(m, f32(0.707106781186547524))
	k = e.sel(low, e.sub(k, i32(1)), k)
	m = e.b.NewFSub(e.sel(low, e.b.NewFAdd(m, m), m), f32(1))
	z := e.b.NewFMul(m, m)
	kf := e.b.NewSIToFP(k, types.Float)
	p := e.poly(m, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	r := e.b.NewFMul(e.b.NewFMul(p, m), z)
	r2 := e.fma(kf, f32(-2.12194440e-4), r)
	r3 := e.fma(f32(-0.5), z, r2)
	v := e.fma(kf, f32(0.693359375), e.b.NewFAdd(m, r3))
	v = e.sel(e.fcmp(enum.FPredOEQ, x, f32(0)), f32(math.Inf(-1)), v)
	v = e.sel(e.fcmp(enum.FPredOEQ, x, f32(math.Inf(1))), x, v)
	return e.sel(e.fcmp(enum.FPredULT, x, f32(0)), floatLit(math.NaN()), v)
}

// tanh: below 0.625 an odd polynomial, above 1 - 2 / (e^2|x| + 1).
func (e *fn) tanh(x val) val {
	a, z := e.intrinsic("fabs", x), e.b.NewFMul(x, x)
	p := e.poly(z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
	p = e.fma(e.b.NewFMul(p, z), x, x)
	big := e.b.NewFSub(f32(1), e.b.NewFDiv(f32(2), e.b.NewFAdd(e.exp(e.b.NewFAdd(a, a)), f32(1))))
	return e.sel(e.less(a, f32(0.625)), p, e.intrinsic("copysign", big, x))
}

// sinCos: x = n pi/2 + r with |r| <= pi/4, for every x (see lower.Turns); quarter 0 gives the sine, 1 the cosine.
func (e *fn) sinCos(x val, quarter int64) val {
	size := e.intrinsic("fabs", x)
	bits := e.bitsOf(size)
	exp := e.sub(e.b.NewLShr(bits, i32(23)), i32(126))
	small := e.icmp(enum.IPredSLT, exp, i32(0)) // below 1/2
	row := e.sel(small, i32(0), e.b.NewLShr(exp, i32(2)))
	row = e.sel(e.icmp(enum.IPredSLT, row, i32(lower.TurnRows)), row, i32(lower.TurnRows-1))
	frac := e.b.NewOr(e.b.NewAnd(bits, i32(0x7fffff)), i32(0x800000))
	m := e.b.NewSIToFP(e.b.NewShl(frac, e.b.NewAnd(exp, i32(3))), types.Double)
	part := func(i int64) val {
		table := e.g.turns()
		return e.b.NewFMul(m, e.b.NewLoad(types.Double, e.b.NewGetElementPtr(table.ContentType, table, i32(0), i32(i), row)))
	}
	high, mid := part(0), part(1)
	n := e.b.NewCall(e.g.extern("llvm.rint.f64", types.Double, types.Double), e.b.NewFAdd(high, mid))
	rest := e.b.NewFAdd(e.b.NewFAdd(e.b.NewFSub(high, n), mid), part(2))
	r := e.sel(small, size, e.b.NewFPTrunc(e.b.NewFMul(rest, f64(math.Pi/2)), types.Float))
	q := e.sel(small, i32(0), e.b.NewFPToSI(n, types.I32))
	negative := e.less(x, f32(0))
	r = e.sel(negative, e.b.NewFNeg(r), r)
	q = e.add(e.sel(negative, e.sub(i32(0), q), q), i32(quarter))
	z := e.b.NewFMul(r, r)
	s := e.fma(e.b.NewFMul(e.poly(z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1), z), r, r)
	c := e.poly(z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
	c = e.fma(c, e.b.NewFMul(z, z), e.fma(f32(-0.5), z, f32(1)))
	v := e.sel(e.isZero(e.b.NewAnd(q, i32(1))), s, c)
	v = e.sel(e.isZero(e.b.NewAnd(q, i32(2))), v, e.b.NewFNeg(v))
	if quarter == 0 {
		v = e.sel(e.fcmp(enum.FPredOEQ, x, f32(0)), x, v) // -0 stays
	}
	return e.sel(e.less(size, f32(math.Inf(1))), v, floatLit(math.NaN()))
}

// turns is lower.Turns in the module.
func (g *gen) turns() *ll.Global {
	for _, v := range g.mod.Globals {
		if v.Name() == "ptoc_turns" {
			return v
		}
	}
	rowType := types.NewArray(lower.TurnRows, types.Double)
	var parts []constant.Constant
	for _, part := range lower.Turns() {
		var row []constant.Constant
		for _, x := range part {
			row = append(row, constant.NewFloat(types.Double, x))
		}
		parts = append(parts, constant.NewArray(rowType, row...))
	}
	v := ll.NewGlobalDef("ptoc_turns", constant.NewArray(types.NewArray(uint64(len(parts)), rowType), parts...))
	v.AddrSpace, v.Typ.AddrSpace = global, global
	v.Immutable, v.Linkage, v.Align = true, enum.LinkageInternal, 8
	g.mod.Globals = append(g.mod.Globals, v)
	return v
}
