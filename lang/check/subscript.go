package check

import (
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// x[...] read and written.

func (f *fn) index(x *syntax.Index) value {
	if p, ok := f.pathOf(x.X); ok {
		for _, t := range types {
			if p == t {
				if a, ok := f.annotation(x); ok {
					return a
				}
				return bad{}
			}
		}
	}
	v := f.expr(x.X)
	switch b := v.(type) {
	case bad:
		return b
	case seq:
		return f.indexSeq(b, x)
	case *ir.Value:
		switch b.Type.(type) {
		case *ir.Tensor, *ir.Tile:
			return f.part(b, x)
		case *ir.Array:
			return f.arrayGet(b, x)
		}
	}
	f.errorf(diag.WrongKind, x.X.Span(), "%s has no elements", describe(v))
	return bad{}
}

// indexSeq takes an element or slice of a compile-time list.
func (f *fn) indexSeq(s seq, x *syntax.Index) value {
	if len(x.Items) != 1 {
		f.errorf(diag.RankMismatch, x.At, "a list has one index")
		return bad{}
	}
	n := int64(len(s.elts))
	if sl, ok := x.Items[0].(*syntax.Slice); ok {
		lo, hi := int64(0), n
		for _, e := range []struct {
			x syntax.Expr
			p *int64
		}{{sl.Lo, &lo}, {sl.Hi, &hi}} {
			if e.x == nil {
				continue
			}
			i, ok := asInt(f.expr(e.x))
			if !ok {
				f.errorf(diag.NotConstant, e.x.Span(), "a list is cut at constants")
				return bad{}
			}
			if i < 0 {
				i += n
			}
			*e.p = max(0, min(i, n))
		}
		return seq{s.elts[lo:max(lo, hi)], s.list}
	}
	v := f.expr(x.Items[0])
	i, ok := asInt(v)
	if isBad(v) {
		return v
	}
	if ok && i < 0 {
		i += n
	}
	if !ok || i < 0 || i >= n {
		f.errorf(diag.OutsideMemory, x.Items[0].Span(), "a list of %d elements has no element %s", n, x.Items[0].Span().Text())
		return bad{}
	}
	return s.elts[i]
}

// A box is what a subscript selects: one rectangle, and which of its dimensions an integer selected.
type box struct {
	offsets []*ir.Value
	extents []ir.Dim
	point   []bool
	points  int
	spans   []source.Span
}

// box evaluates the subscript of something of the given shape.
func (f *fn) box(x *syntax.Index, dims []ir.Dim) (*box, bool) {
	items := expandEllipsis(x.Items, len(dims))
	if len(items) > len(dims) {
		f.errorf(diag.RankMismatch, x.At, "%d subscripts for %d dimensions", len(items), len(dims))
		return nil, false
	}
	b := &box{}
	for i, d := range dims {
		if i >= len(items) {
			b.add(ir.Index(0), d, false, x.At)
			continue
		}
		if sl, ok := items[i].(*syntax.Slice); ok {
			if !f.boxSlice(b, sl, d) {
				return nil, false
			}
			continue
		}
		at := items[i].Span()
		o := f.position(items[i], d)
		if o == nil {
			return nil, false
		}
		b.add(o, ir.ConstDim(1), true, at)
	}
	return b, true
}

func (b *box) add(off *ir.Value, ext ir.Dim, point bool, at source.Span) {
	b.offsets, b.extents = append(b.offsets, off), append(b.extents, ext)
	b.point, b.spans = append(b.point, point), append(b.spans, at)
	if point {
		b.points++
	}
}

func expandEllipsis(items []syntax.Expr, n int) []syntax.Expr {
	for i, it := range items {
		if _, ok := it.(*syntax.Ellipsis); ok {
			out := append([]syntax.Expr(nil), items[:i]...)
			for j := len(items) - 1; j < n; j++ {
				out = append(out, &syntax.Slice{At: it.Span()})
			}
			return append(out, items[i+1:]...)
		}
	}
	return items
}

// position is an index; a negative constant counts from the end.
func (f *fn) position(x syntax.Expr, d ir.Dim) *ir.Value {
	v := f.expr(x)
	if isBad(v) {
		return nil
	}
	if n, ok := asInt(v); ok && n < 0 {
		if size, known := d.Const(); known && n < -size {
			f.errorf(diag.OutsideMemory, x.Span(), "%d stands before the first of %d", n, size).Help("negative numbers count from the end: %d is the first", -size)
			return nil
		}
		v = f.dimValue(d.Add(ir.ConstDim(n)))
	}
	o := f.operand(v)
	if o != nil {
		if s, ok := o.Type.(*ir.Scalar); ok && s.DType.IsInt() {
			return o
		}
	}
	f.errorf(diag.WrongKind, x.Span(), "a subscript is an integer, got %s", describe(v))
	return nil
}

func (f *fn) boxSlice(b *box, sl *syntax.Slice, d ir.Dim) bool {
	if sl.Step != nil {
		if n, ok := asInt(f.expr(sl.Step)); !ok || n != 1 {
			f.errorf(diag.NotInLanguage, sl.Step.Span(), "a slice with a step is not in the kernel language").Help("copy the elements in a loop")
			return false
		}
	}
	lo, hi := ir.Index(0), (*ir.Value)(nil)
	if sl.Lo != nil {
		if lo = f.position(sl.Lo, d); lo == nil {
			return false
		}
	}
	ext := d.Sub(ir.DimOf(lo))
	if sl.Hi != nil {
		if hi = f.position(sl.Hi, d); hi == nil {
			return false
		}
		ext = ir.DimOf(hi).Sub(ir.DimOf(lo))
	}
	at := sl.At
	if n, ok := ext.Const(); ok && n < 0 {
		f.errorf(diag.ShapeMismatch, at, "this slice has a negative extent, %d", n)
		return false
	}
	b.add(lo, ext, false, at)
	return true
}

// part is x[...] of a tensor or tile: an element, a view of memory, or a piece of a tile.
func (f *fn) part(v *ir.Value, x *syntax.Index) value {
	if f.f == nil {
		f.errorf(diag.NotConstant, x.At, "a tensor outside a function")
		return bad{}
	}
	dims := ir.ShapeOf(v.Type)
	b, ok := f.box(x, dims)
	if !ok {
		return bad{}
	}
	spans := argSpans{whole: x.At, of: map[string]source.Span{"x": x.X.Span()},
		elts: map[string][]source.Span{"indices": b.spans, "offsets": b.spans, "shape": b.spans}}
	f.b.Span = x.At
	if b.points == len(dims) {
		r, err := f.b.Add(ir.Read).Set("x", v).Set("indices", b.offsets...).Done()
		if err != nil {
			f.typeError(err, spans)
			return bad{}
		}
		return r.Result()
	}
	if b.points == 0 && b.whole(dims) {
		return v
	}
	lead := 0
	for lead < len(b.point) && b.point[lead] {
		lead++
	}
	o := f.b.Add(ir.Slice).Set("x", v).Set("shape", f.b.Dims(b.extents)...).Set("offsets", b.offsets...)
	if lead > 0 {
		o.SetAttr("drop_dims", int64(lead))
	}
	r, err := o.Done()
	if err != nil {
		f.typeError(err, spans)
		return bad{}
	}
	if lead == b.points {
		return r.Result()
	}
	return f.dropInner(r.Result(), b, lead, x)
}

// whole reports whether the box is everything.
func (b *box) whole(dims []ir.Dim) bool {
	for i, o := range b.offsets {
		if n, ok := o.ConstInt(); !ok || n != 0 || !b.extents[i].Equal(dims[i]) {
			return false
		}
	}
	return true
}

// dropInner removes the extents of 1 that integers selected behind a slice: x[:, 3]. Memory is loaded
// for that, since such a view has gaps.
func (f *fn) dropInner(v *ir.Value, b *box, lead int, x *syntax.Index) value {
	if _, mem := v.Type.(*ir.Tensor); mem {
		if f.f.Kind == ir.Host {
			f.errorf(diag.NotContiguous, x.At, "this selects memory with gaps between its elements").Help("keep the extent: x[:, 3:4]")
			return bad{}
		}
		if v = f.load(v, x.At); v == nil {
			return bad{}
		}
	}
	var kept []ir.Dim
	for i := lead; i < len(b.extents); i++ {
		if !b.point[i] {
			kept = append(kept, b.extents[i])
		}
	}
	f.b.Span = x.At
	r, err := f.b.Add(ir.Reshape).Set("x", v).Set("shape", f.b.Dims(kept)...).Done()
	if err != nil {
		f.typeError(err, argSpans{whole: x.At})
		return bad{}
	}
	return r.Result()
}

func (f *fn) arrayGet(a *ir.Value, x *syntax.Index) value {
	if len(x.Items) != 1 {
		f.errorf(diag.RankMismatch, x.At, "an array has one index")
		return bad{}
	}
	i := f.position(x.Items[0], ir.ConstDim(a.Type.(*ir.Array).N))
	if i == nil {
		return bad{}
	}
	f.b.Span = x.At
	r, err := f.b.Add(ir.ArrayGet).Set("array", a).Set("index", i).Value()
	return f.result(r, err, argSpans{whole: x.At, of: map[string]source.Span{"index": x.Items[0].Span()}})
}

// assignIndex is `x[...] = v`.
func (f *fn) assignIndex(t *syntax.Index, v value, at source.Span) {
	base := f.expr(t.X)
	if anyBad(base, v) {
		return
	}
	x, ok := base.(*ir.Value)
	if !ok || f.f == nil {
		f.errorf(diag.WrongKind, t.X.Span(), "%s cannot be written", describe(base))
		return
	}
	switch x.Type.(type) {
	case *ir.Array:
		f.arraySet(x, t, v, at)
		return
	case *ir.Tile:
		f.errorf(diag.WrongKind, t.X.Span(), "a tile is a value and cannot be written in place").
			Help("make a new tile with pl.sel or pl.concat, or write into a tensor")
		return
	case *ir.Tensor:
	default:
		f.errorf(diag.WrongKind, t.X.Span(), "%s cannot be written in place", describe(base))
		return
	}
	dims := ir.ShapeOf(x.Type)
	b, ok := f.box(t, dims)
	if !ok {
		return
	}
	if b.points == len(dims) {
		f.writeElement(x, b, v, t, at)
		return
	}
	f.storeBox(x, b, v, t.At, at)
}

func (f *fn) arraySet(a *ir.Value, t *syntax.Index, v value, at source.Span) {
	name, ok := syntax.Unparen(t.X).(*syntax.Name)
	if !ok || len(t.Items) != 1 {
		f.errorf(diag.WrongKind, t.At, "an element of an array is written as a[i] = v, where a is a name")
		return
	}
	i := f.position(t.Items[0], ir.ConstDim(a.Type.(*ir.Array).N))
	x := f.typedConst(v, ir.DTypeOf(a.Type))
	if x == nil {
		x = f.data(v, at)
	}
	if i == nil || x == nil {
		return
	}
	f.b.Span = t.At
	op, err := f.b.Add(ir.ArraySet).Set("array", a).Set("index", i).Set("value", x).Name(name.Text).Done()
	if err != nil {
		f.typeError(err, argSpans{whole: t.At, of: map[string]source.Span{"index": t.Items[0].Span(), "value": at}})
		return
	}
	f.bindName(name, op.Result())
}

func (f *fn) writeElement(x *ir.Value, b *box, v value, t *syntax.Index, at source.Span) {
	if !f.legal(ir.Write, "writing an element of "+memoryName(x), t.At) {
		return
	}
	val := f.scalar(v, at)
	if val == nil {
		return
	}
	f.b.Span = t.At
	_, err := f.b.Add(ir.Write).Set("tensor", x).Set("indices", b.offsets...).Set("value", val).Done()
	if err != nil {
		f.typeError(err, argSpans{whole: t.At, of: map[string]source.Span{"value": at}, elts: map[string][]source.Span{"indices": b.spans}})
		return
	}
	f.writes(x, t.At)
}

// scalar is v as a number; a tile or tensor of one element counts.
func (f *fn) scalar(v value, at source.Span) *ir.Value {
	x := f.operand(v)
	if x != nil {
		if _, ok := x.Type.(*ir.Scalar); ok {
			return x
		}
		if dims := ir.ShapeOf(x.Type); dims != nil && ir.Product(dims).Is(1) {
			zeros := make([]*ir.Value, len(dims))
			for i := range zeros {
				zeros[i] = ir.Index(0)
			}
			if op, err := f.b.Add(ir.Read).Set("x", x).Set("indices", zeros...).Done(); err == nil {
				return op.Result()
			}
		}
	}
	d := f.errorf(diag.WrongKind, at, "one element is written here, got %s", describe(v))
	if x := f.operand(v); x != nil && ir.ShapeOf(x.Type) != nil {
		d.Help("write a rectangle with slices: y[i, 0:n] = tile")
	}
	return nil
}

// storeBox stores a tile, a tensor or a number into a rectangle of memory.
func (f *fn) storeBox(x *ir.Value, b *box, v value, tAt, at source.Span) {
	if !f.legal(ir.Store, "writing "+memoryName(x), tAt) {
		return
	}
	val := f.data(v, at)
	if val == nil {
		return
	}
	val = f.fit(val, b, ir.DTypeOf(x.Type), tAt, at)
	if val == nil {
		return
	}
	f.b.Span = tAt
	_, err := f.b.Add(ir.Store).Set("tile", val).Set("offsets", b.offsets...).Set("tensor", x).Done()
	if err != nil {
		f.typeError(err, argSpans{whole: tAt, of: map[string]source.Span{"tile": at}, elts: map[string][]source.Span{"offsets": b.spans}})
		return
	}
	f.writes(x, tAt)
}

// fit gives a value the shape of the box: numbers fill it, extents of 1 stretch, dimensions that
// integers selected are filled in.
func (f *fn) fit(val *ir.Value, b *box, dt ir.DType, tAt, at source.Span) *ir.Value {
	f.b.Span = tAt
	if _, scalar := val.Type.(*ir.Scalar); scalar {
		op, err := f.b.Add(ir.Full).Set("shape", f.b.Dims(b.extents)...).SetAttr("dtype", dt).Set("value", val).Done()
		if err != nil {
			f.typeError(err, argSpans{whole: tAt})
			return nil
		}
		return op.Result()
	}
	var want []ir.Dim // the box without the dimensions that integers selected
	for i, e := range b.extents {
		if !b.point[i] {
			want = append(want, e)
		}
	}
	dims := ir.ShapeOf(val.Type)
	if len(dims) > len(b.extents) {
		cut := dims[len(dims)-len(b.extents):]
		if ir.Product(dims[:len(dims)-len(b.extents)]).Is(1) && mayEqual(cut, b.extents) {
			return f.reshapeTo(val, cut, tAt)
		}
	}
	lead := b.points
	for i, p := range b.point {
		if p && i >= b.points {
			lead = -1 // an integer behind a slice
		}
	}
	if mayEqual(dims, want) && lead >= 0 || mayEqual(dims, b.extents) {
		return val
	}
	if mayEqual(dims, want) {
		return f.reshapeTo(val, b.extents, tAt)
	}
	if joined, ok := ir.Broadcast(dims, want); ok && ir.DimsEqual(joined, want) && len(dims) <= len(want) {
		op, err := f.b.Add(ir.Expand).Set("x", val).Set("shape", f.b.Dims(want)...).Done()
		if err == nil {
			if lead < 0 {
				return f.reshapeTo(op.Result(), b.extents, tAt)
			}
			return op.Result()
		}
	}
	f.errorf(diag.ShapeMismatch, at, "this has shape %s, the place it is written to %s", dimsText(dims), dimsText(want)).Note(tAt, "the place")
	return nil
}

func (f *fn) reshapeTo(val *ir.Value, dims []ir.Dim, at source.Span) *ir.Value {
	op, err := f.b.Add(ir.Reshape).Set("x", val).Set("shape", f.b.Dims(dims)...).Done()
	if err != nil {
		f.typeError(err, argSpans{whole: at})
		return nil
	}
	return op.Result()
}

func dimsText(ds []ir.Dim) string {
	s := "["
	for i, d := range ds {
		if i > 0 {
			s += ", "
		}
		s += d.Text(valueName)
	}
	return s + "]"
}

// storeWhole writes all of x.
func (f *fn) storeWhole(x *ir.Value, v value, tAt, at source.Span) {
	b := &box{}
	for _, d := range ir.ShapeOf(x.Type) {
		b.add(ir.Index(0), d, false, tAt)
	}
	f.storeBox(x, b, v, tAt, at)
}
