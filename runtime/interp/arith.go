package interp

import (
	"math"

	"ptoc/ir"
	"ptoc/runtime/tensor"
)

// The arithmetic of single elements, by the name in ir.Kind.Scalar. Floats are computed in float64
// and rounded once: for + - * / and sqrt that is what FP32 hardware gives, since float64 has more
// than twice FP32's bits.

// FloatBinary are the operations on two floats.
var FloatBinary = map[string]func(a, b float64) float64{
	"add": func(a, b float64) float64 { return a + b },
	"sub": func(a, b float64) float64 { return a - b },
	"mul": func(a, b float64) float64 { return a * b },
	"div": func(a, b float64) float64 { return a / b },
	"min": minFloat,
	"max": maxFloat,
}

// minFloat and maxFloat give NaN where an operand is NaN, as Go's built-ins do.
func minFloat(a, b float64) float64 { return min(a, b) }
func maxFloat(a, b float64) float64 { return max(a, b) }

// FloatUnary are the operations on one float.
var FloatUnary = map[string]func(x float64) float64{
	"neg":   func(x float64) float64 { return -x },
	"abs":   math.Abs,
	"recip": func(x float64) float64 { return 1 / x },
	"exp":   math.Exp,
	"log":   math.Log,
	"sqrt":  math.Sqrt,
	"rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) },
	"sin":   math.Sin,
	"cos":   math.Cos,
	"tanh":  math.Tanh,
	"relu":  func(x float64) float64 { return max(x, 0) },
	"id":    func(x float64) float64 { return x },
}

// IntBinary are the operations on two integers of any width, before wrapping.
var IntBinary = map[string]func(a, b int64) int64{
	"add":      func(a, b int64) int64 { return a + b },
	"sub":      func(a, b int64) int64 { return a - b },
	"mul":      func(a, b int64) int64 { return a * b },
	"min":      func(a, b int64) int64 { return min(a, b) },
	"max":      func(a, b int64) int64 { return max(a, b) },
	"floordiv": ir.FloorDiv,
	"mod":      ir.FloorMod,
	"bitand":   func(a, b int64) int64 { return a & b },
	"bitor":    func(a, b int64) int64 { return a | b },
	"bitxor":   func(a, b int64) int64 { return a ^ b },
	"shl":      func(a, b int64) int64 { return a << uint(b) },
	"shr":      func(a, b int64) int64 { return a >> uint(b) },
	"and":      func(a, b int64) int64 { return a & b },
	"or":       func(a, b int64) int64 { return a | b },
}

// IntUnary are the operations on one integer or BOOL.
var IntUnary = map[string]func(x int64) int64{
	"neg":         func(x int64) int64 { return -x },
	"abs":         func(x int64) int64 { return max(x, -x) },
	"relu":        func(x int64) int64 { return max(x, 0) },
	"logical_not": func(x int64) int64 { return 1 - x },
	"id":          func(x int64) int64 { return x },
}

// Divides and Shifts name the integer operations that may fail.
func Divides(scalar string) bool { return scalar == "floordiv" || scalar == "mod" }
func Shifts(scalar string) bool  { return scalar == "shl" || scalar == "shr" }

// Bits is the width of an integer type.
func Bits(d ir.DType) int64 { return int64(d.Size()) * 8 }

// WrapInt reduces x to the width of d.
func WrapInt(d ir.DType, x int64) int64 {
	switch d {
	case ir.BOOL:
		if x != 0 {
			return 1
		}
		return 0
	case ir.INT8:
		return int64(int8(x))
	case ir.INT32:
		return int64(int32(x))
	}
	return x
}

// RoundFloat rounds x to d. FP16 and BF16 are computed in FP32 and then rounded.
func RoundFloat(d ir.DType, x float64) float64 {
	switch d {
	case ir.FP32:
		return float64(float32(x))
	case ir.FP16:
		return float64(tensor.FP16Value(tensor.FP16Bits(float64(float32(x)))))
	case ir.BF16:
		return float64(tensor.BF16Value(tensor.BF16Bits(float64(float32(x)))))
	}
	return x
}

// CompareFloats and CompareInts are pl.cmp, by the position in ir.CmpType.
var CompareFloats = [...]func(a, b float64) bool{
	func(a, b float64) bool { return a == b }, func(a, b float64) bool { return a != b },
	func(a, b float64) bool { return a < b }, func(a, b float64) bool { return a <= b },
	func(a, b float64) bool { return a > b }, func(a, b float64) bool { return a >= b },
}
var CompareInts = [...]func(a, b int64) bool{
	func(a, b int64) bool { return a == b }, func(a, b int64) bool { return a != b },
	func(a, b int64) bool { return a < b }, func(a, b int64) bool { return a <= b },
	func(a, b int64) bool { return a > b }, func(a, b int64) bool { return a >= b },
}

// FloatToInt converts with a rounding mode of ir.RoundMode, saturates, and makes 0 of NaN.
// BOOL is whether x differs from 0.
func FloatToInt(d ir.DType, x float64, mode int) int64 {
	if d == ir.BOOL {
		return boolInt(x != 0)
	}
	switch ir.RoundMode.Values[mode] {
	case "rint":
		x = math.RoundToEven(x)
	case "round":
		x = math.Round(x)
	case "floor":
		x = math.Floor(x)
	case "ceil":
		x = math.Ceil(x)
	default:
		x = math.Trunc(x)
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	if n := Bits(d); n < 64 {
		lo, hi = -1<<(n-1), 1<<(n-1)-1
	}
	switch {
	case x != x:
		return 0
	case x <= float64(lo):
		return lo
	case x >= float64(hi):
		return hi
	}
	return int64(x)
}
