package passes

import (
	"ptoc/ir"
	"ptoc/lang/diag"
)

// Rules of simplify about loops.

const (
	maxUnroll      = 1024    // iterations of one pl.unroll
	maxUnrolledOps = 1 << 18 // ops that nested pl.unrolls may make of one function
)

// shortLoop writes out pl.unroll loops and loops that run once or never.
func (s *simplifier) shortLoop(op *ir.Op, out *ir.Block, depth int32) bool {
	kind := op.Enum("kind")
	if kind.Is("spmd") {
		return false // its blocks have numbers
	}
	n, known := trips(op)
	if kind.Is("unroll") {
		if !s.mayUnroll(op, n, known) {
			return false
		}
	} else if !known || n > 1 {
		return false
	}
	carried := op.Vals("init_values")
	if n == 1 { // the body itself, not a copy
		args := op.Regions[0].Args
		s.by[args[0]] = s.counter(op, 0, out)
		for j, v := range carried {
			s.by[args[j+1]] = v
		}
		s.bind(op.Results, s.inlineBlock(op.Regions[0].Ops, out, depth))
		return true
	}
	for i := int64(0); i < n; i++ {
		carried = s.iteration(op, i, carried, out, depth)
	}
	s.bind(op.Results, carried)
	return true
}

// trips is how often a loop runs, if that is known.
func trips(op *ir.Op) (int64, bool) {
	step, ok := op.Val("step").ConstInt()
	if !ok || step == 0 {
		return 0, false
	}
	span, ok := smallDim(op.Val("stop")).Sub(smallDim(op.Val("start"))).Const()
	if !ok {
		return 0, false
	}
	if step < 0 {
		span, step = -span, -step
	}
	if span <= 0 {
		return 0, true
	}
	return (span-1)/step + 1, true
}

func (s *simplifier) mayUnroll(op *ir.Op, n int64, known bool) bool {
	switch {
	case !known && s.f.Kind == ir.Inline:
		return false // its caller may know
	case !known:
		s.c.Diags.Errorf(diag.LoopBound, op.Span, "pl.unroll needs constant bounds").
			Help("use pl.range")
		return false
	case n > maxUnroll:
		s.c.Diags.Errorf(diag.LoopBound, op.Span, "pl.unroll repeats its body %d times; at most %d are allowed", n, maxUnroll).
			Help("use pl.range")
		return false
	}
	size := 0
	op.Regions[0].Walk(func(*ir.Op) { size++ })
	if s.copies += size * int(n); s.copies > maxUnrolledOps {
		s.c.Diags.Errorf(diag.LoopBound, op.Span, "the pl.unroll loops of %s would write out more than %d ops", s.f.Name, maxUnrolledOps).
			Help("use pl.range for one of them")
		return false
	}
	return true
}

// counter is the value of the induction variable in iteration i.
func (s *simplifier) counter(op *ir.Op, i int64, out *ir.Block) *ir.Value {
	step, _ := op.Val("step").ConstInt()
	b := ir.NewBuilder(s.f, out).At(op.Span)
	start, err := b.Cast(op.Val("start"), ir.INDEX)
	if err != nil {
		panic(err) // a loop's bounds are integers
	}
	if i == 0 {
		return start
	}
	v, err := b.Binary(ir.Add, start, ir.Index(i*step))
	if err != nil {
		panic(err)
	}
	return v
}

// iteration appends a copy of the body and returns what it carries on.
func (s *simplifier) iteration(op *ir.Op, i int64, carried []*ir.Value, out *ir.Block, depth int32) []*ir.Value {
	args := op.Regions[0].Args
	c := ir.NewCloner(s.f)
	c.Map(args[0], s.counter(op, i, out))
	for j, v := range carried {
		c.Map(args[j+1], v)
	}
	copied := &ir.Block{}
	c.Ops(op.Regions[0].Ops, copied)
	return s.inlineBlock(copied.Ops, out, depth)
}

// dropInvariantCarried stops carrying values that every iteration hands on unchanged.
func (s *simplifier) dropInvariantCarried(op *ir.Op) {
	inits := op.Vals("init_values")
	end := op.Regions[0].Terminator()
	if op.Kind == ir.Fused || end == nil {
		return
	}
	args := op.Regions[0].Args[len(op.Regions[0].Args)-len(inits):]
	var drop []int
	for i, y := range end.Vals("values") {
		if (y == args[i] || y == inits[i]) && ir.TypesEqual(inits[i].Type, op.Results[i].Type) {
			s.by[args[i]], s.by[op.Results[i]] = inits[i], inits[i]
			drop = append(drop, i)
		}
	}
	if len(drop) > 0 {
		dropCarried(op, drop)
		s.changed = true
	}
}

// dropCarried removes carried values by position: initial value, region argument, yield and result.
func dropCarried(op *ir.Op, drop []int) {
	r := op.Regions[0]
	first := len(r.Args) - len(op.Vals("init_values"))
	yield := r.Terminator()
	for i := len(drop) - 1; i >= 0; i-- {
		k := drop[i]
		op.Set("init_values", without(op.Vals("init_values"), k)...)
		r.Args = without(r.Args, first+k)
		yield.Set("values", without(yield.Vals("values"), k)...)
		op.Results = without(op.Results, k)
	}
	if len(op.Vals("init_values")) == 0 {
		op.Args[op.Kind.ParamIndex("init_values")] = ir.Arg{}
	}
}

func without(vs []*ir.Value, i int) []*ir.Value {
	return append(append(make([]*ir.Value, 0, len(vs)-1), vs[:i]...), vs[i+1:]...)
}

// hoist moves scalar ops of a loop's body that depend on nothing inside it in front of the loop.
func (s *simplifier) hoist(op *ir.Op, out *ir.Block, depth int32) {
	body := op.Regions[0]
	kept := body.Ops[:0]
	for _, inner := range body.Ops {
		if !s.hoistable(inner, depth) {
			kept = append(kept, inner)
			continue
		}
		s.changed = true
		out.Ops = append(out.Ops, inner)
		s.setDepth(inner.Results[0], depth)
	}
	clear(body.Ops[len(kept):])
	body.Ops = kept
}

// hoistable: a scalar op without effects that cannot fail, since the loop may not run at all, and
// whose operands are visible in front of the loop.
func (s *simplifier) hoistable(op *ir.Op, depth int32) bool {
	if len(op.Results) != 1 || len(op.Regions) > 0 || !op.Kind.Pure() || !s.shareable(op) || mayFail(op) {
		return false
	}
	if _, mem := op.Results[0].Type.(*ir.Tensor); mem {
		return false // making a view may fail, and costs nothing
	}
	for _, a := range op.Args {
		for _, v := range a.Vals {
			if v = s.now(v); !v.IsConst() && s.depthOf(v) > depth {
				return false
			}
		}
	}
	return true
}

// mayFail: divisions by zero, shift counts out of range, indices out of bounds.
func mayFail(op *ir.Op) bool {
	switch op.Kind {
	case ir.FloorDivide, ir.Modulo:
		n, ok := op.Val("rhs").ConstInt()
		return !ok || n == 0
	case ir.ShiftLeft, ir.ShiftRight:
		n, ok := op.Val("rhs").ConstInt()
		return !ok || n < 0 || n >= int64(ir.DTypeOf(op.Results[0].Type).Size()*8)
	case ir.ArrayGet:
		_, ok := op.Val("index").ConstInt()
		return !ok
	}
	return false
}
