package ir

import (
	"math"

	"github.com/x448/float16"
)

// Fold is the constant that a scalar op on constants computes, or nil. It gives what every executor
// would compute, bit for bit, and where executors may differ (transcendental functions, an overflow,
// a division by zero) or a symbol decides, it leaves the op alone.
//
// exact is for functions that run in float64 without rounding in between (golden functions, and
// inline functions, which may be spliced into them): only results that need no rounding fold there.
func Fold(op *Op, exact bool) *Value {
	if op.Kind.Scalar == "" || op.Kind.Result == nil {
		return nil
	}
	for _, a := range op.Args {
		for _, v := range a.Vals {
			if v.Const == nil {
				return nil
			}
		}
	}
	ts, err := op.Kind.Result(op)
	if err != nil || len(ts) != 1 {
		return nil
	}
	t, ok := ts[0].(*Scalar)
	if !ok {
		return nil
	}
	f := folder{op: op, dt: t.DType, exact: exact}
	return f.fold()
}

// FoldsExactly reports whether functions of kind k fold with exact set.
func FoldsExactly(k FuncKind) bool { return k == Golden || k == Inline }

type folder struct {
	op    *Op
	dt    DType // of the result
	exact bool
}

func (f *folder) fold() *Value {
	switch f.op.Kind {
	case Cast:
		return f.cast()
	case Cmp:
		return f.cmp()
	case Select:
		v := f.op.Val("rhs")
		if f.op.Val("mask").Const.B {
			v = f.op.Val("lhs")
		}
		return f.convert(v, f.dt)
	}
	switch {
	case f.dt == BOOL:
		return f.logic()
	case f.dt == INDEX && f.op.Kind.DimFold != nil:
		return f.dims()
	case f.dt == INDEX && f.op.Kind == Neg:
		return DimValue(f.op.Args[0].Vals[0].Const.Dim.Scale(-1))
	case f.dt.IsInt():
		return f.ints()
	case f.dt.IsFloat():
		return f.floats()
	}
	return nil
}

// dims folds INDEX arithmetic, symbols included.
func (f *folder) dims() *Value {
	x, y := f.op.Args[0].Vals[0].Const.Dim, f.op.Args[1].Vals[0].Const.Dim
	if y.Is(0) && (f.op.Kind == FloorDivide || f.op.Kind == Modulo) {
		return nil
	}
	return DimValue(f.op.Kind.DimFold(x, y))
}

// convert is the implicit conversion of a constant operand to dt, or nil where it is not exact
// enough to be the same everywhere.
func (f *folder) convert(v *Value, dt DType) *Value {
	from := DTypeOf(v.Type)
	switch {
	case from == dt:
		return v
	case from.IsInt() && dt == INDEX:
		return DimValue(v.Const.Dim)
	case from.IsInt() && dt.IsInt():
		if n, ok := v.ConstInt(); ok && fitsInt(n, dt) {
			return TypedInt(n, dt)
		}
	case from.IsInt() && dt.IsFloat():
		if n, ok := v.ConstInt(); ok && int64(float32(n)) == n && n != math.MaxInt64 {
			return f.float(float64(n), dt)
		}
	case from.IsFloat() && dt.IsFloat():
		return f.float(v.Const.F, dt)
	}
	return nil
}

// float rounds x to dt; nil when exactness is asked for and the rounding loses something.
func (f *folder) float(x float64, dt DType) *Value {
	r := RoundFloat(x, dt)
	if f.exact && r != x && !math.IsNaN(x) {
		return nil
	}
	return FloatValue(r, dt)
}

// RoundFloat rounds x to the nearest value of a floating type, ties to even. NaNs become one NaN.
func RoundFloat(x float64, dt DType) float64 {
	if math.IsNaN(x) {
		return math.NaN()
	}
	s := float32(x)
	switch dt {
	case FP16:
		return float64(float16.Fromfloat32(s).Float32())
	case BF16:
		if math.IsInf(x, 0) {
			return x
		}
		b := math.Float32bits(s)
		b += 0x7fff + b>>16&1
		return float64(math.Float32frombits(b &^ 0xffff))
	}
	return float64(s)
}

func intBits(dt DType) int {
	if dt == INDEX {
		return 64
	}
	return dt.Size() * 8
}

func fitsInt(n int64, dt DType) bool {
	b := intBits(dt)
	return b == 64 || n >= -1<<(b-1) && n < 1<<(b-1)
}

func (f *folder) logic() *Value {
	x := f.op.Args[0].Vals[0].Const.B
	switch f.op.Kind {
	case Not:
		return BoolValue(!x)
	case LogicalAnd:
		return BoolValue(x && f.op.Args[1].Vals[0].Const.B)
	case LogicalOr:
		return BoolValue(x || f.op.Args[1].Vals[0].Const.B)
	}
	return nil
}

// ints folds integer arithmetic; an overflow stays for run time.
func (f *folder) ints() *Value {
	var x [2]int64
	for i, a := range f.op.Args {
		v := f.convert(a.Vals[0], f.dt)
		n, ok := v.ConstInt()
		if v == nil || !ok {
			return nil
		}
		x[i] = n
	}
	n, ok := foldInt(f.op.Kind, x[0], x[1], intBits(f.dt))
	if !ok || !fitsInt(n, f.dt) {
		return nil
	}
	if f.dt == INDEX {
		return Index(n)
	}
	return TypedInt(n, f.dt)
}

func foldInt(k *Kind, a, b int64, width int) (int64, bool) {
	switch k {
	case Add:
		return a + b, (a+b > a) == (b > 0)
	case Sub:
		return a - b, (a-b < a) == (b > 0)
	case Mul:
		return mulOK(a, b)
	case FloorDivide:
		return safeDiv(a, b, FloorDiv)
	case Modulo:
		return safeDiv(a, b, FloorMod)
	case Minimum:
		return min(a, b), true
	case Maximum, Relu:
		return max(a, b), true // relu's missing second operand is 0
	case BitAnd:
		return a & b, true
	case BitOr:
		return a | b, true
	case BitXor:
		return a ^ b, true
	case ShiftLeft:
		if b < 0 || b >= int64(width) {
			return 0, false
		}
		return a << b, a<<b>>b == a
	case ShiftRight:
		return a >> uint64(b), b >= 0 && b < int64(width)
	case Neg:
		return -a, a != math.MinInt64
	case Abs:
		return max(a, -a), a != math.MinInt64
	}
	return 0, false
}

func safeDiv(a, b int64, div func(a, b int64) int64) (int64, bool) {
	if b == 0 || a == math.MinInt64 && b == -1 {
		return 0, false
	}
	return div(a, b), true
}

// floats folds the operations that IEEE arithmetic defines exactly. FP16 and BF16 compute in FP32
// and round once more, as the executors do.
func (f *folder) floats() *Value {
	var x [2]float64
	for i, a := range f.op.Args {
		v := f.convert(a.Vals[0], f.dt)
		if v == nil {
			return nil
		}
		x[i] = v.Const.F
	}
	wide, single, ok := foldFloat(f.op.Kind, x[0], x[1])
	if !ok {
		return nil
	}
	r := RoundFloat(float64(single), f.dt)
	if f.exact && r != wide && !(math.IsNaN(r) && math.IsNaN(wide)) {
		return nil
	}
	return FloatValue(r, f.dt)
}

// foldFloat computes in float64 and in float32.
func foldFloat(k *Kind, a, b float64) (wide float64, single float32, ok bool) {
	s, t := float32(a), float32(b)
	switch k {
	case Add:
		return a + b, s + t, true
	case Sub:
		return a - b, s - t, true
	case Mul:
		return a * b, s * t, true
	case Div:
		return a / b, s / t, true
	case Recip:
		return 1 / a, 1 / s, true
	case Sqrt:
		return math.Sqrt(a), float32(math.Sqrt(a)), true
	case Neg:
		return -a, -s, true
	case Abs:
		return math.Abs(a), float32(math.Abs(a)), true
	case Relu: // the sign of relu(-0) and relu(NaN) are the executors' business
		return max(a, 0), max(s, 0), a != 0 && !math.IsNaN(a)
	case Minimum, Maximum:
		if a == 0 && b == 0 && math.Signbit(a) != math.Signbit(b) {
			return 0, 0, false
		}
		if k == Minimum {
			return min(a, b), min(s, t), true
		}
		return max(a, b), max(s, t), true
	}
	return 0, 0, false
}

func (f *folder) cmp() *Value {
	a, b := f.op.Val("lhs"), f.op.Val("rhs")
	t, err := elementwise(f.op, a, b)
	if err != nil {
		return nil
	}
	dt := DTypeOf(t)
	a, b = f.convert(a, dt), f.convert(b, dt)
	if a == nil || b == nil {
		return nil
	}
	name := CmpType.Values[f.op.Enum("cmp_type").Value]
	switch {
	case dt == BOOL && (name == "EQ" || name == "NE"):
		return BoolValue((a.Const.B == b.Const.B) == (name == "EQ"))
	case dt.IsFloat():
		return BoolValue(compareFloats(name, a.Const.F, b.Const.F))
	case dt.IsInt():
		if d, ok := a.Const.Dim.Sub(b.Const.Dim).Const(); ok {
			return BoolValue(compareFloats(name, float64(d), 0))
		}
	}
	return nil
}

func compareFloats(name string, a, b float64) bool {
	switch name {
	case "EQ":
		return a == b
	case "NE":
		return a != b
	case "LT":
		return a < b
	case "LE":
		return a <= b
	case "GT":
		return a > b
	default:
		return a >= b
	}
}

func (f *folder) cast() *Value {
	v := f.op.Val("x")
	from := DTypeOf(v.Type)
	switch {
	case from == BOOL && f.dt == BOOL:
		return v
	case from == BOOL && f.dt.IsInt():
		n := int64(0)
		if v.Const.B {
			n = 1
		}
		return f.convert(Index(n), f.dt)
	case from.IsFloat() && f.dt.IsInt():
		return f.roundToInt(v.Const.F)
	case from != BOOL && f.dt != BOOL:
		return f.convert(v, f.dt)
	}
	return nil
}

func (f *folder) roundToInt(x float64) *Value {
	switch RoundMode.Values[f.op.Enum("mode").Value] {
	case "none", "trunc":
		x = math.Trunc(x)
	case "rint":
		x = math.RoundToEven(x)
	case "round":
		x = math.Round(x)
	case "floor":
		x = math.Floor(x)
	case "ceil":
		x = math.Ceil(x)
	}
	if !(math.Abs(x) < 1<<62) || !fitsInt(int64(x), f.dt) {
		return nil // NaN, or saturates
	}
	return f.convert(Index(int64(x)), f.dt)
}
