package sim

import (
	"ptoc/ir"
	"ptoc/runtime/interp"
)

// Elementwise code runs over chunks that fit the cache: each scalar of the body is a register that
// holds one chunk. A single op on tiles is a body of one op.

const chunk = 512

// reg is one register; only the slice of its kind is used.
type reg struct {
	f []float64
	i []int64
}

// body is a compiled elementwise body.
type body struct {
	c     *interp.Compiler
	regs  map[*ir.Value]int
	types []ir.DType // by register
	fixed []fixed    // registers that hold one value throughout
	steps []func(regs []reg, n int)
}

type fixed struct {
	reg int
	get func(*interp.Frame) interp.Value
}

func newBody(c *interp.Compiler) *body { return &body{c: c, regs: map[*ir.Value]int{}} }

// add makes a register for v.
func (b *body) add(v *ir.Value) int {
	b.types = append(b.types, ir.DTypeOf(v.Type))
	b.regs[v] = len(b.types) - 1
	return len(b.types) - 1
}

// use is v's register. A value from outside of the body is the same for all elements.
func (b *body) use(v *ir.Value) int {
	if r, ok := b.regs[v]; ok {
		return r
	}
	r := b.add(v)
	b.fixed = append(b.fixed, fixed{r, b.c.Get(v)})
	return r
}

// asFloat is the register of v, converted if it holds integers.
func (b *body) asFloat(v *ir.Value) int {
	x := b.use(v)
	if b.types[x].IsFloat() {
		return x
	}
	b.types = append(b.types, ir.FP32)
	to := len(b.types) - 1
	b.steps = append(b.steps, func(regs []reg, n int) {
		for k, i := range regs[x].i[:n] {
			regs[to].f[k] = float64(i)
		}
	})
	return to
}

// op compiles one op of the body into a step.
func (b *body) op(op *ir.Op) {
	res := op.Result()
	dt := ir.DTypeOf(res.Type)
	switch op.Kind {
	case ir.Cmp:
		b.compare(op)
		return
	case ir.Select:
		b.choose(op, dt)
		return
	case ir.Cast:
		b.cast(op, dt)
		return
	}
	args := op.Operands()
	if op.Kind == ir.Expand {
		args = args[:1]
	}
	switch {
	case dt.IsFloat() && len(args) == 2:
		x, y := b.asFloat(args[0]), b.asFloat(args[1])
		f, to := floatBinary(op.Kind.Scalar), b.add(res)
		b.float(to, dt, func(regs []reg, n int) { f(regs[to].f[:n], regs[x].f, regs[y].f) })
	case dt.IsFloat():
		x := b.asFloat(args[0])
		f, to := floatUnary(op.Kind.Scalar), b.add(res)
		b.float(to, dt, func(regs []reg, n int) { f(regs[to].f[:n], regs[x].f) })
	case len(args) == 2:
		x, y := b.use(args[0]), b.use(args[1])
		f, to := intBinary(op, dt), b.add(res)
		b.steps = append(b.steps, func(regs []reg, n int) { f(regs[to].i[:n], regs[x].i, regs[y].i) })
	default:
		x, f := b.use(args[0]), interp.IntUnary[op.Kind.Scalar]
		to := b.add(res)
		b.steps = append(b.steps, func(regs []reg, n int) {
			for k, v := range regs[x].i[:n] {
				regs[to].i[k] = f(v)
			}
			wrap(dt, regs[to].i[:n])
		})
	}
}

// float adds a step that computes floats, and rounds them.
func (b *body) float(to int, dt ir.DType, step func([]reg, int)) {
	b.steps = append(b.steps, step)
	if !b.c.Exact {
		b.steps = append(b.steps, func(regs []reg, n int) { round(dt, regs[to].f[:n]) })
	}
}

func (b *body) compare(op *ir.Op) {
	lhs, rhs := op.Val("lhs"), op.Val("rhs")
	which := op.Enum("cmp_type").Value
	if ir.DTypeOf(lhs.Type).IsFloat() || ir.DTypeOf(rhs.Type).IsFloat() {
		x, y, f := b.asFloat(lhs), b.asFloat(rhs), interp.CompareFloats[which]
		to := b.add(op.Result())
		b.steps = append(b.steps, func(regs []reg, n int) {
			for k := range n {
				regs[to].i[k] = boolInt(f(regs[x].f[k], regs[y].f[k]))
			}
		})
		return
	}
	x, y, f := b.use(lhs), b.use(rhs), interp.CompareInts[which]
	to := b.add(op.Result())
	b.steps = append(b.steps, func(regs []reg, n int) {
		for k := range n {
			regs[to].i[k] = boolInt(f(regs[x].i[k], regs[y].i[k]))
		}
	})
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (b *body) choose(op *ir.Op, dt ir.DType) {
	mask := b.use(op.Val("mask"))
	if dt.IsFloat() {
		x, y := b.asFloat(op.Val("lhs")), b.asFloat(op.Val("rhs"))
		to := b.add(op.Result())
		b.float(to, dt, func(regs []reg, n int) {
			for k, m := range regs[mask].i[:n] {
				regs[to].f[k] = regs[y].f[k]
				if m != 0 {
					regs[to].f[k] = regs[x].f[k]
				}
			}
		})
		return
	}
	x, y := b.use(op.Val("lhs")), b.use(op.Val("rhs"))
	to := b.add(op.Result())
	b.steps = append(b.steps, func(regs []reg, n int) {
		for k, m := range regs[mask].i[:n] {
			regs[to].i[k] = regs[y].i[k]
			if m != 0 {
				regs[to].i[k] = regs[x].i[k]
			}
		}
		wrap(dt, regs[to].i[:n])
	})
}

func (b *body) cast(op *ir.Op, dt ir.DType) {
	v := op.Val("x")
	switch {
	case dt.IsFloat():
		x := b.asFloat(v)
		to := b.add(op.Result())
		b.float(to, dt, func(regs []reg, n int) { copy(regs[to].f[:n], regs[x].f) })
	case ir.DTypeOf(v.Type).IsFloat():
		x, mode := b.use(v), op.Enum("mode").Value
		to := b.add(op.Result())
		b.steps = append(b.steps, func(regs []reg, n int) {
			for k, f := range regs[x].f[:n] {
				regs[to].i[k] = interp.FloatToInt(dt, f, mode)
			}
		})
	default:
		x := b.use(v)
		to := b.add(op.Result())
		b.steps = append(b.steps, func(regs []reg, n int) {
			for k, i := range regs[x].i[:n] {
				regs[to].i[k] = interp.WrapInt(dt, i)
			}
		})
	}
}

// run computes outs (registers) for ins (tiles of the full size, for the registers given).
func (b *body) run(fr *interp.Frame, ins []*tile, inRegs []int, outs []int, results []*tile) {
	regs := make([]reg, len(b.types))
	for r, dt := range b.types {
		if dt.IsFloat() {
			regs[r].f = make([]float64, chunk)
		} else {
			regs[r].i = make([]int64, chunk)
		}
	}
	for _, x := range b.fixed {
		v := x.get(fr)
		fillReg(regs[x.reg], v)
	}
	if len(results) == 0 {
		return
	}
	total := int(results[0].len())
	for base := 0; base < total; base += chunk {
		n := min(chunk, total-base)
		for k, t := range ins {
			if t.dt.IsFloat() {
				regs[inRegs[k]].f = t.f[base : base+n]
			} else {
				regs[inRegs[k]].i = t.i[base : base+n]
			}
		}
		for _, s := range b.steps {
			s(regs, n)
		}
		for k, r := range outs {
			copy(results[k].f[min(base, len(results[k].f)):], regs[r].f[:min(n, len(regs[r].f))])
			copy(results[k].i[min(base, len(results[k].i)):], regs[r].i[:min(n, len(regs[r].i))])
		}
	}
}

func fillReg(r reg, v interp.Value) {
	for k := range r.f {
		r.f[k] = v.F
	}
	for k := range r.i {
		r.i[k] = v.I
	}
}

// elementwise compiles an op on tiles (and scalars); on scalars alone it is interp's.
func elementwise(c *interp.Compiler, op *ir.Op) interp.Step {
	out, ok := op.Result().Type.(*ir.Tile)
	if !ok {
		return c.Scalar(op)
	}
	args := op.Operands()
	if op.Kind == ir.Expand {
		args = op.Vals("x")
	}
	b := newBody(c)
	var tiles []*ir.Value
	var regs []int
	for _, v := range args {
		if _, ok := v.Type.(*ir.Tile); !ok {
			continue
		}
		if _, seen := b.regs[v]; !seen {
			tiles, regs = append(tiles, v), append(regs, b.add(v))
		}
	}
	b.op(op)
	to, res := op.Result().ID, []int{b.regs[op.Result()]}
	shapeOf := func(ins []*tile, fr *interp.Frame) []int64 { return joinShapes(ins) }
	if op.Kind == ir.Expand {
		get := c.Ints(op.Vals("shape"))
		shapeOf = func(_ []*tile, fr *interp.Frame) []int64 { return get(fr) }
	}
	return func(fr *interp.Frame) {
		ins := make([]*tile, len(tiles))
		for k, v := range tiles {
			ins[k] = fr.Vals[v.ID].P.(*tile)
		}
		shape := shapeOf(ins, fr)
		for k := range ins {
			ins[k] = ins[k].stretched(shape)
		}
		result := newTile(out.DType, shape)
		b.run(fr, ins, regs, res, []*tile{result})
		fr.Vals[to].P = result
	}
}

// joinShapes broadcasts; deduction has checked that the shapes fit.
func joinShapes(ts []*tile) []int64 {
	var out []int64
	for _, t := range ts {
		n := max(len(out), len(t.shape))
		next := make([]int64, n)
		for d := range next {
			next[d] = 1
			if k := d - (n - len(out)); k >= 0 {
				next[d] = out[k]
			}
			if k := d - (n - len(t.shape)); k >= 0 && next[d] == 1 {
				next[d] = t.shape[k]
			}
		}
		out = next
	}
	return out
}
