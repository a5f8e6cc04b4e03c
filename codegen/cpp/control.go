package cpp

import (
	"ptoc/codegen/lower"
	"ptoc/ir"
	"ptoc/ir/prove"
)

// block prints the ops of a block up to its terminator.
func (e *fn) block(b *ir.Block) {
	for _, op := range b.Ops {
		if op.Kind.Terminator {
			return
		}
		e.op(op)
	}
}

// op prints one op.
func (e *fn) op(op *ir.Op) {
	e.comment(op)
	print, ok := printers[op.Kind]
	if !ok {
		lower.Fail(op.Span, "%s is not available in C++ kernels", op.Kind.Name)
	}
	print(e, op)
}

func (e *fn) relabel(op *ir.Op) {
	_, tile := op.Result().Type.(*ir.Tile)
	switch {
	case op.Kind == ir.Slice && tile:
		e.sliceTile(op)
	case op.Kind == ir.Slice:
		e.slice(op)
	default:
		e.reshape(op)
	}
}

// forLoop prints a counting loop. The counter of a step other than 1 is kept from passing the end of
// the integers by counting trips.
func (e *fn) forLoop(op *ir.Op) {
	body := op.Regions[0]
	e.carryIn(op, body.Args[1:])
	start, stop := e.bareDimOf(op.Val("start")), e.bareDimOf(op.Val("stop"))
	e.push()
	e.loops = append(e.loops, op)
	i := e.name(body.Args[0])
	switch step, ok := op.Val("step").ConstInt(); {
	case ok && step == 1:
		e.w.open("for (i64 %s = %s; %s < %s; ++%s) {", i, start, i, stop, i)
	case ok && e.stepsSafely(op, step):
		e.w.open("for (i64 %s = %s; %s < %s; %s += %d) {", i, start, i, stop, i, step)
	default:
		e.tripLoop(op, i, start, stop)
	}
	if !e.short(op) {
		e.poll(op)
	}
	e.remember(body.Args[0])
	e.block(body)
	e.carryOn(op, body)
	e.w.close("}")
	e.loops = e.loops[:len(e.loops)-1]
	e.pop()
	e.carryOut(op, body.Args[1:])
}

// stepsSafely reports whether a counter cannot pass the largest integer: it meets stop exactly, or stop is
// no more than some tensor's extent.
func (e *fn) stepsSafely(op *ir.Op, step int64) bool {
	start, stop := ir.DimOf(op.Val("start")), ir.DimOf(op.Val("stop"))
	if step <= 0 || step > 1<<32 {
		return false
	}
	if prove.MultipleOf(stop.Sub(start), step) || e.nonneg(ir.ConstDim(1<<40).Sub(stop)) {
		return true
	}
	for _, s := range stop.Syms() {
		if e.nonneg(ir.SymDim(s).Sub(stop)) {
			return true
		}
	}
	return false
}

func (e *fn) tripLoop(op *ir.Op, i, start, stop string) {
	step := e.bareDimOf(op.Val("step"))
	if n, ok := op.Val("step").ConstInt(); !ok || n == 0 {
		s := e.scalarAs(op.Val("step"), ir.INDEX)
		e.w.line("if (%s == 0) return ptoc_fail(ctx, PTOC_BAD_VALUE, %d, 0, 1, 0x7fffffffffffffffLL);", s, e.site(op))
	}
	trips := e.fresh(i + "_left")
	e.w.open("for (u64 %s = %s(%s, %s, %s), %s_at = %s; %s != 0; --%s, %s_at += %s) {", trips, e.g.use("ptoc_trips"), start, stop, step,
		trips, start, trips, trips, trips, step)
	e.w.line("i64 %s = (i64)%s_at;", i, trips)
}

func (e *fn) bareDimOf(v *ir.Value) string {
	if v.Const != nil {
		return e.bareDim(v.Const.Dim)
	}
	return e.scalarAs(v, ir.INDEX)
}

func (e *fn) poll(loop *ir.Op) {
	e.w.line("if (i32 status = ptoc_poll(ctx, %d)) return status;", e.site(loop))
}

// short reports whether a loop ends soon whatever happens: few trips, no loop or wait inside.
func (e *fn) short(op *ir.Op) bool {
	a, ok1 := op.Val("start").ConstInt()
	b, ok2 := op.Val("stop").ConstInt()
	if !ok1 || !ok2 || b-a > 1024 || a-b > 1024 {
		return false
	}
	ok := true
	op.Regions[0].Walk(func(in *ir.Op) {
		ok = ok && in.Kind != ir.For && in.Kind != ir.While && in.Kind != ir.Wait && in.Kind != ir.Call
	})
	return ok
}

func (e *fn) whileLoop(op *ir.Op) {
	body := op.Regions[0]
	e.carryIn(op, body.Args)
	e.push()
	e.w.open("for (;;) {")
	e.poll(op)
	e.block(body)
	e.carryOn(op, body)
	e.w.close("}")
	e.pop()
	e.carryOut(op, body.Args)
}

// carryIn declares what a loop carries, with its initial values.
func (e *fn) carryIn(op *ir.Op, args []*ir.Value) {
	for i, init := range op.Vals("init_values") {
		e.bind(args[i], init)
	}
}

// carryOn gives the carried variables the yielded values, all at the same time.
func (e *fn) carryOn(op *ir.Op, body *ir.Block) {
	args := body.Args
	if op.Kind == ir.For {
		args = args[1:]
	}
	if t := body.Terminator(); t != nil {
		e.assign(args, t.Vals("values"))
	}
}

// carryOut makes a loop's results: the carried variables, which nothing changes any more.
func (e *fn) carryOut(op *ir.Op, args []*ir.Value) {
	for i, r := range op.Results {
		e.alias(r, args[i])
	}
}

// alias lets r use v's variable.
func (e *fn) alias(r, v *ir.Value) {
	e.names[r] = e.name(v)
	if m, ok := e.mems[v]; ok {
		e.mems[r] = m
	}
}

// bind declares v with the value of init.
func (e *fn) bind(v, init *ir.Value) {
	switch t := v.Type.(type) {
	case *ir.Scalar:
		e.w.line("%s %s = %s;", regType(t.DType), e.name(v), e.scalarAs(init, t.DType))
	case *ir.Array:
		e.w.line("%s %s = %s;", e.arrayType(t), e.name(v), e.name(init))
	case *ir.Tile:
		if e.regs[v] {
			e.declareRegs(v)
			e.moveRegs(v, init)
			return
		}
		m := e.tile(v)
		e.w.line("%s* %s = (%s*)(arena + %s);", memType(m.dt), m.ptr, memType(m.dt), e.dim(e.arena[v]))
		if !e.sameBuffer(v, init) {
			e.moveTile(m, e.tile(init))
		}
	default:
		lower.Fail(e.f.Span, "%s: a loop cannot carry %s", e.f.Name, v.Type)
	}
}

func (e *fn) sameBuffer(a, b *ir.Value) bool { return e.arena[a].Equal(e.arena[b]) }

// assign gives vars the values from, all at the same time.
func (e *fn) assign(vars, from []*ir.Value) {
	var moved []*ir.Value // tiles whose old content another one needs
	pos := map[*ir.Value]int{}
	for i, v := range vars {
		pos[v] = i
	}
	type late struct{ dst, src string }
	var lates []late
	for i, v := range vars {
		x := from[i]
		if x == v {
			continue
		}
		switch t := v.Type.(type) {
		case *ir.Tile:
			moved = append(moved, v)
		case *ir.Array:
			n := e.fresh("next")
			e.w.line("%s %s = %s;", e.arrayType(t), n, e.name(x))
			lates = append(lates, late{e.name(v), n})
		default:
			src := e.scalarAs(x, ir.DTypeOf(v.Type))
			if j, ok := pos[x]; ok && j < i { // overwritten above
				n := e.fresh("next")
				e.w.line("%s %s = %s;", regType(ir.DTypeOf(v.Type)), n, src)
				src = n
			}
			lates = append(lates, late{e.name(v), src})
		}
	}
	// Copies of variables come first, so that nothing above was changed yet.
	for _, l := range lates {
		e.w.line("%s = %s;", l.dst, l.src)
	}
	e.assignTiles(moved, vars, from)
}

// assignTiles copies tiles; those of one size that depend on each other's old content element by element.
func (e *fn) assignTiles(moved, vars, from []*ir.Value) {
	src := map[*ir.Value]*ir.Value{}
	for i, v := range vars {
		src[v] = from[i]
	}
	var plain, tangled []*ir.Value
	for _, v := range moved {
		if e.regs[v] {
			plain = append(plain, v)
			continue
		}
		if e.sameBuffer(v, src[v]) {
			continue
		}
		hit := false
		for _, u := range moved {
			hit = hit || u != v && !e.regs[u] && (e.sameBuffer(u, src[v]) || e.sameBuffer(v, src[u]))
		}
		if hit {
			tangled = append(tangled, v)
		} else {
			plain = append(plain, v)
		}
	}
	for len(tangled) > 0 {
		n := &nest{shape: []ir.Dim{ir.Product(ir.ShapeOf(tangled[0].Type))}}
		var rest []*ir.Value
		for _, v := range tangled {
			if flat := e.flat(v); flat.Dims[0].Equal(n.shape[0]) {
				n.outs = append(n.outs, flat)
				n.ins = append(n.ins, e.flat(src[v]))
			} else {
				rest = append(rest, v)
			}
		}
		n.body = func(ins []string) []string { return ins }
		e.nest(n)
		tangled = rest
	}
	for _, v := range plain {
		if e.regs[v] {
			e.moveRegs(v, src[v])
		} else {
			e.moveTile(e.tile(v), e.tile(src[v]))
		}
	}
}

// flat is a tile as one dimension.
func (e *fn) flat(v *ir.Value) *memory {
	m := e.tile(v)
	return &memory{Layout: lower.RowMajor([]ir.Dim{ir.Product(m.Dims)}), ptr: m.ptr, dt: m.dt}
}

// ifElse prints a branch; its results are variables that both arms assign.
func (e *fn) ifElse(op *ir.Op) {
	for _, r := range op.Results {
		switch t := r.Type.(type) {
		case *ir.Scalar:
			e.w.line("%s %s;", regType(t.DType), e.name(r))
		case *ir.Array:
			e.w.line("%s %s;", e.arrayType(t), e.name(r))
		case *ir.Tile:
			m := e.tile(r)
			e.w.line("%s* %s = (%s*)(arena + %s);", memType(m.dt), m.ptr, memType(m.dt), e.dim(e.arena[r]))
		}
	}
	e.w.open("if (%s) {", e.scalar(op.Val("cond")))
	e.arm(op, op.Regions[0])
	if len(op.Regions) > 1 && (len(op.Regions[1].Ops) > 1 || len(op.Results) > 0 || len(op.Regions[1].Ops) == 1 && !op.Regions[1].Ops[0].Kind.Terminator) {
		e.w.reopen("} else {")
		e.arm(op, op.Regions[1])
	}
	e.w.close("}")
	e.line = -1
	for _, r := range op.Results {
		e.remember(r)
	}
}

func (e *fn) arm(op *ir.Op, b *ir.Block) {
	e.push()
	e.block(b)
	if t := b.Terminator(); t != nil {
		e.assign(op.Results, t.Vals("values"))
	}
	e.pop()
}
