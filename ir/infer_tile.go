package ir

import "strings"

// Type deduction and static checks of the rows in ops_tile.go.

// checkExtents refuses extents that are known to be negative.
func checkExtents(op *Op, param string) error {
	for i, v := range op.Vals(param) {
		if n, ok := DimOf(v).Const(); ok && n < 0 {
			e := Errf(BadShape, param, "%s %s must not be negative, got %d", op.Kind.Name, param, n)
			e.Index = i
			return e
		}
	}
	return nil
}

// newTile is the tile type of ops with shape and an optional valid_shape.
func newTile(op *Op, dt DType) ([]Type, error) {
	if err := checkExtents(op, "shape"); err != nil {
		return nil, err
	}
	shape := DimsOf(op.Vals("shape"))
	for i, d := range shape {
		if d.HasValues() {
			e := Errf(BadShape, "shape", "%s shape must be known before the kernel runs, got %s", op.Kind.Name, d.Text(valueName))
			e.Index = i
			e.Help = "give the largest extent as the shape and the run-time extent as valid_shape="
			return nil, e
		}
	}
	if !op.Arg("valid_shape").Given() {
		return []Type{&Tile{Dims: shape, DType: dt}}, nil
	}
	if err := checkExtents(op, "valid_shape"); err != nil {
		return nil, err
	}
	valid := DimsOf(op.Vals("valid_shape"))
	if len(valid) != len(shape) {
		return nil, Errf(BadRank, "valid_shape", "%s valid_shape must have %d extents like shape, got %d", op.Kind.Name, len(shape), len(valid))
	}
	for i := range valid {
		if n, ok := valid[i].Sub(shape[i]).Const(); ok && n > 0 {
			e := Errf(BadShape, "valid_shape", "%s valid_shape must fit in shape: %s > %s", op.Kind.Name, valid[i].Text(valueName), shape[i].Text(valueName))
			e.Index = i
			return nil, e
		}
	}
	return []Type{NewTile(valid, shape, dt)}, nil
}

// loadTile checks a read of the rectangle (offsets, shape) of mem and gives its tile.
func loadTile(op *Op, mem string) ([]Type, error) {
	t := op.Val(mem).Type.(*Tensor)
	if len(op.Vals("shape")) != len(t.Dims) {
		return nil, Errf(BadRank, "shape", "%s shape must have %d extents like %s, got %d", op.Kind.Name, len(t.Dims), t, len(op.Vals("shape")))
	}
	ts, err := newTile(op, t.DType)
	if err != nil {
		return nil, err
	}
	return ts, CheckBounds(op, mem, "offsets", ts[0].(*Tile).Dims)
}

// CheckBounds refuses a rectangle of memory that can be seen to lie outside; what depends on
// run-time values is checked when the kernel runs.
func CheckBounds(op *Op, mem, offsets string, extents []Dim) error {
	dims := ShapeOf(op.Val(mem).Type)
	offs := op.Vals(offsets)
	if len(offs) != len(dims) {
		return Errf(BadRank, offsets, "%s %s must have %d entries like the shape of %s, got %d", op.Kind.Name, offsets, len(dims), mem, len(offs))
	}
	for i, o := range offs {
		off := DimOf(o)
		if n, ok := off.Const(); ok && n < 0 {
			e := Errf(BadBounds, offsets, "%s %s must not be negative, got %d", op.Kind.Name, offsets, n)
			e.Index = i
			return e
		}
		if over, ok := off.Add(extents[i]).Sub(dims[i]).Const(); ok && over > 0 {
			e := Errf(BadBounds, offsets, "%s reaches past the end of dimension %d%s: %s + %s > %s", op.Kind.Name, i, ofMemory(op, mem),
				off.Text(valueName), extents[i].Text(valueName), dims[i].Text(valueName))
			e.Index = i
			return e
		}
	}
	return nil
}

// ofMemory is " of " and the program's name for the operand; "" where it has none. Of two operands it says which.
func ofMemory(op *Op, mem string) string {
	name := op.Val(mem).Name
	switch {
	case mem == "dst" || mem == "src":
		return strings.TrimRight(" of "+mem+" "+name, " ")
	case name == "":
		return ""
	}
	return " of " + name
}

// checkIndex checks one element's position.
func checkIndex(op *Op, mem, indices string) error {
	ones := make([]Dim, len(op.Vals(indices)))
	for i := range ones {
		ones[i] = ConstDim(1)
	}
	if n := len(ShapeOf(op.Val(mem).Type)); n != len(ones) {
		return Errf(BadRank, indices, "%s needs %d indices for %s, got %d", op.Kind.Name, n, op.Val(mem).Type, len(ones))
	}
	return CheckBounds(op, mem, indices, ones)
}

// alignShape pads shape with leading ones to rank n.
func alignShape(shape []Dim, n int) []Dim {
	out := append([]Dim(nil), shape...)
	for len(out) < n {
		out = append([]Dim{ConstDim(1)}, out...)
	}
	return out
}

// checkStore checks a write of a tile at offsets. A tile of lower rank is stored with leading ones.
func checkStore(op *Op, tile, mem string) error {
	t, m := op.Val(tile).Type.(*Tile), op.Val(mem).Type.(*Tensor)
	if t.DType != m.DType {
		e := Errf(BadDType, tile, "%s %s must be %s like the destination, got %s", op.Kind.Name, tile, m.DType, t.DType)
		e.Help = "convert it first: pl.cast(x, pl." + m.DType.String() + ")"
		return e
	}
	if len(t.Dims) > len(m.Dims) {
		return Errf(BadRank, tile, "%s %s has %d dimensions, its destination only %d", op.Kind.Name, tile, len(t.Dims), len(m.Dims))
	}
	if err := checkAtomic(op, m.DType); err != nil {
		return err
	}
	return CheckBounds(op, mem, "offsets", alignShape(t.Dims, len(m.Dims)))
}

func checkAtomic(op *Op, dt DType) error {
	if op.Enum("atomic").Is("Add") && dt == BOOL {
		return Errf(BadDType, "atomic", "%s cannot add atomically to %s", op.Kind.Name, dt)
	}
	return nil
}

func sliceTypes(op *Op) ([]Type, error) {
	x := op.Val("x").Type
	dims := ShapeOf(x)
	if dims == nil {
		return nil, Errf(BadKind, "x", "pl.slice x must be a tensor or tile, got %s", x)
	}
	if len(op.Vals("shape")) != len(dims) {
		return nil, Errf(BadRank, "shape", "pl.slice needs %d extents for %s, got %d", len(dims), x, len(op.Vals("shape")))
	}
	if err := checkExtents(op, "shape"); err != nil {
		return nil, err
	}
	shape := DimsOf(op.Vals("shape"))
	if err := CheckBounds(op, "x", "offsets", shape); err != nil {
		return nil, err
	}
	n := op.Int("drop_dims")
	if n < 0 || int(n) > len(shape) {
		return nil, Errf(BadValue, "drop_dims", "pl.slice drop_dims must be in [0, %d], got %d", len(shape), n)
	}
	for _, d := range shape[:n] {
		if !d.Is(1) {
			return nil, Errf(BadShape, "drop_dims", "pl.slice can drop only extents of 1, got %s", d.Text(valueName))
		}
	}
	if t, ok := x.(*Tensor); ok {
		return []Type{&Tensor{Dims: shape[n:], DType: t.DType, Window: t.Window}}, nil
	}
	t := x.(*Tile)
	storage := append([]Dim(nil), shape...)
	for i, d := range storage {
		if d.HasValues() { // a run-time extent is bounded by the source's storage
			storage[i] = t.Storage()[i]
		}
	}
	return []Type{NewTile(shape[n:], storage[n:], t.DType)}, nil
}

func reshapeTypes(op *Op) ([]Type, error) {
	x := op.Val("x").Type
	if ShapeOf(x) == nil {
		return nil, Errf(BadKind, "x", "pl.reshape x must be a tensor or tile, got %s", x)
	}
	if err := checkExtents(op, "shape"); err != nil {
		return nil, err
	}
	shape := DimsOf(op.Vals("shape"))
	if n, ok := Product(shape).Sub(Product(ShapeOf(x))).Const(); !ok || n != 0 {
		return nil, Errf(BadShape, "shape", "pl.reshape must keep the number of elements: %s has %s, %s has %s", dimsText(ShapeOf(x), valueName),
			Product(ShapeOf(x)).Text(valueName), dimsText(shape, valueName), Product(shape).Text(valueName))
	}
	if t, ok := x.(*Tensor); ok {
		return []Type{&Tensor{Dims: shape, DType: t.DType, Window: t.Window}}, nil
	}
	t := x.(*Tile)
	if t.Cap != nil {
		return nil, Errf(BadShape, "x", "pl.reshape cannot reshape a tile whose valid_shape is smaller than its shape")
	}
	return []Type{&Tile{Dims: shape, DType: t.DType}}, nil
}

// axis reads an axis attribute, negative ones from the end.
func axis(op *Op, param string, rank int) (int, error) {
	a := op.Int(param)
	if a < 0 {
		a += int64(rank)
	}
	if a < 0 || a >= int64(rank) {
		return 0, Errf(BadValue, param, "%s %s must be in [%d, %d), got %d", op.Kind.Name, param, -rank, rank, op.Int(param))
	}
	return int(a), nil
}

// Axis is the normalised axis attribute of an op on a tile of the given rank; deduction has checked it.
func (op *Op) Axis(param string, rank int) int {
	a, _ := axis(op, param, rank)
	return a
}

func transposeTypes(op *Op) ([]Type, error) {
	t := op.Val("x").Type.(*Tile)
	i, err := axis(op, "axis1", len(t.Dims))
	if err != nil {
		return nil, err
	}
	j, err := axis(op, "axis2", len(t.Dims))
	if err != nil {
		return nil, err
	}
	swap := func(ds []Dim) []Dim {
		out := append([]Dim(nil), ds...)
		out[i], out[j] = out[j], out[i]
		return out
	}
	return []Type{NewTile(swap(t.Dims), swap(t.Storage()), t.DType)}, nil
}

func concatTypes(op *Op) ([]Type, error) {
	a, b := op.Val("a").Type.(*Tile), op.Val("b").Type.(*Tile)
	if a.DType != b.DType {
		return nil, Errf(BadDType, "b", "pl.concat needs one element type, got %s and %s", a.DType, b.DType)
	}
	if len(a.Dims) != len(b.Dims) {
		return nil, Errf(BadRank, "b", "pl.concat needs tiles of one rank, got %d and %d dimensions", len(a.Dims), len(b.Dims))
	}
	k, err := axis(op, "axis", len(a.Dims))
	if err != nil {
		return nil, err
	}
	dims, storage := append([]Dim(nil), a.Dims...), append([]Dim(nil), a.Storage()...)
	for i := range dims {
		if i == k {
			dims[i], storage[i] = dims[i].Add(b.Dims[i]), storage[i].Add(b.Storage()[i])
		} else if !dims[i].Equal(b.Dims[i]) {
			return nil, Errf(BadShape, "b", "pl.concat cannot join %s and %s along axis %d", dimsText(a.Dims, valueName), dimsText(b.Dims, valueName), k)
		}
	}
	return []Type{NewTile(dims, storage, a.DType)}, nil
}

func reduceTypes(op *Op) ([]Type, error) {
	t := op.Val("x").Type.(*Tile)
	k, err := axis(op, "axis", len(t.Dims))
	if err != nil {
		return nil, err
	}
	if t.DType == BOOL {
		return nil, Errf(BadDType, "x", "%s x must be numbers, got BOOL", op.Kind.Name)
	}
	cut := func(ds []Dim) []Dim {
		out := append([]Dim(nil), ds[:k]...)
		if op.Bool("keepdims") {
			out = append(out, ConstDim(1))
		}
		return append(out, ds[k+1:]...)
	}
	return []Type{NewTile(cut(t.Dims), cut(t.Storage()), t.DType)}, nil
}

// matmulType is the type of lhs @ rhs after the transpositions that the attributes ask for.
func matmulType(op *Op) (*Tile, error) {
	a, b := op.Val("lhs").Type.(*Tile), op.Val("rhs").Type.(*Tile)
	if a.DType != b.DType {
		return nil, Errf(BadDType, "rhs", "%s needs operands of one element type, got %s and %s", op.Kind.Name, a.DType, b.DType)
	}
	n := len(a.Dims)
	if n < 2 || len(b.Dims) != n {
		return nil, Errf(BadRank, "rhs", "%s needs two tiles of equal rank >= 2, got %s and %s", op.Kind.Name, a, b)
	}
	mat := func(ds []Dim, trans bool) (r, c Dim) {
		if trans {
			return ds[n-1], ds[n-2]
		}
		return ds[n-2], ds[n-1]
	}
	m, k := mat(a.Dims, op.Bool("a_trans"))
	k2, p := mat(b.Dims, op.Bool("b_trans"))
	if x, y := a.Dims[:n-2], b.Dims[:n-2]; !DimsEqual(x, y) {
		return nil, Errf(BadShape, "rhs", "%s cannot multiply %s by %s: the batches are %s and %s", op.Kind.Name,
			dimsText(a.Dims, valueName), dimsText(b.Dims, valueName), dimsText(x, valueName), dimsText(y, valueName))
	}
	if !k.Equal(k2) {
		return nil, Errf(BadShape, "rhs", "%s cannot multiply %s by %s: inner extents are %s and %s", op.Kind.Name,
			dimsText(a.Dims, valueName), dimsText(b.Dims, valueName), k.Text(valueName), k2.Text(valueName))
	}
	sm, _ := mat(a.Storage(), op.Bool("a_trans"))
	_, sp := mat(b.Storage(), op.Bool("b_trans"))
	dt := FP32
	if !a.DType.IsFloat() {
		dt = INT32
	}
	if d := op.DTypeAttr("out_dtype"); d != NoDType {
		dt = d
	}
	batch := func(ds []Dim, tail ...Dim) []Dim { return append(append([]Dim(nil), ds[:n-2]...), tail...) }
	return NewTile(batch(a.Dims, m, p), batch(a.Storage(), sm, sp), dt), nil
}

func checkArrayIndex(op *Op) error {
	a := op.Val("array").Type.(*Array)
	if i, ok := op.Val("index").ConstInt(); ok && (i < 0 || i >= a.N) {
		return Errf(BadBounds, "index", "%s index must be in [0, %d), got %d", op.Kind.Name, a.N, i)
	}
	return nil
}
