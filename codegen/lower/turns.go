package lower

import (
	"math/big"
	"sync"
)

// Sine and cosine of large numbers: how far x stands behind a multiple of pi/2 depends on digits of pi that no
// FP64 constant holds. With x = m 2^e, m an integer, only x (2/pi) mod 4 matters, the quarters of a turn, so
// 2^e (2/pi) mod 4 is kept for every fourth e, to 103 binary places (Payne and Hanek, "Radian reduction for
// trigonometric functions", 1983). In three parts: with m below 2^27 the products with the first two are exact in
// FP64, and so is their sum without its nearest integer.

// TurnRows is the number of rows of Turns: row r is for FP32 numbers whose exponent, as it is stored, is
// 126 + 4r to 129 + 4r; m is the fraction with its leading bit, as an integer, shifted by what the exponent is
// above 126 + 4r. Smaller numbers, below 1/2, need no reduction.
const TurnRows = 33

// twoOverPi are the first 256 binary places of 2/pi.
const twoOverPi = "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561"

// Turns are the parts: multiples of 2^-24 below 4, of 2^-50 below 2^-24, and the rest.
var Turns = sync.OnceValue(func() (parts [3][TurnRows]float64) {
	bits, _ := new(big.Int).SetString(twoOverPi, 16)
	for r := range TurnRows {
		shift := uint(256 + 24 - 4*r) // bits / 2^shift is 2/pi times the value of the row's lowest bit of m
		rest := new(big.Int).And(bits, mask(shift+2))
		for i, places := range []uint{24, 50, 103} {
			part := new(big.Int).Rsh(rest, shift-places)
			rest.And(rest, mask(shift-places))
			parts[i][r], _ = new(big.Float).SetMantExp(new(big.Float).SetInt(part), -int(places)).Float64()
		}
	}
	return parts
})

func mask(n uint) *big.Int {
	one := big.NewInt(1)
	return new(big.Int).Sub(new(big.Int).Lsh(one, n), one)
}
