package ir

// Rows that work element by element, on scalars, on tiles, and on a tile with a scalar.

// Enumerations of the surface language. Positions are the ABI numbers: append only.
var (
	CmpType   = &EnumType{"pl.CmpType", []string{"EQ", "NE", "LT", "LE", "GT", "GE"}}
	RoundMode = &EnumType{"pl.RoundMode", []string{"none", "rint", "round", "floor", "ceil", "trunc"}}
)

// tileNames spells name in the pl, pl.tile and pl.tensor namespaces; the first is canonical.
func tileNames(names ...string) []Spelling {
	var out []Spelling
	for i, n := range names {
		if i > 0 {
			out = append(out, Spelling{Name: "pl." + n})
		}
		out = append(out, Spelling{Name: "pl.tile." + n}, Spelling{Name: "pl.tensor." + n})
	}
	return out
}

// broadcastNames spells the row_expand_NAME and col_expand_NAME forms, which are the plain op with
// a shape rule on the second operand.
func broadcastNames(name string) []Spelling {
	var out []Spelling
	for _, ns := range []string{"pl.", "pl.tile.", "pl.tensor."} {
		out = append(out, Spelling{Name: ns + "row_expand_" + name, Want: "row"},
			Spelling{Name: ns + "col_expand_" + name, Want: "col"})
	}
	return out
}

func binary(name, scalar, infix, doc string, fold func(a, b Dim) Dim, result func(*Op) ([]Type, error), spell []Spelling) *Kind {
	return register(Kind{Name: "pl." + name, Spell: spell, Doc: doc, Where: Anywhere,
		Params: []Param{{Name: "lhs", Kind: PData}, {Name: "rhs", Kind: PData}},
		Result: result, Map: Elementwise, Flops: 1, DimFold: fold, Infix: infix, Scalar: scalar})
}

func unary(name, doc string, flops float64, result func(*Op) ([]Type, error)) *Kind {
	return register(Kind{Name: "pl." + name, Spell: tileNames(name), Doc: doc, Where: Anywhere,
		Params: []Param{{Name: "x", Kind: PData}}, Result: result, Map: Elementwise, Flops: flops, Scalar: name})
}

// Arithmetic. Integer division and modulo are Python's: they round towards minus infinity.
var (
	Add = binary("add", "add", "+", "Sum of two scalars, two tiles, or a tile and a scalar.",
		Dim.Add, arithmetic, append(tileNames("add", "adds"), broadcastNames("add")...))
	Sub = binary("sub", "sub", "-", "Difference lhs - rhs.",
		Dim.Sub, arithmetic, append(tileNames("sub", "subs"), broadcastNames("sub")...))
	Mul = binary("mul", "mul", "*", "Product.",
		Dim.Mul, arithmetic, append(tileNames("mul", "muls"), broadcastNames("mul")...))
	Div = binary("div", "div", "/", "Quotient of floating-point operands; correctly rounded.",
		nil, floatArithmetic, append(tileNames("div", "divs"), broadcastNames("div")...))
	FloorDivide = binary("floordiv", "floordiv", "//", "Integer quotient, rounded towards minus infinity. Dividing by zero is a run-time error.",
		Dim.Div, intArithmetic, tileNames("floordiv"))
	Modulo = binary("mod", "mod", "%", "Integer remainder with the sign of the divisor. Dividing by zero is a run-time error.",
		Dim.Mod, intArithmetic, tileNames("mod"))
	Minimum = binary("min", "min", "", "The smaller operand; a NaN operand gives NaN, +0 and -0 give either.",
		Dim.Min, arithmetic, append(tileNames("min", "minimum", "minimums"), broadcastNames("min")...))
	Maximum = binary("max", "max", "", "The larger operand; a NaN operand gives NaN, +0 and -0 give either.",
		Dim.Max, arithmetic, append(tileNames("max", "maximum", "maximums"), broadcastNames("max")...))
	BitAnd     = binary("bitand", "bitand", "&", "Bitwise and.", nil, intArithmetic, tileNames("bitand", "and_", "ands"))
	BitOr      = binary("bitor", "bitor", "|", "Bitwise or.", nil, intArithmetic, tileNames("bitor", "or_", "ors"))
	BitXor     = binary("bitxor", "bitxor", "^", "Bitwise exclusive or.", nil, intArithmetic, tileNames("bitxor", "xor", "xors"))
	ShiftLeft  = binary("shl", "shl", "<<", "Shift left; the count must be in [0, bits of the type).", nil, intArithmetic, tileNames("shl", "shls"))
	ShiftRight = binary("shr", "shr", ">>", "Arithmetic shift right; the count must be in [0, bits of the type).", nil, intArithmetic, tileNames("shr", "shrs"))
	LogicalAnd = binary("logical_and", "and", "and", "Logical and of BOOL operands. Both are evaluated.", nil, logical, tileNames("logical_and"))
	LogicalOr  = binary("logical_or", "or", "or", "Logical or of BOOL operands. Both are evaluated.", nil, logical, tileNames("logical_or"))

	Neg   = unary("neg", "Negation.", 1, arithmetic)
	Abs   = unary("abs", "Absolute value.", 1, arithmetic)
	Recip = unary("recip", "1 / x, correctly rounded.", 1, floatArithmetic)
	Exp   = unary("exp", "e to the x.", 10, floatArithmetic)
	Log   = unary("log", "Natural logarithm.", 10, floatArithmetic)
	Sqrt  = unary("sqrt", "Square root, correctly rounded.", 2, floatArithmetic)
	Rsqrt = unary("rsqrt", "1 / sqrt(x).", 3, floatArithmetic)
	Sin   = unary("sin", "Sine; x in radians.", 12, floatArithmetic)
	Cos   = unary("cos", "Cosine; x in radians.", 12, floatArithmetic)
	Tanh  = unary("tanh", "Hyperbolic tangent.", 15, floatArithmetic)
	Relu  = unary("relu", "max(x, 0).", 1, arithmetic)
	Not   = unary("logical_not", "Logical not of a BOOL.", 1, logical)
)

// Cmp compares; the surface's <, <=, == ... are this op.
var Cmp = register(Kind{Name: "pl.cmp", Spell: tileNames("cmp", "cmps"), Where: Anywhere,
	Doc:    "Compares element by element and gives BOOL. A comparison with NaN is false, except NE.",
	Params: []Param{{Name: "lhs", Kind: PData}, {Name: "rhs", Kind: PData}, {Name: "cmp_type", Kind: AEnum, Enum: CmpType}},
	Map:    Elementwise, Flops: 1, Scalar: "cmp",
	Result: func(op *Op) ([]Type, error) {
		t, err := elementwise(op, op.Vals("lhs")[0], op.Vals("rhs")[0])
		if err != nil {
			return nil, err
		}
		return []Type{withDType(t, BOOL)}, nil
	}})

// Select chooses by a mask.
var Select = register(Kind{Name: "pl.sel", Spell: tileNames("sel", "sels", "where"), Where: Anywhere,
	Doc:    "lhs where mask is true, rhs elsewhere. Both are evaluated.",
	Params: []Param{{Name: "mask", Kind: PData, DTypes: []DType{BOOL}}, {Name: "lhs", Kind: PData}, {Name: "rhs", Kind: PData}},
	Map:    Elementwise, Flops: 1, Scalar: "sel",
	Result: func(op *Op) ([]Type, error) {
		t, err := elementwise(op, op.Val("lhs"), op.Val("rhs"))
		if err != nil {
			return nil, err
		}
		shaped, err := broadcastWith(op, t, "mask", op.Val("mask").Type)
		if err != nil {
			return nil, err
		}
		return []Type{shaped}, nil
	}})

// Cast converts element types.
var Cast = register(Kind{Name: "pl.cast", Spell: tileNames("cast"), Where: Anywhere,
	Doc: "Converts to another element type. Float to integer rounds by mode (none: towards zero) and saturates; " +
		"float to a narrower float rounds to nearest even.",
	Params: []Param{{Name: "x", Kind: PData}, {Name: "target_type", Kind: ADType},
		{Name: "mode", Kind: AEnum, Enum: RoundMode, Optional: true, Default: RoundMode.Of("none")}},
	Map: Elementwise, Flops: 1, Scalar: "cast",
	Result: func(op *Op) ([]Type, error) {
		return []Type{withDType(op.Val("x").Type, op.DTypeAttr("target_type"))}, nil
	}})

func arithmetic(op *Op) ([]Type, error) {
	return numeric(op, "a number", func(d DType) bool { return d != BOOL })
}
func floatArithmetic(op *Op) ([]Type, error) {
	return numeric(op, "floating point", DType.IsFloat)
}
func intArithmetic(op *Op) ([]Type, error) { return numeric(op, "an integer", DType.IsInt) }
func logical(op *Op) ([]Type, error) {
	return numeric(op, "BOOL", func(d DType) bool { return d == BOOL })
}

// numeric is the deduction of elementwise ops whose result has the operands' type.
func numeric(op *Op, want string, ok func(DType) bool) ([]Type, error) {
	t, err := elementwise(op, op.Operands()...)
	if err != nil {
		return nil, err
	}
	for i, p := range op.Kind.Params {
		if dt := DTypeOf(op.Args[i].Vals[0].Type); !ok(dt) && !(dt == INDEX && ok(DTypeOf(t))) {
			e := Errf(BadDType, p.Name, "%s %s must be %s, got %s", op.Kind.Name, p.Name, want, dt)
			switch {
			case op.Kind.Scalar == "div" && dt.IsInt():
				e.Help = "use // for an integer quotient, or pl.cast to FP32 first"
			case ok(FP32) && !ok(INT32):
				e.Help = "convert it first: pl.cast(..., pl.FP32)"
			}
			return nil, e
		}
	}
	return []Type{t}, nil
}

// elementwise joins the types of operands: tiles broadcast, a scalar takes the tile's element type.
func elementwise(op *Op, vals ...*Value) (Type, error) {
	t := vals[0].Type
	var err error
	for _, v := range vals[1:] {
		if t, err = joinTypes(op, t, vals[0], v); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func joinTypes(op *Op, t Type, first, v *Value) (Type, error) {
	dt, err := joinDTypes(op, t, first, v)
	if err != nil {
		return nil, err
	}
	shaped, err := broadcastWith(op, t, op.paramOf(v), v.Type)
	if err != nil {
		return nil, err
	}
	return withDType(shaped, dt), nil
}

// joinDTypes: equal types join; INDEX (what integer literals and sizes are) joins any number on the
// other side; an FP32 literal joins any float; a scalar joins a tile of the same family.
func joinDTypes(op *Op, t Type, first, v *Value) (DType, error) {
	a, b := DTypeOf(t), DTypeOf(v.Type)
	_, aTile := t.(*Tile)
	_, bTile := v.Type.(*Tile)
	switch {
	case a == b:
		return a, nil
	case aTile && !bTile && scalarFits(b, a):
		return a, nil
	case bTile && !aTile && scalarFits(a, b):
		return b, nil
	case !aTile && !bTile && a.IsInt() && b.IsInt():
		return WiderInt(a, b), nil
	case !aTile && !bTile && v.IsConst() && scalarFits(b, a):
		return a, nil
	case !aTile && !bTile && first.IsConst() && scalarFits(a, b):
		return b, nil
	}
	e := Errf(BadDType, op.paramOf(v), "%s needs operands of one element type, got %s and %s", op.Kind.Name, a, b)
	e.Help = "convert one of them with pl.cast(..., pl." + convertTo(a, b).String() + ")"
	return 0, e
}

// convertTo is the type that a mixture of a and b most likely means: a number where one of them is one, and
// floating point where one of them is.
func convertTo(a, b DType) DType {
	if a == BOOL || b.IsFloat() && !a.IsFloat() {
		return b
	}
	return a
}

// scalarFits reports whether a scalar of type s may be combined with elements of type t.
func scalarFits(s, t DType) bool {
	return s.IsInt() && (t.IsInt() || t.IsFloat()) || s.IsFloat() && t.IsFloat()
}

// paramOf is the name of the parameter that v was given to.
func (op *Op) paramOf(v *Value) string {
	for i, a := range op.Args {
		for _, w := range a.Vals {
			if w == v {
				return op.Kind.Params[i].Name
			}
		}
	}
	return ""
}

func withDType(t Type, dt DType) Type {
	if tile, ok := t.(*Tile); ok {
		return &Tile{Dims: tile.Dims, Cap: tile.Cap, DType: dt}
	}
	return &Scalar{dt}
}

// broadcastWith joins the shapes of t and u (numpy's rules: aligned at the right, 1 stretches).
func broadcastWith(op *Op, t Type, param string, u Type) (Type, error) {
	a, aTile := t.(*Tile)
	b, bTile := u.(*Tile)
	if !bTile {
		return t, nil
	}
	if !aTile {
		return &Tile{Dims: b.Dims, Cap: b.Cap, DType: DTypeOf(t)}, nil
	}
	dims, ok := Broadcast(a.Dims, b.Dims)
	if !ok {
		return nil, Errf(BadShape, param, "%s cannot combine shapes %s and %s", op.Kind.Name,
			dimsText(a.Dims, valueName), dimsText(b.Dims, valueName))
	}
	storage, ok := Broadcast(a.Storage(), b.Storage())
	if !ok {
		return nil, Errf(BadShape, param, "%s cannot combine tiles stored as %s and %s", op.Kind.Name,
			dimsText(a.Storage(), valueName), dimsText(b.Storage(), valueName))
	}
	return NewTile(dims, storage, a.DType), nil
}

// valueName is how error messages write run-time values.
func valueName(v *Value) string {
	if v.Name != "" {
		return v.Name
	}
	return "?"
}

// NewTile makes a tile type; storage equal to dims is the same as none.
func NewTile(dims, storage []Dim, dt DType) *Tile {
	if storage != nil && DimsEqual(dims, storage) {
		storage = nil
	}
	return &Tile{Dims: dims, Cap: storage, DType: dt}
}

// Broadcast joins two shapes by numpy's rules; false if they do not fit.
func Broadcast(a, b []Dim) ([]Dim, bool) {
	n := max(len(a), len(b))
	out := make([]Dim, n)
	at := func(ds []Dim, i int) Dim {
		if j := i - (n - len(ds)); j >= 0 {
			return ds[j]
		}
		return ConstDim(1)
	}
	for i := range out {
		x, y := at(a, i), at(b, i)
		switch {
		case x.Equal(y), y.Is(1):
			out[i] = x
		case x.Is(1):
			out[i] = y
		default:
			return nil, false
		}
	}
	return out, true
}
