package lower

import (
	"math"
	"math/big"
	"testing"
)

// Together the parts are 2^e (2/pi) mod 4: against pi from Machin's formula.
func TestTurns(t *testing.T) {
	const prec = 500
	arctan := func(n int64) *big.Float { // of 1/n
		sum, power := new(big.Float).SetPrec(prec), new(big.Float).SetPrec(prec).Quo(big.NewFloat(1), big.NewFloat(float64(n)))
		for k := int64(1); k < 800; k += 2 {
			sum.Add(sum, new(big.Float).SetPrec(prec).Quo(power, big.NewFloat(float64(k))))
			power.Quo(power, big.NewFloat(float64(-n*n)))
		}
		return sum
	}
	pi := new(big.Float).SetPrec(prec).Mul(big.NewFloat(16), arctan(5))
	pi.Sub(pi, new(big.Float).SetPrec(prec).Mul(big.NewFloat(4), arctan(239)))
	if x, _ := pi.Float64(); x != math.Pi {
		t.Fatalf("pi is not %v", x)
	}
	turns := Turns()
	for r := range TurnRows {
		// The lowest bit of a 24-bit m is worth 2^(126 + 4r - 127 - 23).
		want := new(big.Float).SetPrec(prec).SetMantExp(new(big.Float).Quo(big.NewFloat(2), pi), 4*r-24)
		whole, _ := new(big.Float).SetMantExp(want, -2).Int(nil)
		want.Sub(want, new(big.Float).SetMantExp(new(big.Float).SetPrec(prec).SetInt(whole), 2))
		for _, part := range turns {
			want.Sub(want, big.NewFloat(part[r]))
		}
		if off, _ := want.Float64(); off < 0 || off > 0x1p-103 {
			t.Errorf("row %d is off by %g", r, off)
		}
		for i, unit := range []float64{0x1p24, 0x1p50} {
			if x := turns[i][r] * unit; x != math.Trunc(x) || x >= 0x1p26 {
				t.Errorf("part %d of row %d has more than 26 bits: %g", i, r, turns[i][r])
			}
		}
	}
}
