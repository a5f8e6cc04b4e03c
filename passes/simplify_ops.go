package passes

import (
	"math"
	"strconv"

	"ptoc/ir"
)

// Rules of simplify about single ops.

// identity is an operand or constant that op's result always equals, bit for bit; or nil.
func (s *simplifier) identity(op *ir.Op) *ir.Value {
	if op.Kind.Scalar == "" || op.Kind == ir.Expand {
		return nil
	}
	var v *ir.Value
	switch op.Kind {
	case ir.Cast:
		if x := op.Val("x"); ir.DTypeOf(x.Type) == op.DTypeAttr("target_type") {
			v = x
		}
	case ir.Select:
		v = s.selected(op)
	case ir.Cmp:
		v = s.compared(op)
	case ir.LogicalAnd, ir.LogicalOr:
		v = logicalIdentity(op)
	case ir.Not:
		if d := op.Val("x").Def; d != nil && d.Kind == ir.Not {
			v = d.Val("x")
		}
	default:
		if t, ok := op.Results[0].Type.(*ir.Scalar); ok && t.DType == ir.INDEX {
			v = s.indexValue(op)
		} else if len(op.Kind.Params) == 2 {
			v = neutral(op)
		}
	}
	if v == nil || !ir.TypesEqual(v.Type, op.Results[0].Type) {
		return nil
	}
	return v
}

func (s *simplifier) selected(op *ir.Op) *ir.Value {
	mask := op.Val("mask")
	switch {
	case !mask.IsConst():
		if op.Val("lhs") == op.Val("rhs") {
			return op.Val("lhs")
		}
	case mask.Const.B:
		return op.Val("lhs")
	default:
		return op.Val("rhs")
	}
	return nil
}

// compared decides comparisons of INDEX values that differ by a constant.
func (s *simplifier) compared(op *ir.Op) *ir.Value {
	a, b := op.Val("lhs"), op.Val("rhs")
	if !isIndex(a) || !isIndex(b) {
		return nil
	}
	d, ok := smallDim(a).Sub(smallDim(b)).Const()
	if !ok {
		return nil
	}
	op2 := ir.NewOp(ir.Cmp, op.Span).Set("lhs", ir.Index(d)).Set("rhs", ir.Index(0)).SetAttr("cmp_type", op.Enum("cmp_type"))
	return ir.Fold(op2, false)
}

func isIndex(v *ir.Value) bool {
	t, ok := v.Type.(*ir.Scalar)
	return ok && t.DType == ir.INDEX
}

func logicalIdentity(op *ir.Op) *ir.Value {
	a, b := op.Val("lhs"), op.Val("rhs")
	if a.IsConst() {
		a, b = b, a
	}
	switch {
	case a == b:
		return a
	case !b.IsConst():
		return nil
	case b.Const.B == (op.Kind == ir.LogicalAnd): // x and True, x or False
		return a
	case ir.ShapeOf(a.Type) == nil: // x and False, x or True
		return b
	}
	return nil
}

// indexValue uses the normal form of dims: a sum that is a constant, or just another value again.
func (s *simplifier) indexValue(op *ir.Op) *ir.Value {
	if op.Kind.DimFold == nil || op.Args[1].Vals[0].IsConst() && mayFail(op) {
		return nil
	}
	d := smallDim(op.Results[0])
	if !d.HasValues() {
		return ir.DimValue(d)
	}
	var only *ir.Value
	n := 0
	d.Terms(func(coef int64, atoms []ir.Atom) {
		n++
		if coef == 1 && len(atoms) == 1 && atoms[0].Op == ir.AtomVal {
			only = atoms[0].Val
		}
	})
	if n == 1 && only != nil && only != op.Results[0] && isIndex(only) {
		return s.now(only)
	}
	return nil
}

// smallDim is ir.DimOf for values that are a few ops deep: products of products grow without bound.
func smallDim(v *ir.Value) ir.Dim {
	if depthOf(v, 6) <= 6 {
		return ir.DimOf(v)
	}
	return ir.ValueDim(v)
}

func depthOf(v *ir.Value, limit int) int {
	if v.Def == nil || v.Def.Kind.DimFold == nil || !isIndex(v) {
		return 0
	}
	if limit == 0 {
		return 1
	}
	d := 0
	for _, a := range v.Def.Args {
		for _, w := range a.Vals {
			d = max(d, depthOf(w, limit-1))
		}
	}
	return d + 1
}

// neutral finds x + 0, x * 1 and the like. For floating point only where it holds for every x, -0
// and NaN included: x + 0 does not (-0 + 0 is 0).
func neutral(op *ir.Op) *ir.Value {
	a, b := op.Args[0].Vals[0], op.Args[1].Vals[0]
	dt := ir.DTypeOf(op.Results[0].Type)
	switch op.Kind {
	case ir.Add, ir.Mul, ir.BitOr, ir.BitXor:
		if a.IsConst() {
			a, b = b, a
		}
	case ir.Sub, ir.Div, ir.FloorDivide, ir.ShiftLeft, ir.ShiftRight:
	case ir.Minimum, ir.Maximum, ir.BitAnd:
		if a == b && !dt.IsFloat() {
			return a
		}
		return nil
	default:
		return nil
	}
	if isNeutral(op.Kind, b, dt.IsFloat()) {
		return a
	}
	return nil
}

func isNeutral(k *ir.Kind, c *ir.Value, float bool) bool {
	if !c.IsConst() {
		return false
	}
	n, isInt := c.ConstInt()
	x := c.Const.F
	if isInt {
		x = float64(n)
	} else if !ir.DTypeOf(c.Type).IsFloat() {
		return false
	}
	zero := x == 0 && !math.Signbit(x)
	switch k {
	case ir.Mul, ir.Div, ir.FloorDivide:
		return x == 1
	case ir.Add:
		return !float && zero || float && x == 0 && math.Signbit(x)
	case ir.Sub:
		return zero
	default: // |, ^, <<, >>
		return isInt && n == 0
	}
}

// common finds an earlier op that computes the same scalar (or view) and that is visible here; if
// there is none, later ops find this one.
func (s *simplifier) common(op *ir.Op) *ir.Value {
	if !s.shareable(op) {
		return nil
	}
	s.key = appendKey(s.key[:0], op)
	if v, ok := s.avail[string(s.key)]; ok && ir.TypesEqual(v.Type, op.Results[0].Type) {
		return v
	} else if ok {
		return nil
	}
	k := string(s.key)
	s.avail[k] = op.Results[0]
	s.scope = append(s.scope, k)
	return nil
}

// shareable: scalars and views. Not tiles: keeping one alive may cost more than computing it again.
func (s *simplifier) shareable(op *ir.Op) bool {
	if op.Kind == ir.BlockIdx || op.Kind == ir.BlockNum {
		return false // depends on the pl.spmd around it
	}
	switch op.Results[0].Type.(type) {
	case *ir.Scalar, *ir.CommCtx, *ir.Tensor:
		return true
	}
	return false
}

// appendKey writes what op computes.
func appendKey(k []byte, op *ir.Op) []byte {
	k = append(k, op.Kind.Name...) // also before a dim: two kinds may differ in how they fail
	if t, ok := op.Results[0].Type.(*ir.Scalar); ok && t.DType == ir.INDEX && op.Kind.DimFold != nil {
		if d := smallDim(op.Results[0]); d.Key() != ir.ValueDim(op.Results[0]).Key() {
			k = append(k, '=')
			return append(k, d.Key()...) // i + 1 and 1 + i are one
		}
	}
	for i := range op.Args {
		k = append(k, '|')
		for _, v := range op.Args[i].Vals {
			k = appendValue(k, v)
		}
		switch a := op.Args[i].Attr.(type) {
		case int64:
			k = strconv.AppendInt(k, a, 10)
		case float64:
			k = strconv.AppendUint(k, math.Float64bits(a), 16)
		case bool:
			k = strconv.AppendBool(k, a)
		case string:
			k = strconv.AppendQuote(k, a)
		case ir.DType:
			k = append(k, 'd', byte(a))
		case ir.Enum:
			k = append(k, 'e', byte(a.Value))
		}
	}
	return k
}

func appendValue(k []byte, v *ir.Value) []byte {
	if !v.IsConst() {
		k = append(k, '%')
		k = strconv.AppendInt(k, int64(v.ID), 10)
		return append(k, ',')
	}
	k = append(k, 'c', byte(ir.DTypeOf(v.Type)))
	k = append(k, v.Const.Dim.Key()...)
	k = append(k, ';')
	k = strconv.AppendUint(k, math.Float64bits(v.Const.F), 16)
	k = strconv.AppendBool(k, v.Const.B)
	return append(k, ',')
}
