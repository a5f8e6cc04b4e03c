package passes

import (
	"slices"

	"ptoc/ir"
)

// emit replaces the clusters of a block by fused loops.
func (z *fuser) emit(b *ir.Block, clusters []*cluster) {
	at := map[*ir.Op]*cluster{} // the last op of each cluster
	gone := map[*ir.Op]bool{}
	for _, c := range clusters {
		if c.into == nil {
			slices.SortFunc(c.ops, func(x, y *ir.Op) int { return slices.Index(b.Ops, x) - slices.Index(b.Ops, y) })
			at[b.Ops[c.last]] = c
			for _, op := range c.ops {
				gone[op] = true
			}
		}
	}
	if len(at) == 0 {
		return
	}
	old := b.Ops
	b.Ops = make([]*ir.Op, 0, len(old))
	for _, op := range old {
		if c := at[op]; c != nil {
			z.build(b, c)
		} else if !gone[op] {
			b.Ops = append(b.Ops, op)
		}
	}
}

// builder of one fused loop.
type fusedBuilder struct {
	z     *fuser
	c     *cluster
	b     *ir.Builder
	body  *ir.Builder
	ins   []*ir.Value
	args  map[*ir.Value]*ir.Value // tile or memory -> element
	elem  map[*ir.Value]*ir.Value // tile -> its element inside the loop
	views map[*ir.Op]*ir.Value

	constant map[*ir.Op]*ir.Value // the value of each repeated full
}

// build appends c's fused loop to b.
func (z *fuser) build(b *ir.Block, c *cluster) {
	span := c.ops[len(c.ops)-1].Span
	fb := &fusedBuilder{z: z, c: c, b: ir.NewBuilder(z.f, b).At(span),
		args: map[*ir.Value]*ir.Value{}, elem: map[*ir.Value]*ir.Value{}, views: map[*ir.Op]*ir.Value{}, constant: map[*ir.Op]*ir.Value{}}
	shape := fb.shape()
	for _, op := range c.ops {
		fb.inputs(op)
	}
	var outs []*ir.Value
	var stored []*ir.Value
	for _, op := range c.ops {
		if isStore(op) {
			outs = append(outs, fb.view(op))
			stored = append(stored, op.Val("tile"))
		}
	}
	scalars := fb.scalars()
	op, body := fb.b.Fused(fb.ins, outs, shape)
	fb.body = body
	for i, v := range fb.ins {
		fb.args[v] = body.Block.Args[i]
	}
	for _, m := range c.ops {
		fb.member(m, scalars)
	}
	var yields []*ir.Value
	for _, v := range stored {
		yields = append(yields, fb.element(v))
	}
	var results []*ir.Value
	for _, m := range c.ops {
		if r := m.Result(); r != nil && z.usedOutside(r, c) {
			results = append(results, r)
			yields = append(yields, fb.element(r))
		}
	}
	body.Yield(yields...)
	if c.stream {
		op.SetAttr("stream", true)
	}
	z.finish(fb.b, op, c, results)
}

// finish deduces the loop's results and notes what they replace.
func (z *fuser) finish(b *ir.Builder, op *ir.Op, c *cluster, results []*ir.Value) {
	var names []string
	for _, r := range results {
		names = append(names, r.Name)
	}
	// Also where no tile is left: the loop's extents are checked against what the tiles were made for.
	if t := tileOf(c.ops[0]); t.Cap != nil {
		op.Set("cap", b.Dims(t.Cap)...)
	}
	if err := b.Finish(op, names...); err != nil {
		panic(err)
	}
	for i, r := range results {
		z.by[r] = op.Results[i]
		z.shapes[op.Results[i]] = op.Vals("shape")
	}
}

// usedOutside reports whether an op outside of c needs v as a tile.
func (z *fuser) usedOutside(v *ir.Value, c *cluster) bool {
	for _, u := range z.uses[v] {
		if c.member[u.Op] {
			continue
		}
		if user := z.owner[u.Op].final(); user != nil && user.repeat[v.Def] {
			continue
		}
		return true
	}
	return false
}

// inputs collects what op reads from outside of the cluster: memory views and tiles.
func (fb *fusedBuilder) inputs(op *ir.Op) {
	if isLoad(op) {
		fb.input(fb.view(op))
		return
	}
	for _, v := range op.Operands() {
		if _, tile := v.Type.(*ir.Tile); !tile || v.Def != nil && fb.c.member[v.Def] {
			continue
		}
		if v.Def != nil && fb.c.repeat[v.Def] {
			if isLoad(v.Def) {
				fb.input(fb.view(v.Def))
			} else {
				fb.constant[v.Def] = scalarTo(fb.b, v.Def.Val("value"), ir.DTypeOf(v.Type))
			}
			continue
		}
		fb.input(fb.z.current(v))
	}
}

func (fb *fusedBuilder) input(v *ir.Value) {
	if !slices.Contains(fb.ins, v) {
		fb.ins = append(fb.ins, v)
	}
}

// current is v, or the result of the fused loop that makes it now.
func (z *fuser) current(v *ir.Value) *ir.Value {
	if w, ok := z.by[v]; ok {
		return w
	}
	return v
}

// scalars converts the scalar operands of c's ops to their tile's element type, before the loop.
func (fb *fusedBuilder) scalars() map[*ir.Op][]*ir.Value {
	out := map[*ir.Op][]*ir.Value{}
	for _, op := range fb.c.ops {
		if isLoad(op) || isStore(op) {
			continue
		}
		out[op] = fb.scalarsOf(op)
	}
	return out
}

func (fb *fusedBuilder) scalarsOf(op *ir.Op) []*ir.Value {
	vals := elementOperands(op)
	conv := make([]*ir.Value, len(vals))
	dt := operandType(op)
	for i, v := range vals {
		if _, tile := v.Type.(*ir.Tile); !tile {
			want := dt
			if op.Kind == ir.Select && i == 0 || op.Kind == ir.Cast {
				want = ir.DTypeOf(v.Type)
			}
			conv[i] = scalarTo(fb.b, v, want)
		}
	}
	return conv
}

// elementOperands are the operands that are elements: not the shape of a full or expand.
func elementOperands(op *ir.Op) []*ir.Value {
	switch op.Kind {
	case ir.Full:
		return []*ir.Value{op.Val("value")}
	case ir.Expand:
		return []*ir.Value{op.Val("x")}
	}
	return op.Operands()
}

// operandType is the type in which an op's operands meet: its result's, but for comparisons.
func operandType(op *ir.Op) ir.DType {
	if op.Kind == ir.Cmp {
		for _, v := range op.Operands() {
			if t, ok := v.Type.(*ir.Tile); ok {
				return t.DType
			}
		}
	}
	return ir.DTypeOf(op.Result().Type)
}

// scalarTo converts a scalar as combining it with a tile of elements dt does.
func scalarTo(b *ir.Builder, v *ir.Value, dt ir.DType) *ir.Value {
	from := ir.DTypeOf(v.Type)
	n, isInt := v.ConstInt()
	switch {
	case from == dt:
		return v
	case v.IsConst() && from.IsFloat() && dt.IsFloat():
		return ir.FloatValue(ir.RoundFloat(v.Const.F, dt), dt)
	case isInt && dt.IsFloat():
		return ir.FloatValue(ir.RoundFloat(float64(float32(n)), dt), dt)
	}
	w, err := b.Cast(v, dt)
	if err != nil {
		panic(err)
	}
	return w
}

// member adds op to the loop's body.
func (fb *fusedBuilder) member(op *ir.Op, scalars map[*ir.Op][]*ir.Value) {
	switch {
	case isStore(op):
		return
	case isLoad(op):
		fb.elem[op.Result()] = fb.args[fb.view(op)]
		return
	case op.Kind == ir.Full || op.Kind == ir.Expand:
		x := scalars[op][0]
		if x == nil {
			x = fb.element(op.Val("x"))
		}
		fb.elem[op.Result()] = x
		return
	}
	fb.body.Span = op.Span
	o := fb.body.Add(op.Kind)
	k := 0
	for i, p := range op.Kind.Params {
		switch a := op.Args[i]; {
		case a.Attr != nil:
			o.SetAttr(p.Name, a.Attr)
		case a.Given():
			x := scalars[op][k]
			if x == nil {
				x = fb.element(a.Vals[0])
			}
			o.Set(p.Name, x)
			k++
		}
	}
	fb.elem[op.Result()] = o.Name(op.Result().Name).MustValue()
}

// element is the element of a tile inside the loop.
func (fb *fusedBuilder) element(v *ir.Value) *ir.Value {
	if e, ok := fb.elem[v]; ok {
		return e
	}
	if v.Def != nil && !fb.c.member[v.Def] && fb.c.repeat[v.Def] {
		if isLoad(v.Def) {
			return fb.args[fb.view(v.Def)]
		}
		return fb.constant[v.Def]
	}
	return fb.args[fb.z.current(v)]
}

// view is the memory that a load or store touches.
func (fb *fusedBuilder) view(op *ir.Op) *ir.Value {
	if v, ok := fb.views[op]; ok {
		return v
	}
	whole := fb.b.Span
	fb.b.Span = op.Span // where a fault of this access is reported
	defer func() { fb.b.Span = whole }()
	mem := op.Val("tensor")
	if mem == nil {
		mem = fb.b.Add(ir.Peer).Set("target", op.Val("target")).Set("peer", op.Val("peer")).Name(op.Val("target").Name).Must().Result()
	}
	dims := ir.ShapeOf(mem.Type)
	shape := fb.extents(op)
	drop := len(dims) - len(shape)
	for range drop {
		shape = append([]*ir.Value{ir.Index(1)}, shape...)
	}
	if v := mem; !wholeOf(op.Vals("offsets"), ir.DimsOf(shape), dims) || drop > 0 {
		s := fb.b.Add(ir.Slice).Set("x", mem).Set("shape", shape...).Set("offsets", op.Vals("offsets")...).Name(v.Name)
		if drop > 0 {
			s.SetAttr("drop_dims", int64(drop))
		}
		mem = s.Must().Result()
	}
	fb.views[op] = mem
	return mem
}

// wholeOf reports whether a rectangle is all of its memory.
func wholeOf(offs []*ir.Value, shape, dims []ir.Dim) bool {
	for _, o := range offs {
		if !ir.DimOf(o).Is(0) {
			return false
		}
	}
	return ir.DimsEqual(shape, dims)
}

// extents are the operands that give the extents of what op works on.
func (z *fuser) extents(op *ir.Op) []*ir.Value {
	switch {
	case isStore(op):
		return z.tileExtents(op.Val("tile"))
	case op.Arg("valid_shape").Given():
		return op.Vals("valid_shape")
	case op.Arg("shape").Given():
		return op.Vals("shape")
	}
	return z.tileExtents(op.Result())
}

// tileExtents finds operands for the extents of a tile where an op has given them, and makes them
// otherwise.
func (z *fuser) tileExtents(v *ir.Value) []*ir.Value {
	if s, ok := z.shapes[v]; ok {
		return s
	}
	s := z.findExtents(v)
	z.shapes[v] = s
	return s
}

func (z *fuser) findExtents(v *ir.Value) []*ir.Value {
	dims := ir.ShapeOf(v.Type)
	if init := initOf(v); init != nil {
		return z.tileExtents(init)
	}
	op := v.Def
	if op == nil {
		return nil
	}
	for _, p := range []string{"valid_shape", "shape"} {
		if op.Arg(p).Given() && ir.DimsEqual(ir.DimsOf(op.Vals(p)), dims) {
			return op.Vals(p)
		}
	}
	for _, x := range op.Operands() {
		if _, tile := x.Type.(*ir.Tile); tile && ir.DimsEqual(ir.ShapeOf(x.Type), dims) {
			if s := z.tileExtents(x); s != nil {
				return s
			}
		}
	}
	return nil
}

// initOf is the initial value of what a loop carries or gives.
func initOf(v *ir.Value) *ir.Value {
	op := v.Def
	var list []*ir.Value
	if op == nil && v.Owner != nil {
		op = v.Owner.Parent
		if op != nil {
			list = op.Regions[0].Args
		}
	} else if op != nil {
		list = op.Results
	}
	if op == nil || op.Kind != ir.For && op.Kind != ir.While {
		return nil
	}
	i := slices.Index(list, v)
	if v.Def == nil && op.Kind == ir.For {
		i--
	}
	if i < 0 {
		return nil
	}
	return op.Vals("init_values")[i]
}

// extents gives operands for the extents of what op works on.
func (fb *fusedBuilder) extents(op *ir.Op) []*ir.Value {
	if s := fb.z.extents(op); s != nil {
		return s
	}
	return fb.b.Dims(tileOf(op).Dims)
}

// shape gives the operands for c's iteration space.
func (fb *fusedBuilder) shape() []*ir.Value {
	for _, op := range fb.c.ops {
		if s := fb.z.extents(op); s != nil {
			return s
		}
	}
	return fb.b.Dims(tileOf(fb.c.ops[0]).Dims)
}
