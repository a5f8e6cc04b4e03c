package tensor

import (
	"math"

	"github.com/x448/float16"
)

// FP16 and BF16 are rounded to nearest, ties to even, once: also from float64.

// FP16Bits rounds to half precision.
func FP16Bits(x float64) uint16 { return float16.Fromfloat32(roundToOdd(x)).Bits() }

// FP16Value is exact.
func FP16Value(b uint16) float32 { return float16.Frombits(b).Float32() }

// BF16Bits rounds to bfloat16. A NaN stays a NaN of its sign.
func BF16Bits(x float64) uint16 {
	b := math.Float32bits(roundToOdd(x))
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// BF16Value is exact.
func BF16Value(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// roundToOdd brings a float64 to float32 such that a second rounding, to a
// narrower type, gives what one rounding would have: an inexact result is
// truncated, and its last bit set, so that it never looks like a tie.
func roundToOdd(x float64) float32 {
	f := float32(x)
	wide := float64(f)
	if wide == x || x != x {
		return f
	}
	b := math.Float32bits(f)
	if math.Abs(wide) > math.Abs(x) {
		b-- // towards zero; from infinity to the largest finite number
	}
	return math.Float32frombits(b | 1)
}
