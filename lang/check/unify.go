package check

import "ptoc/ir"

// unify makes two values of one type, or says why it cannot (completing "NAME ..."). Integers become the
// wider type, as when they are added: at the end of then or els, which is where they come from.
func (f *fn) unify(x, y value, then, els *ir.Block) (u, v *ir.Value, reason string) {
	u, v = f.operand(x), f.operand(y)
	if u == nil || v == nil {
		return nil, nil, "is " + describe(x) + " in one arm and " + describe(y) + " in the other"
	}
	_, uMem := u.Type.(*ir.Tensor)
	_, vMem := v.Type.(*ir.Tensor)
	if uMem || vMem {
		if u == v {
			return u, v, ""
		}
		return nil, nil, "is bound to different memory in the two arms"
	}
	if ir.TypesEqual(u.Type, v.Type) {
		return u, v, ""
	}
	if w := f.adapt(u, v.Type); w != nil {
		return w, v, ""
	}
	if w := f.adapt(v, u.Type); w != nil {
		return u, w, ""
	}
	if wide := widerInt(u.Type, v.Type); wide != nil {
		return f.castIn(then, u, wide), f.castIn(els, v, wide), ""
	}
	return nil, nil, "is " + typeText(u.Type) + " in one arm and " + typeText(v.Type) + " in the other"
}

// widerInt is the type of the sum of two integer scalars; nil if they are not.
func widerInt(t, u ir.Type) *ir.Scalar {
	a, aOK := t.(*ir.Scalar)
	b, bOK := u.(*ir.Scalar)
	if !aOK || !bOK || !a.DType.IsInt() || !b.DType.IsInt() {
		return nil
	}
	return &ir.Scalar{DType: ir.WiderInt(a.DType, b.DType)}
}

// castIn is scalar v as type t, converted at the end of the block.
func (f *fn) castIn(block *ir.Block, v *ir.Value, t *ir.Scalar) *ir.Value {
	outer := f.b.Block
	f.b.Block = block
	w, err := f.b.Cast(v, t.DType)
	f.b.Block = outer
	if err != nil {
		return v // finding the op's types reports it
	}
	return w
}

// adapt converts a constant of a default type (INDEX, FP32) to scalar type t; nil if it cannot.
func (f *fn) adapt(v *ir.Value, t ir.Type) *ir.Value {
	s, ok := t.(*ir.Scalar)
	if !ok || !v.IsConst() {
		return nil
	}
	if from := ir.DTypeOf(v.Type); from != ir.INDEX && from != ir.FP32 {
		return nil
	}
	return f.typedConst(simplify(v), s.DType)
}

// typedConst is a compile-time number as a constant of type dt; nil if it does not fit.
func (f *fn) typedConst(v value, dt ir.DType) *ir.Value {
	switch {
	case dt == ir.BOOL:
		if b, ok := v.(bool); ok {
			return ir.BoolValue(b)
		}
	case dt == ir.INDEX:
		if d, ok := asDim(v); ok {
			return ir.DimValue(d)
		}
	case dt.IsInt():
		if n, ok := v.(int64); ok && fitsBits(n, dt) {
			return ir.TypedInt(n, dt)
		}
	case dt.IsFloat():
		switch v := v.(type) {
		case int64:
			return ir.FloatValue(ir.RoundFloat(float64(v), dt), dt)
		case float64:
			return ir.FloatValue(ir.RoundFloat(v, dt), dt)
		}
	}
	return nil
}

func fitsBits(n int64, dt ir.DType) bool {
	b := uint(dt.Size() * 8)
	return b >= 64 || n >= -1<<(b-1) && n < 1<<(b-1)
}
