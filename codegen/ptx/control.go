package ptx

import (
	"slices"

	ll "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/abi"
	"ptoc/codegen/lower"
	"ptoc/ir"
)

// block emits the ops of a block up to its terminator.
func (e *fn) block(b *ir.Block) {
	n := len(b.Ops)
	if b.Terminator() != nil {
		n--
	}
	e.ops(b, 0, n)
}

// ops emits ops from to to of a block.
func (e *fn) ops(b *ir.Block, from, to int) {
	if e.plan != nil {
		e.shared(b, from, to)
		return
	}
	for i, op := range b.Ops[from:to] {
		e.prepare(b.Ops[from+i : to])
		e.op(op)
	}
}

// op emits one op.
func (e *fn) op(op *ir.Op) {
	emit, ok := emitters[op.Kind]
	if !ok {
		lower.Fail(op.Span, "%s is not available in GPU kernels", op.Kind.Name)
	}
	emit(e, op)
}

// forLoop counts trips, so that the counter never passes the end of the integers. Of a loop that is dealt to
// blocks each makes its own trips.
func (e *fn) forLoop(op *ir.Op) {
	body := op.Regions[0]
	first, by := i64(0), i64(1)
	if e.grid.dealt == op {
		first, by = e.grid.block, e.grid.blocks
		e.grid.dealt = nil
	}
	start, stop, step := e.scalarAs(op.Val("start"), ir.INDEX), e.scalarAs(op.Val("stop"), ir.INDEX), e.scalarAs(op.Val("step"), ir.INDEX)
	trips := e.trips(op, start, stop, step)
	phis, tiles := e.carryIn(op, body.Args[1:])
	before, apart := e.beginTurns(body), e.grid.apart.clone()

	head, in, out := e.label("for"), e.label("for_body"), e.label("for_end")
	from := e.b
	e.b.NewBr(head)
	n := head.NewPhi(incoming(first, from))
	e.enter(head, from, phis)
	e.at(head)
	head.NewCondBr(e.icmp(enum.IPredULT, n, trips), in, out)
	e.at(in)
	e.vals[body.Args[0]] = e.add(start, e.mul(n, step))
	e.loops = append(e.loops, op)
	e.block(body)
	e.loops = e.loops[:len(e.loops)-1]
	e.meetAgain(op)
	e.carryOn(body, phis, tiles, before)
	n.Incs = append(n.Incs, incoming(e.b.NewAdd(n, by), e.b))
	e.b.NewBr(head)
	e.at(out)
	e.endTurns(before)
	e.grid.apart.join(apart) // where the loop runs not at all
	e.carryOut(op, body.Args[1:])
}

// trips is how often a loop runs; the difference of two i64 fits an unsigned one.
func (e *fn) trips(op *ir.Op, start, stop, step val) val {
	n, known := intOf(step)
	if !known || n == 0 {
		e.check(op, e.isZero(step), abi.BadValue, i64(0), i64(1), i64(1<<63-1))
		step = e.sel(e.isZero(step), i64(1), step)
	}
	count := func(low, high, by val) val {
		span := e.b.NewSub(high, low)
		if m, ok := intOf(by); !ok || m != 1 {
			span = e.b.NewSub(span, i64(1))
			q := e.b.NewUDiv(span, by)
			return e.sel(e.icmp(enum.IPredSLT, low, high), e.b.NewAdd(q, i64(1)), i64(0))
		}
		return e.sel(e.icmp(enum.IPredSLT, low, high), span, i64(0))
	}
	switch {
	case known && n > 0:
		return count(start, stop, step)
	case known:
		return count(stop, start, i64(-n))
	}
	up := e.icmp(enum.IPredSGT, step, i64(0))
	return e.sel(up, count(start, stop, step), count(stop, start, e.b.NewSub(i64(0), step)))
}

// carried is a scalar that a loop carries, or a piece of a tile in registers.
type carried struct {
	arg   *ir.Value
	piece int // of a tile in registers
	init  val
	phi   *ll.InstPhi
}

// carryIn prepares what a loop carries: scalars become phis, tiles and arrays have places of their own.
func (e *fn) carryIn(op *ir.Op, args []*ir.Value) (phis []*carried, rest []*ir.Value) {
	inits := op.Vals("init_values")
	for i, a := range args {
		if t, ok := a.Type.(*ir.Scalar); ok {
			phis = append(phis, &carried{arg: a, init: e.scalarAs(inits[i], t.DType)})
			continue
		}
		if e.held(a) {
			phis = append(phis, e.carryRegs(a, inits[i])...)
			continue
		}
		rest = append(rest, a)
		e.declareCarried(a)
		e.move([]*ir.Value{a}, []*ir.Value{inits[i]})
	}
	return phis, rest
}

// declareCarried makes the variable of an array; a tile's place is planned.
func (e *fn) declareCarried(v *ir.Value) {
	switch t := v.Type.(type) {
	case *ir.Array:
		e.vals[v] = e.alloca(arrayType(t))
	case *ir.Tile:
		e.data(v)
	default:
		lower.Fail(e.f.Span, "%s: a loop cannot carry %s", e.f.Name, v.Type)
	}
}

func (e *fn) enter(head, from *ll.Block, phis []*carried) {
	for _, c := range phis {
		c.phi = head.NewPhi(incoming(c.init, from))
		if e.held(c.arg) {
			e.regs[c.arg][c.piece] = c.phi
		} else {
			e.vals[c.arg] = c.phi
		}
	}
}

// carryOn hands the yielded values on to the next iteration, all at the same time.
func (e *fn) carryOn(body *ir.Block, phis []*carried, rest []*ir.Value, before order) {
	args := body.Args
	var yields []*ir.Value
	if t := body.Terminator(); t != nil {
		yields = t.Vals("values")
	}
	args = args[len(args)-len(yields):]
	at := map[*ir.Value]*ir.Value{}
	for i, a := range args {
		at[a] = yields[i]
	}
	var next []val
	for _, c := range phis {
		if e.held(c.arg) {
			next = append(next, e.regs[at[c.arg]][c.piece])
		} else {
			next = append(next, e.scalarAs(at[c.arg], ir.DTypeOf(c.arg.Type)))
		}
	}
	var from []*ir.Value
	for _, v := range rest {
		from = append(from, at[v])
	}
	e.move(rest, from)
	e.settleLoop(before)
	for i, c := range phis {
		c.phi.Incs = append(c.phi.Incs, incoming(next[i], e.b))
	}
}

// carryOut makes a loop's results: what it carries, after the last iteration.
func (e *fn) carryOut(op *ir.Op, args []*ir.Value) {
	for i, r := range op.Results {
		if x, ok := e.vals[args[i]]; ok {
			e.vals[r] = x
		}
		if m, ok := e.mems[args[i]]; ok {
			e.mems[r] = m
		}
		e.regs[r] = e.regs[args[i]]
		if e.Fragments[r] && e.Memory(r) {
			e.spill(r)
		}
	}
}

// move gives tiles and arrays new contents, all at the same time.
func (e *fn) move(to, from []*ir.Value) {
	nests := map[string]*nest{}
	var order []*nest
	for i, v := range to {
		x := from[i]
		if v == x {
			continue
		}
		if t, ok := v.Type.(*ir.Array); ok {
			e.b.NewStore(e.b.NewLoad(arrayType(t), e.vals[x]), e.vals[v])
			continue
		}
		a, b := e.data(v), e.data(x)
		if v.Arena != nil && x.Arena != nil && v.Arena.Equal(*x.Arena) {
			continue
		}
		// Tiles of one size in one loop: one may be the other's old content.
		size := ir.Product(a.Dims)
		n := nests[size.String()]
		if n == nil {
			n = &nest{shape: []ir.Dim{size}}
			nests[size.String()] = n
			order = append(order, n)
		}
		n.ins = append(n.ins, flat(b))
		n.outs = append(n.outs, flat(a))
	}
	for _, n := range order {
		e.spread(n)
	}
}

func flat(m *memory) *memory {
	f := *m
	f.Layout = lower.RowMajor([]ir.Dim{ir.Product(m.Dims)})
	return &f
}

// whileLoop asks all threads whether to stop: each looks at the abort word by itself.
func (e *fn) whileLoop(op *ir.Op) {
	body := op.Regions[0]
	phis, rest := e.carryIn(op, body.Args)
	e.settle()
	before := e.beginTurns(body)
	head, out := e.label("while"), e.label("while_end")
	from := e.b
	e.b.NewBr(head)
	e.enter(head, from, phis)
	e.at(head)
	e.poll(op)
	stop := slices.IndexFunc(body.Ops, func(in *ir.Op) bool { return in.Kind == ir.Cond })
	end := len(body.Ops)
	if body.Terminator() != nil {
		end--
	}
	e.ops(body, 0, stop)
	e.settle()
	on := e.label("while_body")
	e.b.NewCondBr(e.scalarAs(body.Ops[stop].Val("cond"), ir.BOOL), on, out)
	left := e.grid.apart.clone()
	e.at(on)
	e.ops(body, stop+1, end)
	e.meetAgain(op)
	e.carryOn(body, phis, rest, before)
	e.b.NewBr(head)
	e.at(out)
	e.endTurns(before)
	e.grid.apart = left
	e.carryOut(op, body.Args)
}

// poll ends the kernel when the abort word is set.
func (e *fn) poll(op *ir.Op) {
	word := e.pointerAt(e.ctx, abi.Offset[abi.GPUCtx]("Abort"))
	x := e.asm(types.I32, "ld.relaxed.sys.global.u32 $0, [$1];", "=r,l", word)
	e.check(op, e.anyThread(x), abi.Aborted)
}

// branch emits pl.if; both arms leave their results in the same places.
func (e *fn) branch(op *ir.Op) {
	for _, r := range op.Results {
		if _, ok := r.Type.(*ir.Scalar); !ok {
			e.declareCarried(r)
		}
	}
	then, els, out := e.label("then"), e.label("else"), e.label("if_end")
	e.b.NewCondBr(e.scalarAs(op.Val("cond"), ir.BOOL), then, els)
	before, apart := e.order, e.grid.apart
	var after order
	met := meeting{hazards{}, hazards{}}
	var phis []*ll.InstPhi
	for i, start := range []*ll.Block{then, els} {
		e.at(start)
		e.kernel.order, e.grid.apart = before.clone(), apart.clone()
		var values []val
		if i < len(op.Regions) {
			values = e.arm(op, op.Regions[i])
		}
		for k, x := range values {
			if i == 0 {
				phis = append(phis, out.NewPhi(incoming(x, e.b)))
			} else {
				phis[k].Incs = append(phis[k].Incs, incoming(x, e.b))
			}
		}
		if i == 0 {
			after = e.order
		} else {
			after.join(e.order)
		}
		met.join(e.grid.apart)
		e.b.NewBr(out)
	}
	e.at(out)
	e.kernel.order, e.grid.apart = after, met
	for _, r := range op.Results {
		if _, ok := r.Type.(*ir.Scalar); ok {
			e.vals[r] = phis[0]
			phis = phis[1:]
		}
	}
}

// arm emits one region of a branch and returns its scalar results.
func (e *fn) arm(op *ir.Op, b *ir.Block) []val {
	e.block(b)
	t := b.Terminator()
	if t == nil {
		return nil
	}
	var out []val
	var to, from []*ir.Value
	for i, r := range op.Results {
		v := t.Vals("values")[i]
		if s, ok := r.Type.(*ir.Scalar); ok {
			out = append(out, e.scalarAs(v, s.DType))
		} else {
			to, from = append(to, r), append(from, v)
		}
	}
	e.move(to, from)
	return out
}

// call expands the callee in place; its scratch lies behind ours.
func (e *fn) call(op *ir.Op) {
	callee, args := op.Callee(), op.Vals("args")
	bind, syms := lower.Bind(op)
	in := newFn(e.kernel, callee, e.base)
	if e.f.Arena != nil {
		in.base = e.add(e.base, e.dim(e.end))
	}
	for i, p := range callee.Params() {
		switch t := p.Type.(type) {
		case *ir.Tensor:
			m := e.data(args[i])
			m.NeedContiguous(op, callee.Name+" parameter "+p.Name)
			e.agree(op, bind, t.Dims, m.Dims)
			in.mems[p] = &memory{ptr: m.ptr, dom: m.dom, Layout: lower.RowMajor(t.Dims), dt: m.dt, root: m.root, lo: m.lo, hi: m.hi}
		case *ir.Scalar:
			in.vals[p] = e.scalarAs(args[i], t.DType)
		}
	}
	for i, s := range callee.DimSyms() {
		in.syms[s] = e.dim(syms[i])
	}
	in.around = e.blockAround()
	e.distinct(op)
	if e.plan != nil {
		outer := e.outer
		if e.f.Arena != nil {
			outer = e.add(outer, e.dim(*e.f.Arena))
		}
		in.share(e.g.planOf(callee), outer)
	}
	in.block(callee.Body)
}

// agree checks extents that could not be compared before.
func (e *fn) agree(op *ir.Op, bind ir.DimBinding, want, got []ir.Dim) {
	for i := range want {
		if w := want[i].Subst(bind.Subst); !w.Equal(got[i]) {
			a, b := e.dim(got[i]), e.dim(w)
			e.check(op, e.icmp(enum.IPredNE, a, b), abi.Shape, i64(int64(i)), a, b)
		}
	}
}

// blockOf is the position in the enclosing pl.spmd.
func (e *fn) blockOf(op *ir.Op) {
	x := e.blockAround()
	e.vals[op.Result()] = map[*ir.Kind]val{ir.BlockIdx: x.index, ir.BlockNum: x.of}[op.Kind]
}

// blockAround is the block of the innermost pl.spmd: the caller's, if this function has none around.
func (e *fn) blockAround() spmdBlock {
	if l := lower.SpmdLoop(e.loops); l != nil {
		return spmdBlock{e.scalarAs(l.Regions[0].Args[0], ir.INDEX), e.scalarAs(l.Val("stop"), ir.INDEX)}
	}
	return e.around
}

func arrayType(t *ir.Array) types.Type { return types.NewArray(uint64(t.N), regType(t.DType)) }

// array emits the ops on small arrays: every thread has its own copy in local memory.
func (e *fn) array(op *ir.Op) {
	v := op.Result()
	if op.Kind == ir.ArrayCreate {
		t := v.Type.(*ir.Array)
		e.vals[v] = e.alloca(arrayType(t))
		e.b.NewStore(constant.NewZeroInitializer(arrayType(t)), e.vals[v])
		return
	}
	a := op.Val("array")
	t := a.Type.(*ir.Array)
	i := e.scalarAs(op.Val("index"), ir.INDEX)
	if n, ok := intOf(i); !ok || n < 0 || n >= t.N {
		e.check(op, e.icmp(enum.IPredUGE, i, i64(t.N)), abi.LocalBounds, i64(0), i, i64(1), i64(t.N))
	}
	place := func(arr val) val { return e.b.NewGetElementPtr(arrayType(t), arr, i64(0), i) }
	if op.Kind == ir.ArrayGet {
		e.vals[v] = e.b.NewLoad(regType(t.DType), place(e.vals[a]))
		return
	}
	e.vals[v] = e.alloca(arrayType(t))
	e.b.NewStore(e.b.NewLoad(arrayType(t), e.vals[a]), e.vals[v])
	e.b.NewStore(e.scalarAs(op.Val("value"), t.DType), place(e.vals[v]))
}
