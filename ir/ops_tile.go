package ir

// Rows on tiles and on local memory: making, loading, storing, viewing, reducing, multiplying.

func names(ns ...string) []Spelling {
	var out []Spelling
	for _, n := range ns {
		out = append(out, Spelling{Name: n})
	}
	return out
}

// ignoredPlacement are upstream's hints about memory spaces and layouts: accepted, without meaning.
var ignoredPlacement = []string{"target_memory", "layout", "blayout", "slayout", "pad", "manual_dep"}

// withDrop lets every spelling (and the canonical name, through an empty one) ignore parameters.
func withDrop(drop []string, sp []Spelling) []Spelling {
	for i := range sp {
		sp[i].Drop = append(sp[i].Drop, drop...)
	}
	return sp
}

var (
	Full = register(Kind{Name: "pl.full", Where: Compute, Map: Elementwise, Linear: false,
		Spell: withDrop(ignoredPlacement, append(tileNames("full"),
			Spelling{Name: "pl.create_tile", Fixed: map[string]any{"value": int64(0)}},
			Spelling{Name: "pl.tile.create", Fixed: map[string]any{"value": int64(0)}},
			Spelling{Name: "pl.tile.create_tile", Fixed: map[string]any{"value": int64(0)}})),
		Doc:    "A tile filled with one value. create_tile fills with zeros.",
		Params: []Param{{Name: "shape", Kind: PInts}, {Name: "dtype", Kind: ADType}, {Name: "value", Kind: PScalar}, validShape},
		Result: func(op *Op) ([]Type, error) { return newTile(op, op.DTypeAttr("dtype")) }})

	Arange = register(Kind{Name: "pl.arange", Where: Compute, Spell: tileNames("arange"),
		Doc:    "A tile whose element in column j is start + j.",
		Params: []Param{{Name: "start", Kind: PInt}, {Name: "shape", Kind: PInts}, {Name: "dtype", Kind: ADType}, validShape},
		Result: func(op *Op) ([]Type, error) { return newTile(op, op.DTypeAttr("dtype")) }})

	Load = register(Kind{Name: "pl.load", Where: Compute, Map: Relabel, Linear: true,
		Spell: withDrop(ignoredPlacement, names("pl.tile.load", "pl.tensor.load")),
		Doc: "Reads a rectangle of memory into a tile. With valid_shape only that part is read and the tile has " +
			"these (run-time) extents, bounded by shape.",
		Params:  []Param{{Name: "tensor", Kind: PMem}, {Name: "offsets", Kind: PInts}, {Name: "shape", Also: "shapes", Kind: PInts}, validShape},
		Effects: []Effect{{Kind: Reads, Mem: "tensor", Offsets: "offsets", Shape: "shape"}},
		Result:  func(op *Op) ([]Type, error) { return loadTile(op, "tensor") }})

	Store = register(Kind{Name: "pl.store", Where: Compute, Linear: true, Returns: "tensor",
		Spell: append(names("pl.tile.store", "pl.tensor.store"),
			Spelling{Name: "pl.assemble", Order: []string{"tensor", "tile", "offsets"}},
			Spelling{Name: "pl.tile.assemble", Order: []string{"tensor", "tile", "offsets"}},
			Spelling{Name: "pl.tensor.assemble", Order: []string{"tensor", "tile", "offsets"}}),
		Doc: "Writes a tile into a rectangle of memory; the expression's value is that memory. atomic adds instead. " +
			"stream asks for stores that bypass the caches.",
		Params: []Param{{Name: "tile", Kind: PTile}, {Name: "offsets", Kind: PInts}, {Name: "tensor", Also: "output_tensor", Kind: PMem},
			{Name: "atomic", Kind: AEnum, Enum: AtomicType, Optional: true, Default: AtomicType.Of("None_")},
			{Name: "stream", Kind: ABool, Optional: true, KwOnly: true, Default: false}},
		Effects: []Effect{{Kind: Writes, Mem: "tensor", Offsets: "offsets", Shape: "tile", Atomic: "atomic"}},
		Result:  func(op *Op) ([]Type, error) { return nil, checkStore(op, "tile", "tensor") }})

	Read = register(Kind{Name: "pl.read", Where: Anywhere, Spell: tileNames("read"),
		Doc:     "One element of memory or of a tile; `x[i, j]` is the same.",
		Params:  []Param{{Name: "x", Kind: PAny}, {Name: "indices", Kind: PInts}},
		Effects: []Effect{{Kind: Reads, Mem: "x", Offsets: "indices"}},
		Result: func(op *Op) ([]Type, error) {
			if err := checkIndex(op, "x", "indices"); err != nil {
				return nil, err
			}
			return []Type{&Scalar{DTypeOf(op.Val("x").Type)}}, nil
		}})

	Write = register(Kind{Name: "pl.write", Where: Compute, Spell: tileNames("write"), Returns: "tensor",
		Doc:     "Writes one element of memory; `x[i, j] = v` is the same.",
		Params:  []Param{{Name: "tensor", Kind: PMem}, {Name: "indices", Kind: PInts}, {Name: "value", Kind: PScalar}},
		Effects: []Effect{{Kind: Writes, Mem: "tensor", Offsets: "indices"}},
		Result: func(op *Op) ([]Type, error) {
			if !scalarFits(DTypeOf(op.Val("value").Type), DTypeOf(op.Val("tensor").Type)) &&
				DTypeOf(op.Val("value").Type) != DTypeOf(op.Val("tensor").Type) {
				return nil, Errf(BadDType, "value", "pl.write value must be %s like the tensor, got %s",
					DTypeOf(op.Val("tensor").Type), DTypeOf(op.Val("value").Type))
			}
			return nil, checkIndex(op, "tensor", "indices")
		}})

	Slice = register(Kind{Name: "pl.slice", Where: Anywhere, Map: Relabel, Linear: true,
		Spell: withDrop([]string{"valid_shape", "pad"}, tileNames("slice")),
		Doc: "A rectangle of memory (a view: writing it writes the original) or of a tile (a copy); `x[a:b, :]` is the " +
			"same. drop_dims removes leading extents of 1, as `x[r]` does.",
		Params: []Param{{Name: "x", Kind: PAny}, {Name: "shape", Kind: PInts}, {Name: "offsets", Kind: PInts},
			{Name: "drop_dims", Kind: AInt, Optional: true, Default: int64(0)}},
		Result: sliceTypes})

	Reshape = register(Kind{Name: "pl.reshape", Where: Anywhere, Map: Relabel, Linear: true, Spell: tileNames("reshape"),
		Doc:    "The same elements in another shape: a view of contiguous memory, or a tile.",
		Params: []Param{{Name: "x", Kind: PAny}, {Name: "shape", Kind: PInts}},
		Result: reshapeTypes})

	Transpose = register(Kind{Name: "pl.transpose", Where: Compute, Map: Permutation, Linear: true, Spell: tileNames("transpose"),
		Doc: "Swaps two axes of a tile.",
		Params: []Param{{Name: "x", Kind: PTile}, {Name: "axis1", Kind: AInt, Optional: true, Default: int64(-2)},
			{Name: "axis2", Kind: AInt, Optional: true, Default: int64(-1)}},
		Result: transposeTypes})

	Expand = register(Kind{Name: "pl.expand", Where: Compute, Map: Elementwise, Linear: true,
		Spell:  append(tileNames("expand"), Spelling{Name: "pl.expands"}),
		Doc:    "Stretches extents of 1 (or a scalar) to a shape.",
		Params: []Param{{Name: "x", Kind: PData}, {Name: "shape", Kind: PInts}},
		Scalar: "id",
		Result: func(op *Op) ([]Type, error) {
			want, err := newTile(op, DTypeOf(op.Val("x").Type))
			if err != nil {
				return nil, err
			}
			got, ok := Broadcast(ShapeOf(op.Val("x").Type), ShapeOf(want[0]))
			if !ok || !DimsEqual(got, ShapeOf(want[0])) {
				return nil, Errf(BadShape, "shape", "pl.expand cannot stretch %s to %s",
					dimsText(ShapeOf(op.Val("x").Type), valueName), dimsText(ShapeOf(want[0]), valueName))
			}
			return want, nil
		}})

	Concat = register(Kind{Name: "pl.concat", Where: Compute, Map: Relabel, Linear: true, Spell: tileNames("concat"),
		Doc: "Joins two tiles along an axis (default: the last).",
		Params: []Param{{Name: "a", Kind: PTile}, {Name: "b", Kind: PTile},
			{Name: "axis", Kind: AInt, Optional: true, Default: int64(-1)}},
		Result: concatTypes})

	FillPad = register(Kind{Name: "pl.fillpad", Where: Compute, Spell: tileNames("fillpad"),
		Doc:    "Extends a tile with valid_shape to its whole shape, filling with value.",
		Params: []Param{{Name: "x", Kind: PTile}, {Name: "value", Kind: PScalar, Optional: true}},
		Result: func(op *Op) ([]Type, error) {
			t := op.Val("x").Type.(*Tile)
			return []Type{&Tile{Dims: t.Storage(), DType: t.DType}}, nil
		}})

	Sum  = reduction("sum", "Sum along an axis; FP16 and BF16 accumulate in FP32.", true)
	Prod = reduction("prod", "Product along an axis; FP16 and BF16 accumulate in FP32.", false)
	Amax = reduction("amax", "Largest element along an axis; NaN if there is one.", false)
	Amin = reduction("amin", "Smallest element along an axis; NaN if there is one.", false)

	MatMul = register(Kind{Name: "pl.matmul", Where: Compute, Map: Contraction, Linear: true, Flops: 2,
		Spell: withDrop([]string{"c_matrix_nz", "target_memory"}, append(tileNames("matmul"), tileNames("batch_matmul")...)),
		Doc: "Matrix product over the last two axes; leading axes are a batch. Accumulates in FP32 (integers: INT32), " +
			"which is also the default out_dtype.",
		Params: []Param{{Name: "lhs", Kind: PTile}, {Name: "rhs", Kind: PTile},
			{Name: "a_trans", Kind: ABool, Optional: true, Default: false}, {Name: "b_trans", Kind: ABool, Optional: true, Default: false},
			{Name: "out_dtype", Kind: ADType, Optional: true}},
		Result: func(op *Op) ([]Type, error) {
			t, err := matmulType(op)
			if err != nil {
				return nil, err
			}
			return []Type{t}, nil
		}})

	MatMulAcc = register(Kind{Name: "pl.matmul_acc", Where: Compute, Map: Contraction, Linear: true, Flops: 2,
		Spell: tileNames("matmul_acc"),
		Doc:   "acc + lhs @ rhs.",
		Params: []Param{{Name: "acc", Kind: PTile}, {Name: "lhs", Kind: PTile}, {Name: "rhs", Kind: PTile},
			{Name: "a_trans", Kind: ABool, Optional: true, Default: false}, {Name: "b_trans", Kind: ABool, Optional: true, Default: false}},
		Result: func(op *Op) ([]Type, error) {
			t, err := matmulType(op)
			if err != nil {
				return nil, err
			}
			acc := op.Val("acc").Type.(*Tile)
			if !DimsEqual(acc.Dims, t.Dims) {
				return nil, Errf(BadShape, "acc", "pl.matmul_acc acc must have shape %s, got %s", dimsText(t.Dims, valueName), dimsText(acc.Dims, valueName))
			}
			if acc.DType != t.DType {
				return nil, Errf(BadDType, "acc", "pl.matmul_acc acc must be %s, got %s", t.DType, acc.DType)
			}
			return []Type{acc}, nil
		}})

	CreateTensor = register(Kind{Name: "pl.create_tensor", Where: Anywhere, Effects: []Effect{{Kind: Allocates}},
		Spell:  withDrop(ignoredPlacement, names("pl.tensor.create", "pl.tensor.create_tensor")),
		Doc:    "New zeroed memory of this rank that lives until the function returns.",
		Params: []Param{{Name: "shape", Kind: PInts}, {Name: "dtype", Kind: ADType}},
		Result: func(op *Op) ([]Type, error) {
			if err := checkExtents(op, "shape"); err != nil {
				return nil, err
			}
			return []Type{&Tensor{Dims: DimsOf(op.Vals("shape")), DType: op.DTypeAttr("dtype")}}, nil
		}})

	ArrayCreate = register(Kind{Name: "pl.array.create", Where: Compute,
		Doc:    "A small array of n zeros, kept on the core.",
		Params: []Param{{Name: "n", Kind: AInt}, {Name: "dtype", Kind: ADType}},
		Result: func(op *Op) ([]Type, error) {
			if n := op.Int("n"); n < 1 || n > 4096 {
				return nil, Errf(BadValue, "n", "pl.array.create n must be in [1, 4096], got %d", n)
			}
			return []Type{&Array{op.Int("n"), op.DTypeAttr("dtype")}}, nil
		}})
	ArrayGet = register(Kind{Name: "pl.array.get", Where: Compute,
		Doc:    "Element i of an array; `a[i]` is the same.",
		Params: []Param{{Name: "array", Kind: PArray}, {Name: "index", Kind: PInt}},
		Result: func(op *Op) ([]Type, error) {
			return []Type{&Scalar{DTypeOf(op.Val("array").Type)}}, checkArrayIndex(op)
		}})
	ArraySet = register(Kind{Name: "pl.array.set", Where: Compute, Spell: names("pl.array.update"),
		Doc:    "The array with element i replaced; `a[i] = v` rebinds a to it.",
		Params: []Param{{Name: "array", Kind: PArray}, {Name: "index", Kind: PInt}, {Name: "value", Kind: PScalar}},
		Result: func(op *Op) ([]Type, error) { return []Type{op.Val("array").Type}, checkArrayIndex(op) }})

	BlockIdx = register(Kind{Name: "pl.get_block_idx", Where: Device, Spell: names("pl.tile.get_block_idx", "pl.system.get_block_idx"),
		Doc: "Which block of the enclosing pl.spmd this is, which may stand around the call of this function; 0 outside.", Params: []Param{},
		Result: func(*Op) ([]Type, error) { return []Type{&Scalar{INDEX}}, nil }})
	BlockNum = register(Kind{Name: "pl.get_block_num", Where: Device, Spell: names("pl.tile.get_block_num", "pl.system.get_block_num"),
		Doc: "How many blocks the enclosing pl.spmd has, which may stand around the call of this function; 1 outside.", Params: []Param{},
		Result: func(*Op) ([]Type, error) { return []Type{&Scalar{INDEX}}, nil }})
)

var validShape = Param{Name: "valid_shape", Also: "valid_shapes", Kind: PInts, Optional: true}

// reduction makes the rows sum, prod, amax and amin, with their row_ (axis 1) and col_ (axis 0) forms.
func reduction(name, doc string, linear bool) *Kind {
	base := map[string]string{"sum": "sum", "prod": "prod", "amax": "max", "amin": "min"}[name]
	var sp []Spelling
	for _, ns := range []string{"pl.", "pl.tile.", "pl.tensor."} {
		sp = append(sp,
			Spelling{Name: ns + "row_" + base, Fixed: map[string]any{"axis": int64(1), "keepdims": true}, Drop: []string{"tmp_tile"}},
			Spelling{Name: ns + "col_" + base, Fixed: map[string]any{"axis": int64(0), "keepdims": true}, Drop: []string{"tmp_tile"}})
	}
	return register(Kind{Name: "pl." + name, Where: Compute, Doc: doc, Map: Reduction, Linear: linear, Flops: 1,
		Spell: append(tileNames(name), sp...), Scalar: base,
		Params: []Param{{Name: "x", Kind: PTile}, {Name: "axis", Kind: AInt},
			{Name: "keepdims", Kind: ABool, Optional: true, Default: false}},
		Result: reduceTypes})
}
