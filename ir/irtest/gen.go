// Package irtest makes random modules for property tests: valid by construction, every kind of
// control flow, dims with symbols and with run-time values, views, calls and windows.
package irtest

import (
	"math/rand/v2"

	"ptoc/ir"
	"ptoc/lang/source"
)

// Random makes a module from a seed; size is roughly the number of ops in its kernel.
func Random(seed uint64, size int) *ir.Module {
	rng := rand.New(rand.NewPCG(seed, 1))
	return generate(rng.IntN, size)
}

// Runnable makes a module whose kernel "step" runs to its end on one rank with NR = 8: indices stay
// inside, loops are short, nothing divides by zero, nobody waits.
func Runnable(seed uint64, size int) *ir.Module {
	rng := rand.New(rand.NewPCG(seed, 2))
	g := &gen{choose: rng.IntN, safe: true}
	return g.module(size)
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
	safe   bool // see Runnable
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
	g := &gen{choose: choose}
	return g.module(size)
}

func (g *gen) module(size int) *ir.Module {
	g.m = &ir.Module{Name: "random", Syms: []string{"NR", "N"}}
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
