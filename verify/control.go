package verify

import (
	"slices"

	"ptoc/ir"
	"ptoc/runtime/interp"
	"ptoc/verify/term"
)

// Control flow of the executor, and the table of what it does with each op.

func (r *run) block(fr *frame, b *ir.Block) {
	for _, op := range b.Ops {
		r.op(fr, op)
	}
}

func (r *run) op(fr *frame, op *ir.Op) {
	r.step(1)
	switch op.Kind {
	case ir.For:
		r.loop(fr, op)
	case ir.While:
		r.while(fr, op)
	case ir.If:
		r.branch(fr, op)
	case ir.Yield, ir.Cond:
	case ir.Return:
		for _, v := range op.Vals("values") {
			fr.rets = append(fr.rets, r.get(fr, v))
		}
	case ir.Call:
		r.call(fr, op)
	case ir.Fused:
		r.fused(fr, op)
	case ir.CommDomain:
		r.commDomain(fr, op)
	case ir.Load:
		r.loadOp(fr, op, "tensor")
	case ir.RemoteLoad:
		r.loadOp(fr, op, "target")
	case ir.Store:
		r.storeOp(fr, op, "tensor")
	case ir.RemoteStore:
		r.storeOp(fr, op, "target")
	case ir.Put:
		r.copyOp(fr, op, "dst")
	case ir.Get:
		r.copyOp(fr, op, "src")
	case ir.Read:
		r.readOp(fr, op)
	case ir.Write:
		r.writeOp(fr, op)
	case ir.Slice:
		r.sliceOp(fr, op)
	case ir.Fence:
		r.record(fr.rk, &action{kind: actFence, op: op})
	default:
		r.other(fr, op)
	}
	r.keepStorage(fr, op)
}

// keepStorage gives tiles the storage that their types say: fillpad extends them to it.
func (r *run) keepStorage(fr *frame, op *ir.Op) {
	for _, v := range op.Results {
		t, ok := v.Type.(*ir.Tile)
		if !ok || t.Cap == nil || fr.vals[v.ID].tile == nil {
			continue
		}
		x := *fr.vals[v.ID].tile
		x.cap = make([]int64, len(t.Cap))
		for i, d := range t.Cap {
			n, err := d.Eval(fr.env())
			if err != nil {
				r.abandon(op.Span, "%v", err)
			}
			x.cap[i] = n
		}
		fr.vals[v.ID] = value{tile: &x}
	}
}

func (r *run) other(fr *frame, op *ir.Op) {
	res := op.Result()
	switch op.Kind {
	case ir.CreateTensor:
		dims := r.ints(fr, op, "shape")
		dt := op.DTypeAttr("dtype")
		m := r.newMemory(localMemory, res.Name, product(dims)*int64(dt.Size()), op)
		m.shown(dims, int64(dt.Size()))
		if fr.rk != nil {
			m.in = fr.rk.strand
		}
		fr.vals[res.ID] = value{mem: &view{mem: m, device: -1, dims: dims, strides: rowMajor(dims), dt: dt}}
	case ir.AllocWindow, ir.Window, ir.GetCommCtx, ir.Rank, ir.NRanks, ir.WorldSize, ir.Peer:
		r.windowOp(fr, op)
	case ir.Notify:
		r.notify(fr, op)
	case ir.Wait:
		r.wait(fr, op)
	case ir.BlockIdx:
		fr.vals[res.ID] = number(fr.blk)
	case ir.BlockNum:
		fr.vals[res.ID] = number(fr.nblks)
	case ir.ArrayCreate:
		arr := make([]value, op.Int("n"))
		for i := range arr {
			if arr[i] = (value{}); !op.DTypeAttr("dtype").IsFloat() {
				arr[i] = number(0)
			}
		}
		fr.vals[res.ID] = value{arr: arr}
	case ir.ArrayGet:
		arr := r.get(fr, op.Val("array")).arr
		fr.vals[res.ID] = arr[r.arrayIndex(fr, op, arr)]
	case ir.ArraySet:
		arr := append([]value(nil), r.get(fr, op.Val("array")).arr...)
		arr[r.arrayIndex(fr, op, arr)] = r.get(fr, op.Val("value"))
		fr.vals[res.ID] = value{arr: arr}
	default:
		r.generic(fr, op)
	}
}

// generic are the ops that work on tiles and scalars alike, and reshapes of memory.
func (r *run) generic(fr *frame, op *ir.Op) {
	switch {
	case op.Kind.Composite && fr.rk == nil:
		r.enqueueCollective(fr, op)
	case op.Kind.Composite:
		r.collective(fr.rk, fr, op)
	case op.Kind == ir.Reshape && r.get(fr, op.Val("x")).mem != nil:
		w := *r.get(fr, op.Val("x")).mem
		w.dims = r.ints(fr, op, "shape")
		w.strides = rowMajor(w.dims)
		fr.vals[op.Result().ID] = value{mem: &w}
	case op.Result() != nil && isScalar(op.Result().Type):
		r.scalarOp(fr, op)
	default:
		r.tileOp(fr, op)
	}
}

func isScalar(t ir.Type) bool {
	_, ok := t.(*ir.Scalar)
	return ok
}

func (r *run) arrayIndex(fr *frame, op *ir.Op, arr []value) int64 {
	i := r.need(fr, op, op.Val("index"), "an array index")
	if i < 0 || i >= int64(len(arr)) {
		r.abandon(op.Span, "an array index out of range")
	}
	return i
}

// move hands values on to block arguments or results, all at once.
func (r *run) move(fr *frame, from, to []*ir.Value) {
	vals := make([]value, len(from))
	for i, v := range from {
		vals[i] = r.get(fr, v)
	}
	for i, v := range to {
		if i < len(vals) {
			fr.vals[v.ID] = vals[i]
		}
	}
}

func (r *run) region(fr *frame, b *ir.Block, into []*ir.Value) {
	r.block(fr, b)
	if t := b.Terminator(); t != nil && t.Kind == ir.Yield {
		r.move(fr, t.Vals("values"), into)
	}
}

func (r *run) loop(fr *frame, op *ir.Op) {
	body := op.Regions[0]
	lo := r.need(fr, op, op.Val("start"), "the start of a loop")
	hi := r.need(fr, op, op.Val("stop"), "the trip count of a loop")
	by := r.need(fr, op, op.Val("step"), "the step of a loop")
	if by == 0 {
		r.abandon(op.Span, "a loop with step 0")
	}
	r.move(fr, op.Vals("init_values"), body.Args[1:])
	spmd := op.Enum("kind").Is("spmd")
	blk, nblks := fr.blk, fr.nblks
	n := interp.Trips(lo, hi, by)
	if spmd {
		fr.blk, fr.nblks = -1, int64(n)
	}
	blocks := r.fork(fr, op, n)
	for k := range n {
		r.step(1)
		if spmd {
			fr.blk++
		}
		blocks.enter(fr.rk, op, int64(k))
		fr.vals[body.Args[0].ID] = number(lo + int64(k)*by)
		r.region(fr, body, body.Args[1:])
	}
	r.leave(blocks, fr.rk, op)
	fr.blk, fr.nblks = blk, nblks
	r.move(fr, body.Args[1:], op.Results)
}

func (r *run) while(fr *frame, op *ir.Op) {
	body := op.Regions[0]
	r.move(fr, op.Vals("init_values"), body.Args)
	for {
		r.step(1)
		leave := false
		for _, o := range body.Ops {
			if o.Kind == ir.Cond {
				leave = r.need(fr, o, o.Val("cond"), "the condition of a loop") == 0
				if leave {
					break
				}
				continue
			}
			r.op(fr, o)
		}
		if leave {
			break
		}
		if t := body.Terminator(); t != nil {
			r.move(fr, t.Vals("values"), body.Args)
		}
	}
	r.move(fr, body.Args, op.Results)
}

func (r *run) branch(fr *frame, op *ir.Op) {
	c := r.get(fr, op.Val("cond"))
	if !c.known && !ir_effects(op) {
		r.both(fr, op, c)
		return
	}
	if r.need(fr, op, op.Val("cond"), "a branch") != 0 {
		r.region(fr, op.Regions[0], op.Results)
	} else if len(op.Regions) > 1 {
		r.region(fr, op.Regions[1], op.Results)
	}
}

// ir_effects reports whether a branch does anything but compute.
func ir_effects(op *ir.Op) bool {
	for _, b := range op.Regions {
		for _, o := range b.Ops {
			if !o.Kind.Terminator && !ir.IsPure(o) {
				return true
			}
		}
	}
	return false
}

// both takes both sides of a branch that only computes, and chooses element by element.
func (r *run) both(fr *frame, op *ir.Op, c value) {
	if len(op.Regions) < 2 || len(op.Results) == 0 {
		return
	}
	r.region(fr, op.Regions[0], op.Results)
	then := make([]value, len(op.Results))
	for i, v := range op.Results {
		then[i] = fr.vals[v.ID]
	}
	r.region(fr, op.Regions[1], op.Results)
	for i, v := range op.Results {
		fr.vals[v.ID] = r.choose(op, c, then[i], fr.vals[v.ID], ir.DTypeOf(v.Type))
	}
}

func (r *run) choose(op *ir.Op, c, a, b value, dt ir.DType) value {
	if a.tile == nil {
		return r.scalar(r.space.Apply("sel", c.t, r.term(a), r.term(b)), dt, op)
	}
	if b.tile == nil || !slices.Equal(a.tile.dims, b.tile.dims) {
		r.abandon(op.Span, "the extent of a tile depends on data")
	}
	x, y := a.tile.data, b.tile.data
	data := r.lazy(product(a.tile.dims), func(i int64) term.T { return r.space.Apply("sel", c.t, x.at(i), y.at(i)) })
	return value{tile: &tile{dims: a.tile.dims, cap: a.tile.cap, data: data}}
}

// call runs a function in place, or, with device=, gives it to a rank.
func (r *run) call(fr *frame, op *ir.Op) {
	f := op.Callee()
	args := make([]value, len(op.Vals("args")))
	for i, v := range op.Vals("args") {
		args[i] = r.get(fr, v)
	}
	r.distinct(op, f, args)
	if d := op.Val("device"); d != nil {
		r.enqueue(fr, op, f, args, r.need(fr, op, d, "a device"))
		return
	}
	inner := r.frame(f, args, fr.syms, fr.rk)
	inner.golden, inner.blk, inner.nblks, inner.counts = fr.golden, fr.blk, fr.nblks, fr.counts
	if fr.rk != nil {
		fr.rk.path = &place{op, fr.rk.path}
	}
	r.block(inner, f.Body)
	if fr.rk != nil {
		fr.rk.path = fr.rk.path.up
	}
	var rets []value
	for _, v := range inner.rets {
		if v.mem == nil {
			rets = append(rets, v) // memory is bound to the arguments already
		}
	}
	for i, res := range op.Results {
		if i < len(rets) {
			fr.vals[res.ID] = rets[i]
		}
	}
}
