package ir

// CheckOperands checks what Kind.Params says: that every parameter is given what it takes, with an
// allowed element type. Deduction (Kind.Result) may rely on it. The error is a *TypeError.
func CheckOperands(op *Op) error {
	for i := range op.Kind.Params {
		p, a := &op.Kind.Params[i], op.Args[i]
		if !a.Given() {
			if !p.Optional {
				return Errf(BadValue, p.Name, "%s needs %s", op.Kind.Name, p.Name)
			}
			continue
		}
		if p.Kind.IsAttr() {
			if err := checkAttr(op, p, a.Attr); err != nil {
				return err
			}
			continue
		}
		if !p.Kind.IsList() && len(a.Vals) != 1 {
			return Errf(BadValue, p.Name, "%s %s must be one value, got %d", op.Kind.Name, p.Name, len(a.Vals))
		}
		for j, v := range a.Vals {
			if err := checkOperand(op, p, v); err != nil {
				if p.Kind.IsList() {
					err.Index = j
				}
				return err
			}
		}
	}
	return nil
}

// paramWants is what an operand parameter takes, in words.
var paramWants = map[ParamKind]string{
	PMem: "a tensor", PTensor: "a tensor that is not a window", PWindow: "a pld.DistributedTensor", PTile: "a tile",
	PData: "a tile or a scalar", PAny: "a tile or a tensor", PInt: "an integer", PBool: "a BOOL scalar",
	PScalar: "a scalar", PArray: "a pl.Array", PBuffer: "a window buffer", PCtx: "a pld.CommCtx", PInts: "integers",
	PValues: "values",
}

func checkOperand(op *Op, p *Param, v *Value) *TypeError {
	if !operandFits(p.Kind, v.Type) {
		e := Errf(BadKind, p.Name, "%s %s must be %s, got %s", op.Kind.Name, p.Name, paramWants[p.Kind], TypeText(v.Type, valueName))
		if t, ok := v.Type.(*Tensor); ok && p.Kind == PWindow && !t.Window {
			e.Class = BadDist
		}
		return e
	}
	if p.DTypes == nil {
		return nil
	}
	dt := DTypeOf(v.Type)
	for _, d := range p.DTypes {
		if d == dt {
			return nil
		}
	}
	want := ""
	for i, d := range p.DTypes {
		if i > 0 {
			want += " or "
		}
		want += d.String()
	}
	return Errf(BadDType, p.Name, "%s %s must have elements of %s, got %s", op.Kind.Name, p.Name, want, dt)
}

func operandFits(k ParamKind, t Type) bool {
	switch t := t.(type) {
	case *Tensor:
		switch k {
		case PMem, PAny, PValues:
			return true
		case PTensor:
			return !t.Window
		case PWindow:
			return t.Window
		}
		return false
	case *Tile:
		return k == PTile || k == PData || k == PAny || k == PValues
	case *Scalar:
		switch k {
		case PInt, PInts:
			return t.DType.IsInt()
		case PBool:
			return t.DType == BOOL
		}
		return k == PScalar || k == PData || k == PValues
	case *Array:
		return k == PArray || k == PValues
	case *Buffer:
		return k == PBuffer
	case *CommCtx:
		return k == PCtx || k == PValues
	}
	return false
}

func checkAttr(op *Op, p *Param, v any) error {
	ok := false
	switch v := v.(type) {
	case int64:
		ok = p.Kind == AInt
	case float64:
		ok = p.Kind == AFloat
	case bool:
		ok = p.Kind == ABool
	case string:
		ok = p.Kind == AStr
	case DType:
		ok = p.Kind == ADType
	case Enum:
		ok = p.Kind == AEnum && v.Type == p.Enum && v.Value >= 0 && v.Value < len(p.Enum.Values)
	case *Func:
		ok = p.Kind == AFunc && v != nil
	}
	if ok {
		return nil
	}
	want := map[ParamKind]string{AInt: "an integer", AFloat: "a number", ABool: "True or False", AStr: "a string",
		ADType: "an element type such as pl.FP32", AFunc: "a function"}[p.Kind]
	if p.Kind == AEnum {
		want = "a " + p.Enum.Name
	}
	return Errf(BadValue, p.Name, "%s %s must be %s", op.Kind.Name, p.Name, want)
}
