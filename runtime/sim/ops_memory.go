package sim

import (
	"math"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/interp"
	"ptoc/runtime/tensor"
)

func viewOf(fr *interp.Frame, id int) *view { return fr.Vals[id].P.(*view) }
func tileOf(fr *interp.Frame, id int) *tile { return fr.Vals[id].P.(*tile) }

func isTile(v *ir.Value) bool { _, ok := v.Type.(*ir.Tile); return ok }

// extents compiles the shape of a new tile: valid_shape, which must fit in shape, or shape.
func extents(c *interp.Compiler, op *ir.Op) func(*interp.Frame) []int64 {
	shape := c.Ints(op.Vals("shape"))
	if !op.Arg("valid_shape").Given() {
		return shape
	}
	return within(op, c.Ints(op.Vals("valid_shape")), shape)
}

// within checks extents against the largest that they may be.
func within(op *ir.Op, extents, most func(*interp.Frame) []int64) func(*interp.Frame) []int64 {
	return func(fr *interp.Frame) []int64 {
		s, v := most(fr), extents(fr)
		for i := range v {
			if v[i] < 0 || v[i] > s[i] {
				interp.Raise(op, abi.BadValue, v[i], 0, s[i])
			}
		}
		return v
	}
}

func load(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("tensor").ID, op.Result().ID
	offsets, shape := c.Ints(op.Vals("offsets")), extents(c, op)
	return func(fr *interp.Frame) {
		v := viewOf(fr, from).sub(op, offsets(fr), shape(fr))
		fr.Vals[to].P = rankOf(fr).read(op, v)
	}
}

func remoteLoad(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("target").ID, op.Result().ID
	who, offsets, shape := c.Int(op.Val("peer")), c.Ints(op.Vals("offsets")), extents(c, op)
	return func(fr *interp.Frame) {
		v := viewOf(fr, from).of(op, who(fr)).sub(op, offsets(fr), shape(fr))
		fr.Vals[to].P = rankOf(fr).read(op, v)
	}
}

// aligned is a tile's shape with leading ones up to a rank.
func aligned(shape []int64, rank int) []int64 {
	out := make([]int64, rank)
	for i := range out {
		out[i] = 1
		if k := i - (rank - len(shape)); k >= 0 {
			out[i] = shape[k]
		}
	}
	return out
}

func store(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("tile").ID, op.Val("tensor").ID
	offsets := c.Ints(op.Vals("offsets"))
	return func(fr *interp.Frame) {
		t, v := tileOf(fr, from), viewOf(fr, to)
		rankOf(fr).save(op, v.sub(op, offsets(fr), aligned(t.shape, len(v.shape))), t)
	}
}

func remoteStore(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("tile").ID, op.Val("target").ID
	who, offsets := c.Int(op.Val("peer")), c.Ints(op.Vals("offsets"))
	return func(fr *interp.Frame) {
		t, v := tileOf(fr, from), viewOf(fr, to).of(op, who(fr))
		rankOf(fr).save(op, v.sub(op, offsets(fr), aligned(t.shape, len(v.shape))), t)
	}
}

func ones(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

func read(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("x").ID, op.Result().ID
	indices := c.Ints(op.Vals("indices"))
	if isTile(op.Val("x")) {
		return func(fr *interp.Frame) {
			t, idx := tileOf(fr, from), indices(fr)
			fr.Vals[to] = t.at(elementAt(op, t.shape, idx))
		}
	}
	return func(fr *interp.Frame) {
		v := viewOf(fr, from)
		fr.Vals[to] = rankOf(fr).read(op, v.sub(op, indices(fr), ones(len(v.shape)))).at(0)
	}
}

// elementAt is the position in C order of an element of a tile.
func elementAt(op *ir.Op, shape, idx []int64) int64 {
	at := int64(0)
	for i, x := range idx {
		if x < 0 || x >= shape[i] {
			interp.Raise(op, abi.LocalBounds, int64(i), x, 1, shape[i])
		}
		at = at*shape[i] + x
	}
	return at
}

func write(c *interp.Compiler, op *ir.Op) interp.Step {
	to := op.Val("tensor").ID
	indices := c.Ints(op.Vals("indices"))
	one := scalarTile(c, op.Val("value"), ir.DTypeOf(op.Val("tensor").Type))
	return func(fr *interp.Frame) {
		v := viewOf(fr, to)
		rankOf(fr).write(op, v.sub(op, indices(fr), ones(len(v.shape))), one(fr))
	}
}

// scalarTile makes a tile of one element, converted to dt as tile ops convert scalars.
func scalarTile(c *interp.Compiler, v *ir.Value, dt ir.DType) func(*interp.Frame) *tile {
	if dt.IsFloat() {
		get := c.Float(v)
		return func(fr *interp.Frame) *tile {
			x := []float64{get(fr)}
			if !c.Exact {
				round(dt, x)
			}
			return &tile{dt: dt, f: x}
		}
	}
	get := c.Int(v)
	return func(fr *interp.Frame) *tile { return &tile{dt: dt, i: []int64{interp.WrapInt(dt, get(fr))}} }
}

func slice(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to, drop := op.Val("x").ID, op.Result().ID, op.Int("drop_dims")
	offsets, shape := c.Ints(op.Vals("offsets")), c.Ints(op.Vals("shape"))
	if !isTile(op.Val("x")) {
		return func(fr *interp.Frame) {
			fr.Vals[to].P = viewOf(fr, from).sub(op, offsets(fr), shape(fr)).drop(drop)
		}
	}
	return func(fr *interp.Frame) {
		t, offs, want := tileOf(fr, from), offsets(fr), shape(fr)
		strides, start := rowMajor(t.shape, 1), int64(0)
		for i, o := range offs {
			if o < 0 || want[i] < 0 || o > t.shape[i]-want[i] {
				interp.Raise(op, abi.LocalBounds, int64(i), o, want[i], t.shape[i])
			}
			start += o * strides[i]
		}
		fr.Vals[to].P = t.strided(want, strides, start).reshaped(want[drop:])
	}
}

func reshape(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("x").ID, op.Result().ID
	shape := c.Ints(op.Vals("shape"))
	if !isTile(op.Val("x")) {
		return func(fr *interp.Frame) { fr.Vals[to].P = viewOf(fr, from).reshape(op, shape(fr)) }
	}
	return func(fr *interp.Frame) {
		t, want := tileOf(fr, from), shape(fr)
		if t.len() != numel(want) {
			interp.Raise(op, abi.Shape, 0, t.len(), numel(want))
		}
		fr.Vals[to].P = t.reshaped(want)
	}
}

func createTensor(c *interp.Compiler, op *ir.Op) interp.Step {
	to, dt := op.Result().ID, op.DTypeAttr("dtype")
	shape := c.Ints(op.Vals("shape"))
	name := op.Result().Name
	return func(fr *interp.Frame) {
		r, want := rankOf(fr), shape(fr)
		for _, n := range want {
			if n < 0 {
				interp.Raise(op, abi.BadValue, n, 0, math.MaxInt64)
			}
		}
		need, err := tensor.Bytes(dt, want)
		if err != nil {
			need = math.MaxInt64
		}
		if need > MaxAlloc || !tensor.Room(need) {
			interp.Raise(op, abi.NoMemory, need)
		}
		r.m.local++
		mem := &Alloc{ID: -r.m.local, Name: name, Device: r.device, Data: make([]byte, numel(want)*r.m.size(dt)), Shape: want, Elem: r.m.size(dt), In: r.in}
		fr.Vals[to].P = newView(r.m, mem, 0, dt, want)
	}
}

// call runs another function on the same rank.
func call(c *interp.Compiler, op *ir.Op) interp.Step {
	callee := c.Callee(op)
	params := callee.Code.Func.Params()
	args := make([]func(*interp.Frame) interp.Value, len(params))
	for i, v := range op.Vals("args") {
		args[i] = argument(c, v, params[i].Type)
	}
	distinct := ir.DistinctParams(callee.Code.Func)
	return func(fr *interp.Frame) {
		r := rankOf(fr)
		in := callee.Code.NewFrame(r)
		in.Tick, in.Fork, in.Block, in.Blocks = fr.Tick, fr.Fork, fr.Block, fr.Blocks
		shapes := make([][]int64, len(params))
		for i, p := range params {
			v := args[i](fr)
			in.Vals[p.ID] = v
			switch x := v.P.(type) {
			case *view:
				shapes[i] = x.shape
			case *tile:
				shapes[i] = x.shape
			}
		}
		if bad := callee.PassSyms(fr, in.Syms, shapes); bad != nil {
			interp.Raise(op, abi.Shape, int64(bad.Dim), bad.Got, bad.Want)
		}
		for _, p := range distinct {
			if viewIn(in, params[p.First]).overlaps(viewIn(in, params[p.Second])) {
				interp.Raise(op, abi.Overlap, int64(p.First), int64(p.Second))
			}
		}
		hook := r.m.cfg.Hooks.Call
		if hook != nil {
			hook(r.device, op, false)
		}
		callee.Code.Exec(in)
		if hook != nil {
			hook(r.device, op, true)
		}
	}
}

func viewIn(fr *interp.Frame, v *ir.Value) *view {
	x, _ := fr.Vals[v.ID].P.(*view)
	return x
}

// argument converts a scalar to the parameter's type.
func argument(c *interp.Compiler, v *ir.Value, param ir.Type) func(*interp.Frame) interp.Value {
	s, ok := param.(*ir.Scalar)
	if !ok || !s.DType.IsFloat() {
		return c.Get(v)
	}
	get := c.Float(v)
	return func(fr *interp.Frame) interp.Value {
		x := get(fr)
		if !c.Exact {
			x = interp.RoundFloat(s.DType, x)
		}
		return interp.Value{F: x}
	}
}
