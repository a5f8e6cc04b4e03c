// Package irtest makes random modules for property tests: valid by construction, every kind of
// control flow, dims with symbols and with run-time values, views, calls and windows.
package irtest

import (
	"fmt"
	"math/rand/v2"

	"ptoc/ir"
	"ptoc/lang/source"
)

// Random makes a module from a seed; size is roughly the number of ops in its kernel.
func Random(seed uint64, size int) *ir.Module {
	rng := rand.New(rand.NewPCG(seed, 1))
	return generate(rng.IntN, size)
}

// FromBytes makes a module whose choices are the bytes of data, for fuzzing. Where data ends every
// choice is the first one.
func FromBytes(data []byte) *ir.Module {
	i := 0
	choose := func(n int) int {
		if i >= len(data) {
			return 0
		}
		i++
		return int(data[i-1]) % n
	}
	return generate(choose, min(len(data)/3+4, 400))
}

type gen struct {
	choose func(n int) int
	m      *ir.Module
	f      *ir.Func
	left   int // ops that may still be added
	depth  int
	inline *ir.Func
	scope  []*ir.Value
	names  int
}

var width = ir.ConstDim(16)

func generate(choose func(int) int, size int) *ir.Module {
	g := &gen{choose: choose, m: &ir.Module{Name: "random", Syms: []string{"NR", "N"}}}
	g.inlineFunc()
	step := g.kernel("step", size)
	chip := g.chip(step)
	host := g.host(chip)
	g.golden(host)
	return g.m
}

func (g *gen) add(f *ir.Func) *ir.Builder {
	g.m.Funcs = append(g.m.Funcs, f)
	g.f = f
	g.scope = append([]*ir.Value(nil), f.Params()...)
	return ir.NewBuilder(f, f.Body)
}

func fp32(dims ...ir.Dim) *ir.Tensor { return &ir.Tensor{Dims: dims, DType: ir.FP32} }

func window(dt ir.DType, dims ...ir.Dim) *ir.Tensor {
	return &ir.Tensor{Dims: dims, DType: dt, Window: true}
}

func index() *ir.Scalar { return &ir.Scalar{DType: ir.INDEX} }

// inlineFunc takes and returns a tile of any width N.
func (g *gen) inlineFunc() {
	f := ir.NewFunc("combine", ir.Inline, source.Span{})
	f.AddParam("a", &ir.Tile{Dims: []ir.Dim{ir.ConstDim(1), ir.SymDim("N")}, DType: ir.FP32}, ir.In)
	f.AddParam("k", index(), ir.In)
	b := g.add(f)
	s := must(b.Binary(ir.Add, f.Params()[0], f.Params()[0]))
	op, body := b.For("range", ir.Index(0), f.Params()[1], ir.Index(1), s)
	acc := body.Block.Args[1]
	body.Yield(must(body.Binary(ir.Mul, acc, ir.FloatValue(0.5, ir.FP32))))
	b.Return(op.Result())
	g.inline = f
}

func memoryParams(f *ir.Func) {
	f.AddParam("x", fp32(ir.ConstDim(4), width.Scale(4)), ir.In)
	f.AddParam("y", fp32(ir.SymDim("NR"), width.Scale(4)), ir.Out)
	f.AddParam("data", window(ir.FP32, ir.ConstDim(4), width.Scale(4)), ir.InOut)
	f.AddParam("sig", window(ir.INT32, ir.SymDim("NR"), ir.ConstDim(1)), ir.InOut)
	f.AddParam("n", index(), ir.In)
}

func (g *gen) kernel(name string, size int) *ir.Func {
	f := ir.NewFunc(name, ir.InCore, source.Span{})
	memoryParams(f)
	b := g.add(f)
	g.left = size
	g.block(b)
	b.Return(f.Params()[1], f.Params()[2])
	return f
}

func (g *gen) chip(step *ir.Func) *ir.Func {
	f := ir.NewFunc("chip", ir.Chip, source.Span{})
	memoryParams(f)
	b := g.add(f)
	g.left = 6
	g.block(b)
	must2(b.Call(step, f.Params()...))
	b.Return(f.Params()[1])
	return f
}

func (g *gen) host(chip *ir.Func) *ir.Func {
	f := ir.NewFunc("main", ir.Host, source.Span{})
	f.AddParam("x", fp32(ir.SymDim("NR"), ir.ConstDim(4), width.Scale(4)), ir.In)
	f.AddParam("y", fp32(ir.SymDim("NR"), ir.SymDim("NR"), width.Scale(4)), ir.Out)
	b := g.add(f)
	buf := func(name string, dt ir.DType, dims ...*ir.Value) (*ir.Value, *ir.Value) {
		alloc := b.Add(ir.AllocWindow).Set("shape", dims...).SetAttr("dtype", dt).Name(name + "_buf").Must()
		return alloc.Result(), b.Add(ir.Window).Set("buffer", alloc.Result()).Set("shape", dims...).SetAttr("dtype", dt).Name(name).Must().Result()
	}
	_, data := buf("data", ir.FP32, ir.Index(4), ir.Index(64))
	_, sig := buf("sig", ir.INT32, ir.DimValue(ir.SymDim("NR")), ir.Index(1))
	n := b.Add(ir.WorldSize).Name("ranks").Must().Result()
	_, body := b.For("range", ir.Index(0), n, ir.Index(1))
	r := body.Block.Args[0]
	row := func(v *ir.Value) *ir.Value {
		dims := ir.ShapeOf(v.Type)
		shape := append([]*ir.Value{ir.Index(1)}, body.Dims(dims[1:])...)
		return body.Add(ir.Slice).Set("x", v).Set("shape", shape...).Set("offsets", r, ir.Index(0), ir.Index(0)).
			SetAttr("drop_dims", int64(1)).Name(v.Name + "_r").Must().Result()
	}
	body.Add(ir.Call).SetAttr("callee", chip).Set("args", row(f.Params()[0]), row(f.Params()[1]), data, sig, ir.Index(int64(g.choose(5)))).
		Set("device", r).Must()
	if g.choose(2) == 1 {
		b.Add(ir.AllReduce).Set("target", data).Set("signal", sig).SetAttr("op", ir.ReduceOp.Of("Max")).Must()
	}
	b.Return(f.Params()[1])
	return f
}

func (g *gen) golden(host *ir.Func) {
	f := ir.NewFunc("expected", ir.Golden, source.Span{})
	f.GoldenOf = host.Name
	f.AddParam("x", fp32(ir.SymDim("NR"), ir.ConstDim(4), width.Scale(4)), ir.In)
	f.AddParam("y", fp32(ir.SymDim("NR"), ir.SymDim("NR"), width.Scale(4)), ir.Out)
	b := g.add(f)
	t := b.Add(ir.Full).Set("shape", ir.Index(1), ir.Index(1), ir.Index(64)).SetAttr("dtype", ir.FP32).Set("value", ir.FloatValue(0.1, ir.FP32)).Must().Result()
	b.Add(ir.Store).Set("tile", t).Set("offsets", ir.Index(0), ir.Index(0), ir.Index(0)).Set("tensor", f.Params()[1]).Must()
}

// block adds random ops until the budget of this block is spent.
func (g *gen) block(b *ir.Builder) {
	n := 1 + g.choose(8)
	if g.depth == 0 {
		n = g.left
	}
	g.depth++
	for i := 0; i < n && g.left > 0; i++ {
		g.left--
		g.op(b)
	}
	g.depth--
}

// inRegion adds a block and forgets what it defined; it returns what gen picks from inside.
func (g *gen) inRegion(b *ir.Builder, pick func()) {
	mark := len(g.scope)
	g.scope = append(g.scope, b.Block.Args...)
	g.block(b)
	if pick != nil {
		pick()
	}
	g.scope = g.scope[:mark]
}

func (g *gen) keep(v *ir.Value) *ir.Value {
	if !v.IsConst() {
		g.names++
		if g.names%3 == 0 {
			v.Name = []string{"t", "acc", "x", "pl", "for", "a-b", "v_1", "NR"}[g.choose(8)]
		}
		g.scope = append(g.scope, v)
	}
	return v
}

func (g *gen) op(b *ir.Builder) {
	switch k := g.choose(16); {
	case k < 4:
		g.scalar(b)
	case k < 6:
		g.keep(g.newTile(b))
	case k < 9:
		g.tileOp(b)
	case k < 10:
		g.store(b)
	case k < 11:
		g.signal(b)
	case k < 12:
		g.view(b)
	case g.depth > 3:
		g.scalar(b)
	case k < 14:
		g.loop(b)
	case k < 15:
		g.while(b)
	default:
		g.branch(b)
	}
}

// find picks a visible value that ok accepts, or nil.
func (g *gen) find(ok func(*ir.Value) bool) *ir.Value {
	var found []*ir.Value
	for _, v := range g.scope {
		if ok(v) {
			found = append(found, v)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[len(found)-1-g.choose(len(found))]
}

func (g *gen) ofScalar(dt ir.DType, otherwise *ir.Value) *ir.Value {
	v := g.find(func(v *ir.Value) bool {
		t, ok := v.Type.(*ir.Scalar)
		return ok && t.DType == dt
	})
	if v == nil || g.choose(4) == 0 {
		return otherwise
	}
	return v
}

func (g *gen) index() *ir.Value {
	c := []*ir.Value{ir.Index(int64(g.choose(7)) - 2), ir.DimValue(ir.SymDim("NR").Scale(2).Add(ir.ConstDim(1))), ir.DimValue(ir.SymDim("NR"))}
	return g.ofScalar(ir.INDEX, c[g.choose(3)])
}

func (g *gen) scalar(b *ir.Builder) {
	ints := []*ir.Kind{ir.Add, ir.Sub, ir.Mul, ir.FloorDivide, ir.Modulo, ir.Minimum, ir.Maximum, ir.BitAnd, ir.ShiftLeft}
	floats := []*ir.Kind{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Minimum, ir.Maximum}
	consts := []float64{0.1, 1, -1.5, 3e38, 1e-40}
	float := func() *ir.Value { return g.ofScalar(ir.FP32, ir.FloatValue(consts[g.choose(len(consts))], ir.FP32)) }
	switch g.choose(6) {
	case 0, 1:
		g.keep(must(b.Binary(ints[g.choose(len(ints))], g.index(), g.index())))
	case 2:
		g.keep(must(b.Binary(floats[g.choose(len(floats))], float(), float())))
	case 3:
		g.keep(must(b.Compare(ir.CmpType.Values[g.choose(6)], g.index(), g.index())))
	case 4:
		dt := []ir.DType{ir.INT32, ir.INT8, ir.FP16, ir.BF16, ir.FP32, ir.INT64}[g.choose(6)]
		v := must(b.Cast(float(), dt))
		g.keep(must(b.Binary(ir.Add, v, v)))
	default:
		x := g.ofScalar(ir.BOOL, ir.BoolValue(g.choose(2) == 0))
		g.keep(must(b.Binary([]*ir.Kind{ir.LogicalAnd, ir.LogicalOr}[g.choose(2)], x, g.ofScalar(ir.BOOL, ir.BoolValue(true)))))
	}
}

func isTile(v *ir.Value) bool { _, ok := v.Type.(*ir.Tile); return ok }

// tile finds a tile of shape [1, 16], or makes one.
func (g *gen) tile(b *ir.Builder) *ir.Value {
	v := g.find(func(v *ir.Value) bool {
		t, ok := v.Type.(*ir.Tile)
		return ok && t.DType == ir.FP32 && t.Cap == nil && len(t.Dims) == 2 && t.Dims[0].Is(1) && t.Dims[1].Equal(width)
	})
	if v == nil {
		v = g.load(b, nil)
	}
	return v
}

func (g *gen) load(b *ir.Builder, valid *ir.Value) *ir.Value {
	mem := g.f.Params()[2*g.choose(2)]
	o := b.Add(ir.Load).Set("tensor", mem).Set("offsets", ir.Index(int64(g.choose(4))), ir.Index(int64(16*g.choose(4)))).
		Set("shape", ir.Index(1), ir.Index(16)).Name("t")
	if valid != nil {
		o.Set("valid_shape", ir.Index(1), valid)
	}
	return o.Must().Result()
}

func (g *gen) newTile(b *ir.Builder) *ir.Value {
	switch g.choose(4) {
	case 0:
		if n := g.find(func(v *ir.Value) bool { s, ok := v.Type.(*ir.Scalar); return ok && s.DType == ir.INDEX }); n != nil {
			return g.load(b, n)
		}
	case 1:
		return b.Add(ir.Full).Set("shape", ir.Index(1), ir.Index(16)).SetAttr("dtype", ir.FP32).Set("value", ir.FloatValue(2, ir.FP32)).Must().Result()
	case 2:
		return b.Add(ir.RemoteLoad).Set("target", g.f.Params()[2]).Set("peer", g.index()).Set("offsets", ir.Index(0), ir.Index(0)).
			Set("shape", ir.Index(1), ir.Index(16)).Must().Result()
	}
	return g.load(b, nil)
}

func (g *gen) tileOp(b *ir.Builder) {
	t := g.find(isTile)
	if t == nil {
		t = g.tile(b)
	}
	if ir.DTypeOf(t.Type) != ir.FP32 {
		return
	}
	switch g.choose(7) {
	case 0:
		g.keep(must(b.Unary([]*ir.Kind{ir.Exp, ir.Neg, ir.Abs, ir.Relu}[g.choose(4)], t)))
	case 1:
		g.keep(must(b.Binary(ir.Mul, t, ir.FloatValue(1, ir.FP32))))
	case 2:
		x := g.tile(b)
		g.keep(must(b.Binary(ir.Add, x, g.tile(b))))
	case 3:
		g.keep(must(b.Cast(t, ir.BF16)))
	case 4:
		g.keep(b.Add(ir.Sum).Set("x", t).SetAttr("axis", int64(1)).SetAttr("keepdims", true).Must().Result())
	case 5:
		m := must(b.Compare("LT", t, ir.FloatValue(0, ir.FP32)))
		g.keep(must(b.Select(m, t, ir.FloatValue(-1, ir.FP32))))
	default:
		g.keep(must2(b.Call(g.inline, t, g.index())).Result())
	}
}

func (g *gen) store(b *ir.Builder) {
	t := g.tile(b)
	if g.choose(2) == 0 {
		b.Add(ir.Store).Set("tile", t).Set("offsets", g.index2(), ir.Index(0)).Set("tensor", g.f.Params()[1]).Must()
		return
	}
	b.Add(ir.RemoteStore).Set("tile", t).Set("target", g.f.Params()[2]).Set("peer", g.index()).Set("offsets", ir.Index(0), ir.Index(16)).
		SetAttr("atomic", ir.AtomicType.Of("Add")).Must()
}

// index2 is an offset that is known to be no negative constant.
func (g *gen) index2() *ir.Value {
	v := g.index()
	if n, ok := v.ConstInt(); ok && n < 0 {
		return ir.Index(0)
	}
	if v.IsConst() {
		return ir.Index(0)
	}
	return v
}

func (g *gen) signal(b *ir.Builder) {
	sig := g.f.Params()[3]
	switch g.choose(3) {
	case 0:
		b.Add(ir.Notify).Set("target", sig).Set("peer", g.index()).Set("offsets", ir.Index(0), ir.Index(0)).Set("value", ir.Index(1)).
			SetAttr("op", ir.NotifyOp.Of("Set")).Must()
	case 1:
		b.Add(ir.Wait).Set("signal", sig).Set("offsets", ir.Index(0), ir.Index(0)).Set("expected", ir.Index(1)).Must()
	default:
		ctx := b.Add(ir.GetCommCtx).Set("target", sig).Must().Result()
		g.keep(b.Add(ir.Rank).Set("ctx", ctx).Name("me").Must().Result())
	}
}

func (g *gen) view(b *ir.Builder) {
	x := g.f.Params()[0]
	s := b.Add(ir.Slice).Set("x", x).Set("shape", ir.Index(1), ir.Index(32)).Set("offsets", ir.Index(1), ir.Index(int64(g.choose(32)))).Must().Result()
	s = b.Add(ir.Slice).Set("x", s).Set("shape", ir.Index(1), ir.Index(16)).Set("offsets", ir.Index(0), ir.Index(int64(g.choose(16)))).Must().Result()
	g.keep(b.Add(ir.Load).Set("tensor", s).Set("offsets", ir.Index(0), ir.Index(0)).Set("shape", ir.Index(1), ir.Index(16)).Must().Result())
}

func (g *gen) carried(b *ir.Builder) []*ir.Value {
	var out []*ir.Value
	for i := g.choose(3); i > 0; i-- {
		if g.choose(2) == 0 {
			out = append(out, g.tile(b))
		} else {
			out = append(out, g.index())
		}
	}
	return out
}

// like finds values of the types of vs.
func (g *gen) like(vs []*ir.Value) []*ir.Value {
	out := make([]*ir.Value, len(vs))
	for i, v := range vs {
		if out[i] = g.find(func(w *ir.Value) bool { return ir.TypesEqual(v.Type, w.Type) }); out[i] == nil {
			out[i] = v
		}
	}
	return out
}

func (g *gen) loop(b *ir.Builder) {
	inits := g.carried(b)
	kind := []string{"range", "unroll", "parallel", "pipeline", "spmd", "range"}[g.choose(6)]
	start, stop, step := g.index(), g.index(), ir.Index(int64(1+g.choose(3)))
	switch kind {
	case "unroll":
		start, stop = ir.Index(int64(g.choose(3))), ir.Index(int64(g.choose(5)))
	case "spmd":
		start, step, inits = ir.Index(0), ir.Index(1), nil
	}
	op, body := b.For(kind, start, stop, step, inits...)
	if kind == "pipeline" {
		op.SetAttr("stage", int64(2))
	}
	g.inRegion(body, func() {
		if len(inits) > 0 {
			body.Yield(g.like(inits)...)
		}
	})
	for _, r := range op.Results {
		g.keep(r)
	}
}

func (g *gen) while(b *ir.Builder) {
	inits := append(g.carried(b), g.index())
	op, body := b.While(inits...)
	g.inRegion(body, func() {
		i := body.Block.Args[len(inits)-1]
		body.Cond(must(body.Compare("LT", i, ir.Index(5))))
		next := must(body.Binary(ir.Add, i, ir.Index(1)))
		body.Yield(append(g.like(inits[:len(inits)-1]), next)...)
	})
	for _, r := range op.Results {
		g.keep(r)
	}
}

func (g *gen) branch(b *ir.Builder) {
	cond := g.ofScalar(ir.BOOL, nil)
	if cond == nil {
		cond = must(b.Compare("GT", g.f.Params()[4], ir.Index(int64(g.choose(4)))))
	}
	if cond.IsConst() {
		return
	}
	like := g.carried(b)
	op, then, els := b.If(cond)
	for _, arm := range []*ir.Builder{then, els} {
		g.inRegion(arm, func() {
			if len(like) > 0 {
				arm.Yield(g.like(like)...)
			}
		})
	}
	if err := b.Finish(op); err != nil {
		panic(err)
	}
	for _, r := range op.Results {
		g.keep(r)
	}
}

func must(v *ir.Value, err error) *ir.Value {
	if err != nil {
		panic(fmt.Sprintf("irtest: %v", err))
	}
	return v
}

func must2(op *ir.Op, err error) *ir.Op {
	if err != nil {
		panic(fmt.Sprintf("irtest: %v", err))
	}
	return op
}
