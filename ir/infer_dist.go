package ir

import "strings"

// Type deduction and static checks of the rows in ops_dist.go.

// checkCell checks the position of a signal cell.
func checkCell(op *Op, mem string) error { return checkIndex(op, mem, "offsets") }

// checkSignal checks the cell, and that a constant fits into it.
func checkSignal(op *Op, mem, value string) error {
	if v, known := op.Val(value).ConstInt(); known && v != int64(int32(v)) {
		return Errf(BadValue, value, "%s %s must fit into an INT32 cell, got %d", op.Kind.Name, value, v)
	}
	return checkCell(op, mem)
}

func allocWindowType(op *Op) ([]Type, error) {
	shape := op.Vals("shape")
	if len(shape) == 0 {
		return nil, Errf(BadShape, "shape", "pld.alloc_window_buffer shape must be non-empty")
	}
	for i, v := range shape {
		if n, ok := DimOf(v).Const(); ok && n <= 0 && (op.Arg("dtype").Given() && n < 0 || !op.Arg("dtype").Given()) {
			e := Errf(BadShape, "shape", "pld.alloc_window_buffer: all dimensions must be positive, got %d", n)
			e.Index = i
			return nil, e
		}
	}
	bytes := Product(DimsOf(shape))
	if dt := op.DTypeAttr("dtype"); dt != NoDType {
		bytes = bytes.Scale(int64(dt.Size()))
	} else if len(shape) > 1 {
		e := Errf(BadValue, "shape", "pld.alloc_window_buffer with a shape requires dtype=")
		e.Help = "write pld.alloc_window_buffer([...], dtype=pl.FP32), or give one number of bytes"
		return nil, e
	}
	return []Type{&Buffer{Bytes: bytes}}, nil
}

func windowType(op *Op) ([]Type, error) {
	if err := checkExtents(op, "shape"); err != nil {
		return nil, err
	}
	t := &Tensor{Dims: DimsOf(op.Vals("shape")), DType: op.DTypeAttr("dtype"), Window: true}
	have := op.Val("buffer").Type.(*Buffer).Bytes
	if over, ok := t.Bytes().Sub(have).Const(); ok && over > 0 {
		return nil, Errf(BadBounds, "shape", "pld.window needs %s bytes, its buffer has %s", t.Bytes().Text(valueName), have.Text(valueName))
	}
	return []Type{t}, nil
}

// checkCopy checks put and get: offsets and shape come together or not at all, and both sides fit.
func checkCopy(op *Op) error {
	dst, src := op.Val("dst").Type.(*Tensor), op.Val("src").Type.(*Tensor)
	if dst.DType != src.DType {
		return Errf(BadDType, "src", "%s needs one element type, got dst %s and src %s", op.Kind.Name, dst.DType, src.DType)
	}
	if err := checkAtomic(op, dst.DType); err != nil {
		return err
	}
	for _, p := range []string{"chunk_rows", "chunk_cols"} {
		if op.Int(p) < 0 {
			return Errf(BadValue, p, "%s %s must not be negative, got %d", op.Kind.Name, p, op.Int(p))
		}
	}
	if op.Bool("pipeline") && (op.Int("chunk_rows") == 0 || op.Int("chunk_cols") == 0) {
		return Errf(BadValue, "pipeline", "%s pipeline=True needs chunk_rows and chunk_cols greater than 0", op.Kind.Name)
	}
	given := 0
	for _, p := range []string{"dst_offsets", "src_offsets", "shape"} {
		if op.Arg(p).Given() {
			given++
		}
	}
	switch given {
	case 0:
		if !DimsEqual(dst.Dims, src.Dims) {
			e := Errf(BadShape, "src", "%s of whole tensors needs equal shapes, got dst %s and src %s", op.Kind.Name,
				dimsText(dst.Dims, valueName), dimsText(src.Dims, valueName))
			e.Help = "give dst_offsets, src_offsets and shape"
			return e
		}
		return nil
	case 3:
		return checkCopyRegion(op, dst, src)
	}
	return Errf(BadValue, "shape", "%s takes dst_offsets, src_offsets and shape together or not at all", op.Kind.Name)
}

func checkCopyRegion(op *Op, dst, src *Tensor) error {
	shape := DimsOf(op.Vals("shape"))
	if len(shape) != len(dst.Dims) || len(shape) != len(src.Dims) {
		return Errf(BadRank, "shape", "%s shape must have one extent per dimension of dst (%d) and src (%d), got %d", op.Kind.Name,
			len(dst.Dims), len(src.Dims), len(shape))
	}
	if err := checkExtents(op, "shape"); err != nil {
		return err
	}
	if err := CheckBounds(op, "dst", "dst_offsets", shape); err != nil {
		return err
	}
	return CheckBounds(op, "src", "src_offsets", shape)
}

// AllReduceModes are the values of allreduce's mode. "mesh" is upstream's name for the algorithms in
// which everybody talks to everybody; it picks between oneshot and push.
var AllReduceModes = []string{"auto", "mesh", "ring", "central", "oneshot", "push", "eager"}

func checkAllReduce(op *Op) error {
	if n := op.Int("core_num"); n < 1 {
		return Errf(BadValue, "core_num", "pld.tensor.allreduce core_num must be positive, got %d", n)
	}
	if err := checkReducible(op); err != nil {
		return err
	}
	if err := checkSlots(op); err != nil {
		return err
	}
	for _, m := range AllReduceModes {
		if op.Str("mode") == m {
			return nil
		}
	}
	return Errf(BadValue, "mode", "pld.tensor.allreduce mode must be one of %s, got %q", strings.Join(AllReduceModes, ", "), op.Str("mode"))
}

// checkSlots: slots [2, n] of the target's type and turns [cells, columns], both or neither. Whether they hold the
// message of so many ranks is looked at where the algorithm is chosen.
func checkSlots(op *Op) error {
	slots, turns := op.Val("slots"), op.Val("turns")
	if slots == nil && turns == nil {
		return nil
	}
	if slots == nil || turns == nil {
		return Errf(BadValue, "slots", "pld.tensor.allreduce takes slots and turns together or not at all")
	}
	s, dt := slots.Type.(*Tensor), DTypeOf(op.Val("target").Type)
	if len(s.Dims) != 2 || !s.Dims[0].Is(2) || s.DType != dt {
		return Errf(BadShape, "slots", "pld.tensor.allreduce slots must be [2, n] of %s like target, got %s", dt, s)
	}
	if n := len(ShapeOf(turns.Type)); n != 2 {
		return Errf(BadRank, "turns", "pld.tensor.allreduce turns must have shape [1 + 2 * ranks, n], got %d dimensions", n)
	}
	return nil
}

func checkReducible(op *Op) error {
	dt := DTypeOf(op.Val("target").Type)
	if !dt.IsFloat() && dt != INT32 {
		return Errf(BadDType, "target", "%s target must be FP32, FP16, BF16 or INT32, got %s", op.Kind.Name, dt)
	}
	if op.Enum("op").Type == nil {
		return Errf(BadValue, "op", "%s op must be a pld.ReduceOp", op.Kind.Name)
	}
	return nil
}

func checkRoot(op *Op) error {
	if op.Int("root") < 0 {
		return Errf(BadValue, "root", "pld.tensor.broadcast root must not be negative, got %d", op.Int("root"))
	}
	return nil
}

// checkRows: a [ranks, n] window, and signal cells enough is a run-time check.
func checkRows(op *Op, param string) error {
	if n := len(ShapeOf(op.Val(param).Type)); n != 2 {
		return Errf(BadRank, param, "%s %s must have shape [ranks, n], got %d dimensions", op.Kind.Name, param, n)
	}
	return nil
}

func checkGather(op *Op) error {
	if err := checkRows(op, "target"); err != nil {
		return err
	}
	l, t := op.Val("local_data").Type.(*Tensor), op.Val("target").Type.(*Tensor)
	if l.DType != t.DType {
		return Errf(BadDType, "local_data", "%s local_data must be %s like target, got %s", op.Kind.Name, t.DType, l.DType)
	}
	if n, ok := Product(l.Dims).Sub(t.Dims[1]).Const(); ok && n != 0 {
		return Errf(BadShape, "local_data", "%s local_data must fill one row of target: it has %s elements, a row has %s", op.Kind.Name,
			Product(l.Dims).Text(valueName), t.Dims[1].Text(valueName))
	}
	return checkDistinct(op, "local_data", "target")
}

func checkReduceScatter(op *Op) error {
	if err := checkRows(op, "target"); err != nil {
		return err
	}
	return checkReducible(op)
}

func checkAllToAll(op *Op) error {
	if err := checkRows(op, "target"); err != nil {
		return err
	}
	i, t := op.Val("input").Type.(*Tensor), op.Val("target").Type.(*Tensor)
	if i.DType != t.DType {
		return Errf(BadDType, "input", "%s input must be %s like target, got %s", op.Kind.Name, t.DType, i.DType)
	}
	if len(i.Dims) != len(t.Dims) {
		return Errf(BadRank, "input", "%s input must have target's shape %s, got %s", op.Kind.Name, dimsText(t.Dims, valueName), dimsText(i.Dims, valueName))
	}
	for k := range i.Dims {
		if n, ok := i.Dims[k].Sub(t.Dims[k]).Const(); ok && n != 0 {
			return Errf(BadShape, "input", "%s input must have target's shape %s, got %s", op.Kind.Name, dimsText(t.Dims, valueName), dimsText(i.Dims, valueName))
		}
	}
	return checkDistinct(op, "input", "target")
}

// checkDistinct refuses the same value for two operands; different views of one allocation are found
// where allocations are known (LowerHostTensorCollectives).
func checkDistinct(op *Op, a, b string) error {
	if op.Val(a) == op.Val(b) {
		return Errf(BadDist, a, "%s %s and %s must be different window allocations", op.Kind.Name, a, b)
	}
	return nil
}
