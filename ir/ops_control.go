package ir

// Rows of control flow and calls. They have regions and are statements of the surface language, so
// the printer and the checker treat each by name.

// LoopKind: sequential, independent iterations, expanded at compile time, software pipelined, or
// blocks of one kernel (run one after the other where a rank has one core).
var LoopKind = &EnumType{"pl.LoopKind", []string{"range", "parallel", "unroll", "pipeline", "spmd"}}

var (
	// For has one region with arguments (induction variable, carried values...); the region ends in
	// a yield of the carried values. Results are the carried values after the last iteration.
	For = register(Kind{Name: "pl.for", Where: Anywhere, Control: true,
		Doc: "Counts from start to stop by step (negative steps count down); carries values through init_values.",
		Params: []Param{{Name: "start", Kind: PInt}, {Name: "stop", Kind: PInt}, {Name: "step", Kind: PInt},
			{Name: "init_values", Kind: PValues, Optional: true},
			{Name: "kind", Kind: AEnum, Enum: LoopKind, Optional: true, Default: LoopKind.Of("range")},
			{Name: "stage", Kind: AInt, Optional: true, Default: int64(1)}},
		Result: carriedTypes})

	// While has one region: ops, a Cond, more ops, a yield. It leaves at the Cond when that is false;
	// the results are then the region's arguments.
	While = register(Kind{Name: "pl.while_", Where: Anywhere, Control: true,
		Doc:    "Repeats while the condition holds; carries values through init_values.",
		Params: []Param{{Name: "init_values", Kind: PValues, Optional: true}},
		Result: carriedTypes})

	// Cond stands once at the top level of a While's region.
	Cond = register(Kind{Name: "pl.cond", Where: Anywhere, Control: true,
		Doc:    "Leaves the enclosing while loop when its operand is false.",
		Params: []Param{{Name: "cond", Kind: PBool}}})

	// If has two regions, both ending in a yield of the results (the else region may be empty when
	// there are none).
	If = register(Kind{Name: "pl.if", Where: Anywhere, Control: true,
		Doc:    "Runs one of two regions; results are what the taken one yields.",
		Params: []Param{{Name: "cond", Kind: PBool}},
		Result: func(op *Op) ([]Type, error) {
			if t := op.Regions[0].Terminator(); t != nil {
				return typesOf(t.Vals("values")), nil
			}
			return nil, nil
		}})

	Yield = register(Kind{Name: "pl.yield_", Where: Anywhere, Control: true, Terminator: true,
		Doc:    "Ends a region with the values that it hands on.",
		Params: []Param{{Name: "values", Kind: PValues}}})

	Return = register(Kind{Name: "pl.return", Where: Anywhere, Control: true, Terminator: true,
		Doc:    "Ends a function. Except in inline and golden functions each value is a parameter (memory).",
		Params: []Param{{Name: "values", Kind: PValues}}})

	// Call runs a function of the module. device is set on the dispatches of a host function, where
	// the call returns before the rank has run it. An inline callee's results are values.
	Call = register(Kind{Name: "pl.call", Where: Anywhere, Control: true,
		Doc: "Calls a function; with device=r dispatches it to rank r.",
		Params: []Param{{Name: "callee", Kind: AFunc}, {Name: "args", Kind: PValues},
			{Name: "device", Kind: PInt, Optional: true, KwOnly: true}},
		Effects: []Effect{{Kind: Calls}},
		Result: func(op *Op) ([]Type, error) {
			return callTypes(op)
		}})

	// Fused is what FuseTileOps makes: a scalar body applied at every index of shape. Region
	// arguments are the elements of ins (tiles, or memory views: fused loads); the yielded scalars go
	// first to outs (memory views: fused stores), the rest are new tiles, the op's results. An in of
	// extent 1 broadcasts. stream asks for non-temporal stores.
	Fused = register(Kind{Name: "pl.fused", Where: Compute, Control: true, Internal: true,
		Doc: "One elementwise loop over shape with a scalar body.",
		Params: []Param{{Name: "ins", Kind: PValues}, {Name: "outs", Kind: PValues}, {Name: "shape", Kind: PInts},
			{Name: "cap", Kind: PInts, Optional: true}, {Name: "stream", Kind: ABool, Optional: true, Default: false}},
		Effects: []Effect{{Kind: Reads, Mem: "ins"}, {Kind: Writes, Mem: "outs"}},
		Map:     Elementwise,
		Result:  fusedTypes})
)

func typesOf(vs []*Value) []Type {
	out := make([]Type, len(vs))
	for i, v := range vs {
		out[i] = v.Type
	}
	return out
}

func carriedTypes(op *Op) ([]Type, error) { return typesOf(op.Vals("init_values")), nil }

// callTypes: an inline callee gives what its return gives, in the caller's dims; others give nothing.
func callTypes(op *Op) ([]Type, error) {
	f := op.Callee()
	args := op.Vals("args")
	if len(args) != len(f.Params()) {
		return nil, Errf(BadRank, "args", "%s takes %d arguments, got %d", f.Name, len(f.Params()), len(args))
	}
	bind, err := BindDims(f, args)
	if err != nil {
		return nil, err
	}
	ret := f.Body.Terminator()
	if f.Kind != Inline || ret == nil || ret.Kind != Return {
		return nil, nil
	}
	var out []Type
	for _, v := range ret.Vals("values") {
		if _, ok := v.Type.(*Tensor); ok {
			continue // memory: the checker binds the name to the argument
		}
		out = append(out, callerType(f, args, v.Type, bind))
	}
	return out, nil
}

// callerType is a result's type in the caller's terms. A tile is stored as it will be once f is
// inlined: symbols that bound its storage stand for the storage of the arguments.
func callerType(f *Func, args []*Value, t Type, bind DimBinding) Type {
	tile, ok := t.(*Tile)
	if !ok {
		return SubstType(t, bind.Subst)
	}
	storage := DimBinding{}
	for i, p := range f.Params() {
		got := ShapeOf(args[i].Type)
		if a, ok := args[i].Type.(*Tile); ok {
			got = a.Storage()
		}
		if bindShape(storage, f, i, ShapeOf(p.Type), got) != nil {
			return SubstType(t, bind.Subst)
		}
	}
	for s, d := range bind {
		if _, ok := storage[s]; !ok {
			storage[s] = d
		}
	}
	dims := SubstType(&Tile{Dims: tile.Dims}, bind.Subst).(*Tile).Dims
	caps := SubstType(&Tile{Dims: tile.Storage()}, storage.Subst).(*Tile).Dims
	return NewTile(dims, caps, tile.DType)
}

func fusedTypes(op *Op) ([]Type, error) {
	if len(op.Regions) == 0 || op.Regions[0].Terminator() == nil {
		return nil, Errf(BadKind, "", "pl.fused needs a body that ends in pl.yield_")
	}
	yields := op.Regions[0].Terminator().Vals("values")
	outs := op.Vals("outs")
	if len(yields) < len(outs) {
		return nil, Errf(BadKind, "outs", "pl.fused yields %d values for %d outs", len(yields), len(outs))
	}
	var storage []Dim
	if op.Arg("cap").Given() {
		storage = DimsOf(op.Vals("cap"))
	}
	var out []Type
	for _, y := range yields[len(outs):] {
		out = append(out, NewTile(DimsOf(op.Vals("shape")), storage, DTypeOf(y.Type)))
	}
	return out, nil
}

// DimBinding gives a callee's dim symbols their values in the caller's terms.
type DimBinding map[string]Dim

// Subst is for Dim.Subst and SubstType.
func (b DimBinding) Subst(a Atom) (Dim, bool) {
	if a.Op != AtomSym {
		return Dim{}, false
	}
	d, ok := b[a.Sym]
	return d, ok
}

// BindDims matches argument types against f's parameter types. A symbol is bound where a dim is the
// symbol alone, or coef*symbol + rest with rest already bound; every other dim must then agree, or
// is left to a run-time check when it cannot be decided.
func BindDims(f *Func, args []*Value) (DimBinding, error) {
	bind := DimBinding{}
	for i, p := range f.Params() {
		if err := bindShape(bind, f, i, ShapeOf(p.Type), ShapeOf(args[i].Type)); err != nil {
			return nil, err
		}
	}
	for i, p := range f.Params() {
		if err := checkParam(bind, f, i, p.Type, args[i].Type); err != nil {
			return nil, err
		}
	}
	return bind, nil
}

func argErr(class ErrorClass, f *Func, i int, format string, a ...any) *TypeError {
	e := Errf(class, "args", format, a...)
	e.Index = i
	return e
}

func bindShape(bind DimBinding, f *Func, i int, want, got []Dim) error {
	if len(want) != len(got) {
		return argErr(BadRank, f, i, "%s parameter %s has %d dimensions, got %d", f.Name, f.Params()[i].Name, len(want), len(got))
	}
	for j, w := range want {
		if s, ok := w.Sym(); ok {
			if _, bound := bind[s]; !bound {
				bind[s] = got[j]
			}
			continue
		}
		for _, s := range w.Syms() {
			if _, bound := bind[s]; bound {
				continue
			}
			coef, rest, ok := w.Linear(s)
			if !ok {
				continue
			}
			rest = rest.Subst(bind.Subst)
			bind[s] = got[j].Sub(rest).Div(ConstDim(coef))
			break
		}
	}
	return nil
}

// checkParam compares one argument's type with the parameter's, in the caller's dims.
func checkParam(bind DimBinding, f *Func, i int, want, got Type) error {
	name := f.Params()[i].Name
	w := SubstType(want, bind.Subst)
	switch w := w.(type) {
	case *Tensor:
		g, ok := got.(*Tensor)
		if !ok {
			return argErr(BadKind, f, i, "%s parameter %s must be a %s, got %s", f.Name, name, w, got)
		}
		// A window is memory of this rank too, but only code that is spliced in can take either: calls
		// pass the two in different ways.
		if w.Window != g.Window && (w.Window || f.Kind != Inline) {
			return argErr(BadDist, f, i, "%s parameter %s must be a %s, got a %s", f.Name, name, kindWord(w), kindWord(g))
		}
	default:
		if DTypeOf(w) == INDEX && DTypeOf(got).IsInt() && ShapeOf(got) == nil {
			return nil // integer scalars widen
		}
		if s, ok := w.(*Scalar); ok && s.DType.IsFloat() {
			if g, ok := got.(*Scalar); ok && (g.DType.IsFloat() || g.DType.IsInt()) {
				return nil
			}
		}
		if fmtKind(w) != fmtKind(got) {
			return argErr(BadKind, f, i, "%s parameter %s must be a %s, got %s", f.Name, name, w, got)
		}
	}
	if DTypeOf(w) != DTypeOf(got) {
		return argErr(BadDType, f, i, "%s parameter %s must have elements of %s, got %s", f.Name, name, DTypeOf(w), DTypeOf(got))
	}
	for j, d := range ShapeOf(w) {
		if c, ok := d.Sub(ShapeOf(got)[j]).Const(); ok && c != 0 {
			return argErr(BadShape, f, i, "%s parameter %s must have shape %s, got %s", f.Name, name,
				dimsText(ShapeOf(w), valueName), dimsText(ShapeOf(got), valueName))
		}
	}
	return nil
}

func fmtKind(t Type) string {
	switch t.(type) {
	case *Tensor:
		return "tensor"
	case *Tile:
		return "tile"
	case *Scalar:
		return "scalar"
	case *Array:
		return "array"
	case *Buffer:
		return "buffer"
	case *CommCtx:
		return "ctx"
	}
	return "?"
}

func kindWord(t *Tensor) string {
	if t.Window {
		return "pld.DistributedTensor"
	}
	return "pl.Tensor"
}
