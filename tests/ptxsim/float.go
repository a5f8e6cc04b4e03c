package ptxsim

import "math"

func f32(x uint64) float32     { return math.Float32frombits(uint32(x)) }
func f64(x uint64) float64     { return math.Float64frombits(x) }
func f32bits(x float32) uint32 { return math.Float32bits(x) }
func f64bits(x float64) uint64 { return math.Float64bits(x) }

// format is a binary floating-point format narrower than double.
type format struct{ exp, mant int }

var (
	half   = format{5, 10}
	bfloat = format{8, 7}
	single = format{8, 23}
)

func (t dtype) format() format {
	switch {
	case t.kind == kBF16:
		return bfloat
	case t.bits == 16:
		return half
	}
	return single
}

// rounding is one of rn (nearest, ties to even), rz, rm (down), rp (up), rna (nearest, ties away).
type rounding string

// decode is the value of x's bits.
func (f format) decode(x uint64) float64 {
	if f == single {
		return float64(f32(x))
	}
	bias := 1<<(f.exp-1) - 1
	sign := 1.0
	if x>>(f.exp+f.mant)&1 != 0 {
		sign = -1
	}
	e := int(x >> f.mant & (1<<f.exp - 1))
	m := float64(x & (1<<f.mant - 1))
	switch e {
	case 1<<f.exp - 1:
		if m != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	case 0:
		return sign * math.Ldexp(m, 1-bias-f.mant)
	}
	return sign * math.Ldexp(m+float64(int(1)<<f.mant), e-bias-f.mant)
}

// encode rounds x once.
func (f format) encode(x float64, r rounding) uint64 {
	sign := uint64(0)
	if math.Signbit(x) {
		sign = 1 << (f.exp + f.mant)
	}
	inf := uint64(1<<f.exp-1) << f.mant
	switch {
	case math.IsNaN(x):
		return 1<<(f.exp+f.mant) - 1 // canonical: all ones but the sign
	case math.IsInf(x, 0):
		return sign | inf
	case x == 0:
		return sign
	}
	bias := 1<<(f.exp-1) - 1
	frac, e := math.Frexp(math.Abs(x)) // 0.5 <= frac < 1
	e--                                // 1 <= 2*frac < 2
	quantum := max(e, 1-bias) - f.mant // exponent of the last bit
	// Scaled so that the last bit is 1; exact but for values far below the smallest.
	scaled := math.Ldexp(frac, max(e+1-quantum, -60))
	n := roundTo(scaled, r, sign != 0)
	bits := uint64(n)
	if e >= 1-bias {
		// The implicit bit adds one to the exponent, and a carry adds another.
		bits += uint64(e+bias-1) << f.mant
	}
	if bits >= inf {
		if overflowsToMax(r, sign != 0) {
			return sign | (inf - 1)
		}
		return sign | inf
	}
	return sign | bits
}

// roundTo rounds a magnitude to an integer.
func roundTo(x float64, r rounding, neg bool) float64 {
	switch r {
	case "rz":
		return math.Trunc(x)
	case "rm":
		if neg {
			return math.Ceil(x)
		}
		return math.Floor(x)
	case "rp":
		if neg {
			return math.Floor(x)
		}
		return math.Ceil(x)
	case "rna":
		return math.Floor(x + 0.5)
	}
	return math.RoundToEven(x)
}

func overflowsToMax(r rounding, neg bool) bool {
	return r == "rz" || r == "rm" && !neg || r == "rp" && neg
}

// sumOdd is a+b rounded to odd: whoever rounds it again to fewer bits gets what rounding a+b once gives.
func sumOdd(a, b float64) float64 {
	s := a + b
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return s
	}
	bb := s - a
	err := (a - (s - bb)) + (b - bb)
	return odd(s, err)
}

// odd moves s to the odd neighbour on the side of what its rounding lost.
func odd(s, err float64) float64 {
	if err == 0 || f64bits(s)&1 != 0 {
		return s
	}
	if (err > 0) == (s > 0) {
		return f64from(f64bits(s) + 1)
	}
	return f64from(f64bits(s) - 1)
}

func f64from(b uint64) float64 { return math.Float64frombits(b) }

// fused is a*b+c, for operands of at most 24 bits, so that rounding it to a format rounds once.
func fused(a, b, c float64) float64 {
	p := a * b // exact
	if p == 0 || c == 0 {
		return p + c
	}
	return sumOdd(p, c)
}

// Quotient and root of operands of at most 24 bits.
func quotient(a, b float64) float64 {
	q := a / b
	if q == 0 || math.IsInf(q, 0) || math.IsNaN(q) || math.IsInf(b, 0) {
		return q
	}
	rest := math.FMA(-q, b, a) // exact
	if b < 0 {
		rest = -rest
	}
	return odd(q, rest)
}

func root(a float64) float64 {
	s := math.Sqrt(a)
	if s == 0 || math.IsInf(s, 0) || math.IsNaN(s) {
		return s
	}
	return odd(s, math.FMA(-s, s, a))
}

// flush replaces subnormal FP32 values by zero: .ftz.
func flush(x float64) float64 {
	if x != 0 && math.Abs(x) < 0x1p-126 {
		return math.Copysign(0, x)
	}
	return x
}

// saturate clamps to [0, 1]; NaN gives 0.
func saturate(x float64) float64 {
	switch {
	case !(x > 0):
		return 0
	case x > 1:
		return 1
	}
	return x
}

// minNumber and maxNumber order -0 before +0. With nan, a NaN wins; else the other operand does.
func minNumber(a, b float64, nan bool) float64 {
	switch {
	case math.IsNaN(a) && (nan || math.IsNaN(b)), math.IsNaN(b) && nan:
		return math.NaN()
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return math.Min(a, b)
}

func maxNumber(a, b float64, nan bool) float64 { return -minNumber(-a, -b, nan) }
