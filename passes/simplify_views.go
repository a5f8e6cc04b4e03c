package passes

import "ptoc/ir"

// Rules of simplify about views: of memory, and slices and reshapes of tiles, which follow the same
// rules.

// view replaces a view that shows all of its operand in the same shape, or a view of a view. A new
// view goes to out.
func (s *simplifier) view(op *ir.Op, out *ir.Block) *ir.Value {
	switch op.Kind {
	case ir.Slice:
		return s.slice(op, out)
	case ir.Reshape:
		x := op.Val("x")
		if ir.TypesEqual(x.Type, op.Results[0].Type) {
			return x
		}
		if d := x.Def; d != nil && d.Kind == ir.Reshape {
			op.Set("x", d.Val("x")) // in place; the inner one may be dead now
			s.changed = true
		}
	}
	return nil
}

func (s *simplifier) slice(op *ir.Op, out *ir.Block) *ir.Value {
	x := op.Val("x")
	if ir.TypesEqual(x.Type, op.Results[0].Type) && op.Int("drop_dims") == 0 && allZero(op.Vals("offsets")) {
		return x
	}
	inner := x.Def
	if inner == nil || inner.Kind != ir.Slice || !fitsInside(op) {
		return nil
	}
	if _, isTile := x.Type.(*ir.Tile); isTile && !ir.TypesEqual(x.Type, &ir.Tile{Dims: ir.ShapeOf(x.Type), DType: ir.DTypeOf(x.Type)}) {
		return nil // the outer slice is bounded by the inner one's storage
	}
	b := ir.NewBuilder(s.f, out).At(op.Span)
	dropped := int(inner.Int("drop_dims"))
	var shape, offsets []*ir.Value
	for i, o := range inner.Vals("offsets") {
		if i < dropped {
			shape, offsets = append(shape, ir.Index(1)), append(offsets, o)
			continue
		}
		sum, err := b.Binary(ir.Add, o, op.Vals("offsets")[i-dropped])
		if err != nil {
			return nil
		}
		shape, offsets = append(shape, op.Vals("shape")[i-dropped]), append(offsets, sum)
	}
	add := b.Add(ir.Slice).Set("x", inner.Val("x")).Set("shape", shape...).Set("offsets", offsets...).Name(op.Results[0].Name)
	if n := int64(dropped) + op.Int("drop_dims"); n > 0 {
		add.SetAttr("drop_dims", n)
	}
	merged, err := add.Done()
	if err != nil || !ir.TypesEqual(merged.Result().Type, op.Results[0].Type) {
		return nil // what was added is dead
	}
	return merged.Result()
}

func allZero(vs []*ir.Value) bool {
	for _, v := range vs {
		if n, ok := v.ConstInt(); !ok || n != 0 {
			return false
		}
	}
	return true
}

// fitsInside reports whether op's rectangle is known to lie in its operand. Otherwise it takes the
// check at run time, which a merged view would make against the larger memory.
func fitsInside(op *ir.Op) bool {
	dims, shape := ir.ShapeOf(op.Val("x").Type), ir.DimsOf(op.Vals("shape"))
	for i, v := range op.Vals("offsets") {
		off, ok := v.ConstInt()
		if !ok || off < 0 {
			return false
		}
		if room, ok := dims[i].Sub(shape[i]).Const(); !ok || room < off {
			return false
		}
	}
	return true
}
