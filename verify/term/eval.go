package term

import (
	"math"
)

// folds evaluate operations whose arguments are numbers.
var folds = map[string]func(x []float64) float64{
	"recip": func(x []float64) float64 { return 1 / x[0] },
	"abs":   func(x []float64) float64 { return math.Abs(x[0]) }, "exp": func(x []float64) float64 { return math.Exp(x[0]) },
	"log": func(x []float64) float64 { return math.Log(x[0]) }, "sqrt": func(x []float64) float64 { return math.Sqrt(x[0]) },
	"sin": func(x []float64) float64 { return math.Sin(x[0]) },
	"cos": func(x []float64) float64 { return math.Cos(x[0]) }, "tanh": func(x []float64) float64 { return math.Tanh(x[0]) },
	"floordiv": func(x []float64) float64 { return math.Floor(x[0] / x[1]) },
	"mod":      func(x []float64) float64 { return x[0] - x[1]*math.Floor(x[0]/x[1]) },
	"trunc":    func(x []float64) float64 { return math.Trunc(x[0]) }, "floor": func(x []float64) float64 { return math.Floor(x[0]) },
	"ceil": func(x []float64) float64 { return math.Ceil(x[0]) }, "rint": func(x []float64) float64 { return math.RoundToEven(x[0]) },
	"round":  func(x []float64) float64 { return math.Round(x[0]) },
	"cmp.EQ": func(x []float64) float64 { return truth(x[0] == x[1]) }, "cmp.NE": func(x []float64) float64 { return truth(x[0] != x[1]) },
	"cmp.LT": func(x []float64) float64 { return truth(x[0] < x[1]) }, "cmp.LE": func(x []float64) float64 { return truth(x[0] <= x[1]) },
	"cmp.GT": func(x []float64) float64 { return truth(x[0] > x[1]) }, "cmp.GE": func(x []float64) float64 { return truth(x[0] >= x[1]) },
	"and": func(x []float64) float64 { return truth(x[0] != 0 && x[1] != 0) }, "or": func(x []float64) float64 { return truth(x[0] != 0 || x[1] != 0) },
	"logical_not": func(x []float64) float64 { return truth(x[0] == 0) },
	"nonzero":     func(x []float64) float64 { return truth(x[0] != 0) },
	"wrap.INT8":   func(x []float64) float64 { return x[0] - 256*math.Floor((x[0]+128)/256) },
	"sel": func(x []float64) float64 {
		if x[0] != 0 {
			return x[1]
		}
		return x[2]
	},
	"bitand": func(x []float64) float64 { return float64(int64(x[0]) & int64(x[1])) },
	"bitor":  func(x []float64) float64 { return float64(int64(x[0]) | int64(x[1])) },
	"bitxor": func(x []float64) float64 { return float64(int64(x[0]) ^ int64(x[1])) },
	"shl":    func(x []float64) float64 { return float64(int64(x[0]) << uint(x[1])) },
	"shr":    func(x []float64) float64 { return float64(int64(x[0]) >> uint(x[1])) },
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Tolerance is what Close forgives, relative: programs round their constants to FP32.
const Tolerance = 1e-5

// Values computes terms for one random choice of the inputs, each in (0.5, 2), or a whole number above 0: away from the poles
// and the cancellations that would hide or invent differences.
type Values struct {
	s    *Space
	at   map[T]float64
	salt uint64

	// Input, if there, gives the inputs instead; false: it does not know that one.
	Input func(name string, i int64) (float64, bool)
}

// NewValues chooses inputs; equal salts choose alike.
func NewValues(s *Space, salt uint64) *Values { return &Values{s: s, at: map[T]float64{}, salt: salt} }

// Of is the number that t is for these inputs; false where an operation has no numbers.
func (v *Values) Of(t T) (float64, bool) {
	if x, ok := v.at[t]; ok {
		return x, true
	}
	x, ok := v.compute(&v.s.nodes[t])
	if ok {
		v.at[t] = x
	}
	return x, ok
}

func (v *Values) compute(n *node) (float64, bool) {
	switch n.op {
	case opConst:
		return n.k, true
	case opLeaf:
		if v.Input != nil {
			return v.Input(v.s.leafs.text[n.leaf], int64(n.k))
		}
		return v.input(v.s.leafs.text[n.leaf], uint64(n.k)), true
	case opDot:
		return v.dot(v.s.nodes[n.args[0]].args, v.s.nodes[n.args[1]].args)
	}
	xs := make([]float64, len(n.args))
	for i, a := range n.args {
		x, ok := v.Of(a)
		if !ok {
			return 0, false
		}
		xs[i] = x
	}
	x := xs[0]
	switch n.op {
	case opSum:
		x = n.k
		for i := range xs {
			x += n.coefs[i] * xs[i]
		}
	case opMul:
		for _, y := range xs[1:] {
			x *= y
		}
	case opMax:
		for _, y := range xs[1:] {
			x = max(x, y)
		}
	case opMin:
		for _, y := range xs[1:] {
			x = min(x, y)
		}
	default:
		f := folds[v.s.ops.text[n.op]]
		if f == nil {
			return 0, false
		}
		x = f(xs)
	}
	return x, true
}

func (v *Values) dot(a, b []T) (float64, bool) {
	total := 0.0
	for i := range a {
		x, okX := v.Of(a[i])
		y, okY := v.Of(b[i])
		if !okX || !okY {
			return 0, false
		}
		total += x * y
	}
	return total, true
}

// input is a number made from the leaf's name by an FNV hash.
func (v *Values) input(name string, i uint64) float64 {
	h := uint64(14695981039346656037) ^ v.salt*0x9e3779b97f4a7c15
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ i) * 1099511628211
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 32
	unit := float64(h>>11) / float64(1<<53)
	switch top := v.s.whole[name]; top {
	case 0:
		return 0.5 + 1.5*unit
	case 1:
		return math.Floor(2 * unit)
	default:
		return 1 + math.Floor(unit*float64(top))
	}
}

// Close compares two terms for these inputs. Terms that have no numbers are not close.
func (v *Values) Close(a, b T) (equal, known bool) {
	x, okX := v.Of(a)
	y, okY := v.Of(b)
	if !okX || !okY {
		return false, false
	}
	if x == y || math.IsNaN(x) && math.IsNaN(y) {
		return true, true
	}
	return math.Abs(x-y) <= Tolerance*max(math.Abs(x), math.Abs(y), 1), true
}
