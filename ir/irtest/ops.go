package irtest

import (
	"fmt"

	"ptoc/ir"
)

// The ops that generated blocks are made of.

// within keeps an index in [0, n) where the module has to run.
func (g *gen) within(b *ir.Builder, v *ir.Value, n int64) *ir.Value {
	if !g.safe {
		return v
	}
	return must(b.Binary(ir.Modulo, v, ir.Index(n)))
}

func (g *gen) scalar(b *ir.Builder) {
	ints := []*ir.Kind{ir.Add, ir.Sub, ir.Mul, ir.FloorDivide, ir.Modulo, ir.Minimum, ir.Maximum, ir.BitAnd, ir.ShiftLeft}
	floats := []*ir.Kind{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Minimum, ir.Maximum}
	consts := []float64{0.1, 1, -1.5, 3e38, 1e-40}
	float := func() *ir.Value { return g.ofScalar(ir.FP32, ir.FloatValue(consts[g.choose(len(consts))], ir.FP32)) }
	switch g.choose(6) {
	case 0, 1:
		k, rhs := ints[g.choose(len(ints))], g.index()
		if k == ir.ShiftLeft || k == ir.FloorDivide || k == ir.Modulo {
			rhs = g.within(b, rhs, 4)
		}
		if g.safe && (k == ir.FloorDivide || k == ir.Modulo) {
			rhs = must(b.Binary(ir.Add, rhs, ir.Index(1)))
		}
		g.keep(must(b.Binary(k, g.index(), rhs)))
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
		o.Set("valid_shape", ir.Index(1), valid) // at most 16, where it matters
	}
	return o.Must().Result()
}

func (g *gen) newTile(b *ir.Builder) *ir.Value {
	switch g.choose(4) {
	case 0:
		if n := g.find(func(v *ir.Value) bool { s, ok := v.Type.(*ir.Scalar); return ok && s.DType == ir.INDEX }); n != nil {
			return g.load(b, g.within(b, n, 17))
		}
	case 1:
		return b.Add(ir.Full).Set("shape", ir.Index(1), ir.Index(16)).SetAttr("dtype", ir.FP32).Set("value", ir.FloatValue(2, ir.FP32)).Must().Result()
	case 2:
		return b.Add(ir.RemoteLoad).Set("target", g.f.Params()[2]).Set("peer", g.within(b, g.index(), 1)).Set("offsets", ir.Index(0), ir.Index(0)).
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
		g.keep(must2(b.Call(g.inline, t, g.within(b, g.index(), 3))).Result())
	}
}

func (g *gen) store(b *ir.Builder) {
	t := g.tile(b)
	if g.choose(2) == 0 {
		b.Add(ir.Store).Set("tile", t).Set("offsets", g.within(b, g.index2(), 8), ir.Index(0)).Set("tensor", g.f.Params()[1]).Must()
		return
	}
	b.Add(ir.RemoteStore).Set("tile", t).Set("target", g.f.Params()[2]).Set("peer", g.within(b, g.index(), 1)).Set("offsets", ir.Index(0), ir.Index(16)).
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
	kind := g.choose(3)
	if g.safe && kind == 1 {
		kind = 0
	}
	switch kind {
	case 0:
		b.Add(ir.Notify).Set("target", sig).Set("peer", g.within(b, g.index(), 1)).Set("offsets", ir.Index(0), ir.Index(0)).Set("value", ir.Index(1)).
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
		start, step = ir.Index(0), ir.Index(1)
		stop = g.within(b, stop, 4)
	default:
		start, stop = g.within(b, start, 4), g.within(b, stop, 6)
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
	inits := append(g.carried(b), g.within(b, g.index(), 4))
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
