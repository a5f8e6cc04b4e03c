package sim

import (
	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/interp"
)

// fused reads all its inputs, computes, and writes its outputs.
func fused(c *interp.Compiler, op *ir.Op) interp.Step {
	region := op.Regions[0]
	b := newBody(c)
	ins := op.Vals("ins")
	inRegs := make([]int, len(ins))
	for i := range ins {
		inRegs[i] = b.add(region.Args[i])
	}
	for _, inner := range region.Ops {
		switch {
		case inner.Kind.Terminator:
		case inner.Kind.Map == ir.Elementwise && inner.Kind.Scalar != "":
			b.op(inner)
		default:
			interp.Stop(&interp.Unsupported{Op: inner, Func: c.Func()})
		}
	}
	yields := region.Terminator().Vals("values")
	outRegs := make([]int, len(yields))
	for i, y := range yields {
		outRegs[i] = b.use(y)
	}
	shape := c.Ints(op.Vals("shape"))
	if op.Arg("cap").Given() {
		shape = within(op, shape, c.Ints(op.Vals("cap")))
	}
	outs := op.Vals("outs")
	return func(fr *interp.Frame) {
		r, want := rankOf(fr), shape(fr)
		tiles := make([]*tile, len(ins))
		for i, v := range ins {
			if isTile(v) {
				tiles[i] = tileOf(fr, v.ID)
			} else {
				tiles[i] = r.read(op, viewOf(fr, v.ID))
			}
			tiles[i] = tiles[i].stretched(want)
		}
		results := make([]*tile, len(yields))
		for i, y := range yields {
			results[i] = newTile(ir.DTypeOf(y.Type), want)
		}
		b.run(fr, tiles, inRegs, outRegs, results)
		for i, v := range outs {
			dst := viewOf(fr, v.ID)
			if numel(dst.shape) != numel(want) {
				interp.Raise(op, abi.Shape, 0, numel(want), numel(dst.shape))
			}
			r.write(op, dst, results[i])
		}
		for i, res := range op.Results {
			fr.Vals[res.ID].P = results[len(outs)+i]
		}
	}
}

func arrayCreate(_ *interp.Compiler, op *ir.Op) interp.Step {
	to, n, dt := op.Result().ID, op.Int("n"), op.DTypeAttr("dtype")
	return func(fr *interp.Frame) { fr.Vals[to].P = newTile(dt, []int64{n}) }
}

func arrayGet(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to, index := op.Val("array").ID, op.Result().ID, c.Int(op.Val("index"))
	return func(fr *interp.Frame) {
		t := tileOf(fr, from)
		fr.Vals[to] = t.at(elementAt(op, t.shape, []int64{index(fr)}))
	}
}

func arraySet(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to, index := op.Val("array").ID, op.Result().ID, c.Int(op.Val("index"))
	one := scalarTile(c, op.Val("value"), ir.DTypeOf(op.Result().Type))
	return func(fr *interp.Frame) {
		t := tileOf(fr, from)
		at := elementAt(op, t.shape, []int64{index(fr)})
		out := t.gather(t.shape, func(k int64) int64 { return k })
		v := one(fr)
		if out.f != nil {
			out.f[at] = v.f[0]
		} else {
			out.i[at] = v.i[0]
		}
		fr.Vals[to].P = out
	}
}

func blockIdx(_ *interp.Compiler, op *ir.Op) interp.Step {
	to := op.Result().ID
	return func(fr *interp.Frame) { fr.Vals[to].I = fr.Block }
}

func blockNum(_ *interp.Compiler, op *ir.Op) interp.Step {
	to := op.Result().ID
	return func(fr *interp.Frame) { fr.Vals[to].I = fr.Blocks }
}
