package check

import (
	"fmt"
	"math"
	"math/bits"

	"ptoc/ir"
	"ptoc/lang/syntax"
)

// Arithmetic on Python's constants, with Python's meaning. foldBinary and foldUnary report ok = false
// where a constant is not what the operands are; err says what is wrong with constants.

func foldBinary(op syntax.Op, a, b value) (v value, ok bool, err error) {
	switch x := a.(type) {
	case string:
		if y, isStr := b.(string); isStr && op == syntax.Add {
			if len(x)+len(y) > maxConstString {
				return nil, true, fmt.Errorf("the string would have more than %d bytes", maxConstString)
			}
			return x + y, true, nil
		}
		return nil, false, nil
	case seq:
		return foldSeq(op, x, b)
	case bool:
		return foldBools(op, x, b)
	}
	if x, isInt := a.(int64); isInt {
		if y, isInt := b.(int64); isInt {
			v, err := foldInts(op, x, y)
			return v, true, err
		}
	}
	x, xDim := asDim(a)
	y, yDim := asDim(b)
	if xDim && yDim {
		return foldDims(op, x, y)
	}
	f, fOK := asFloat(a)
	g, gOK := asFloat(b)
	if fOK && gOK {
		v, err := foldFloats(op, f, g)
		return v, true, err
	}
	return nil, false, nil
}

// A few lines that double a string or a list fill any memory.
const (
	maxConstString = 1 << 16
	maxConstSeq    = 1 << 10
)

func foldSeq(op syntax.Op, x seq, b value) (value, bool, error) {
	out := seq{list: x.list}
	switch y := b.(type) {
	case seq:
		if op != syntax.Add || x.list != y.list {
			return nil, false, nil
		}
		if len(x.elts)+len(y.elts) > maxConstSeq {
			return nil, true, errSeqSize
		}
		out.elts = append(append(out.elts, x.elts...), y.elts...)
	case int64:
		if op != syntax.Mul {
			return nil, false, nil
		}
		if len(x.elts) > 0 && y > maxConstSeq/int64(len(x.elts)) {
			return nil, true, errSeqSize
		}
		for ; y > 0 && len(x.elts) > 0; y-- {
			out.elts = append(out.elts, x.elts...)
		}
	default:
		return nil, false, nil
	}
	return out, true, nil
}

var errSeqSize = fmt.Errorf("the list or tuple would have more than %d elements", maxConstSeq)

func foldBools(op syntax.Op, x bool, b value) (value, bool, error) {
	y, ok := b.(bool)
	if !ok {
		return nil, false, nil
	}
	switch op {
	case syntax.BitAnd:
		return x && y, true, nil
	case syntax.BitOr:
		return x || y, true, nil
	case syntax.BitXor:
		return x != y, true, nil
	}
	return nil, false, nil
}

// maxDimText is how long the normal form of an extent may be: products of sums multiply.
const maxDimText = 1 << 16

func foldDims(op syntax.Op, x, y ir.Dim) (value, bool, error) {
	size := len(x.Key()) + len(y.Key())
	if op == syntax.Mul {
		size = len(x.Key()) * len(y.Key())
	}
	if size > maxDimText {
		return nil, true, fmt.Errorf("the expression over symbols of pl.dynamic grows too large")
	}
	switch op {
	case syntax.Add:
		return dimConst(x.Add(y)), true, nil
	case syntax.Sub:
		return dimConst(x.Sub(y)), true, nil
	case syntax.Mul:
		return dimConst(x.Mul(y)), true, nil
	case syntax.FloorDiv, syntax.Mod:
		if y.Is(0) {
			return nil, true, fmt.Errorf("division by zero")
		}
		if op == syntax.FloorDiv {
			return dimConst(x.Div(y)), true, nil
		}
		return dimConst(x.Mod(y)), true, nil
	}
	return nil, false, nil
}

var errRange = fmt.Errorf("the result does not fit 64 bits")

func foldInts(op syntax.Op, a, b int64) (value, error) {
	switch op {
	case syntax.Add:
		if (a+b > a) != (b > 0) {
			return nil, errRange
		}
		return a + b, nil
	case syntax.Sub:
		if (a-b < a) != (b > 0) {
			return nil, errRange
		}
		return a - b, nil
	case syntax.Mul:
		return mulInts(a, b)
	case syntax.Div:
		if b == 0 {
			return nil, fmt.Errorf("division by zero")
		}
		return float64(a) / float64(b), nil
	case syntax.FloorDiv, syntax.Mod:
		if b == 0 {
			return nil, fmt.Errorf("division by zero")
		}
		if a == math.MinInt64 && b == -1 {
			return nil, errRange
		}
		if op == syntax.Mod {
			return ir.FloorMod(a, b), nil
		}
		return ir.FloorDiv(a, b), nil
	case syntax.Pow:
		return powInts(a, b)
	case syntax.Shl, syntax.Shr:
		return shiftInts(op, a, b)
	case syntax.BitAnd:
		return a & b, nil
	case syntax.BitOr:
		return a | b, nil
	case syntax.BitXor:
		return a ^ b, nil
	}
	return nil, fmt.Errorf("%s is not defined on integers", op)
}

func mulInts(a, b int64) (value, error) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi != 0 || lo > 1<<63 || lo == 1<<63 && (a < 0) == (b < 0) {
		return nil, errRange
	}
	return a * b, nil
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func powInts(a, b int64) (value, error) {
	if b < 0 {
		return math.Pow(float64(a), float64(b)), nil
	}
	if b > 64 && a != 0 && a != 1 && a != -1 {
		return nil, errRange
	}
	if a == -1 || a == 0 || a == 1 {
		b = min(b, 2-b%2) // the same parity
	}
	out := int64(1)
	for ; b > 0; b-- {
		v, err := mulInts(out, a)
		if err != nil {
			return nil, err
		}
		out = v.(int64)
	}
	return out, nil
}

func shiftInts(op syntax.Op, a, b int64) (value, error) {
	if b < 0 {
		return nil, fmt.Errorf("negative shift count")
	}
	if op == syntax.Shr {
		return a >> min(uint64(b), 63), nil
	}
	if b > 63 && a != 0 || a<<b>>b != a {
		return nil, errRange
	}
	return a << b, nil
}

func foldFloats(op syntax.Op, a, b float64) (value, error) {
	switch op {
	case syntax.Add:
		return a + b, nil
	case syntax.Sub:
		return a - b, nil
	case syntax.Mul:
		return a * b, nil
	case syntax.Pow:
		return math.Pow(a, b), nil
	case syntax.Div, syntax.FloorDiv, syntax.Mod:
		if b == 0 {
			return nil, fmt.Errorf("division by zero")
		}
		switch op {
		case syntax.Div:
			return a / b, nil
		case syntax.FloorDiv:
			return math.Floor(a / b), nil
		}
		r := math.Mod(a, b)
		if r != 0 && (r < 0) != (b < 0) {
			r += b
		}
		return r, nil
	}
	return nil, fmt.Errorf("%s is not defined on floating-point numbers", op)
}

func foldUnary(op syntax.Op, a value) (value, bool, error) {
	switch x := a.(type) {
	case int64:
		switch op {
		case syntax.Neg:
			if x == math.MinInt64 {
				return nil, true, errRange
			}
			return -x, true, nil
		case syntax.Plus:
			return x, true, nil
		case syntax.Invert:
			return ^x, true, nil
		}
	case float64:
		switch op {
		case syntax.Neg:
			return -x, true, nil
		case syntax.Plus:
			return x, true, nil
		}
	case ir.Dim:
		switch op {
		case syntax.Neg:
			return dimConst(x.Scale(-1)), true, nil
		case syntax.Plus:
			return x, true, nil
		}
	}
	return nil, false, nil
}

// foldCompare compares constants; ok is false where it takes a run to know.
func foldCompare(op syntax.Op, a, b value) (result, ok bool) {
	if x, isDim := asDim(a); isDim {
		if y, isDim := asDim(b); isDim {
			if d, isConst := x.Sub(y).Const(); isConst {
				return compare(op, d, 0)
			}
			return false, false
		}
	}
	if x, isNum := asFloat(a); isNum {
		if y, isNum := asFloat(b); isNum {
			return compare(op, x, y)
		}
	}
	if x, isStr := a.(string); isStr {
		if y, isStr := b.(string); isStr {
			return compare(op, x, y)
		}
	}
	switch op {
	case syntax.Is, syntax.IsNot, syntax.Eq, syntax.Ne:
		if symbolic(a) && symbolic(b) {
			same := sameValue(a, b)
			return same == (op == syntax.Eq || op == syntax.Is), true
		}
	case syntax.In, syntax.NotIn:
		if s, isSeq := b.(seq); isSeq {
			return foldIn(op, a, s)
		}
	}
	return false, false
}

// symbolic values are compared as wholes: types, names, None, sequences of these.
func symbolic(v value) bool {
	switch v := v.(type) {
	case string, bool, ir.DType, ir.Enum, none, *decl, dotted, int64, float64:
		return true
	case seq:
		for _, e := range v.elts {
			if _, dim := e.(ir.Dim); !dim && !symbolic(e) {
				return false
			}
		}
		return true
	}
	return false
}

func foldIn(op syntax.Op, a value, s seq) (result, ok bool) {
	found := false
	for _, e := range s.elts {
		eq, ok := foldCompare(syntax.Eq, a, e)
		if !ok {
			return false, false
		}
		found = found || eq
	}
	return found == (op == syntax.In), true
}

func compare[T int64 | float64 | string](op syntax.Op, a, b T) (result, ok bool) {
	switch op {
	case syntax.Eq:
		return a == b, true
	case syntax.Ne:
		return a != b, true
	case syntax.Lt:
		return a < b, true
	case syntax.Le:
		return a <= b, true
	case syntax.Gt:
		return a > b, true
	case syntax.Ge:
		return a >= b, true
	}
	return false, false
}
