package ptx

import (
	"math"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/lower"
	"ptoc/ir"
)

// reduction is a reduction over the middle axis of [outer, n, inner]. FP16 and BF16 accumulate in FP32.
type reduction struct {
	kind            *ir.Kind
	x, out          *memory
	outer, n, inner val
}

func (e *fn) reduce(op *ir.Op) {
	x := e.data(op.Val("x"))
	k := op.Axis("axis", len(x.Dims))
	outer, inner := ir.Product(x.Dims[:k]), ir.Product(x.Dims[k+1:])
	r := &reduction{kind: op.Kind, x: x, out: e.declareTile(op.Result()), outer: e.dim(outer), n: e.dim(x.Dims[k]), inner: e.dim(inner)}
	e.touch([]*memory{r.x}, []*memory{r.out})
	rows, few := outer.Const()
	switch {
	case !inner.Is(1):
		e.reduceColumns(r)
	case few && rows > 0 && rows < Threads/32:
		e.loop("row", i64(0), r.outer, i64(1), func(row val) { e.reduceByBlock(r, row) })
	default:
		e.reduceByWarps(r)
	}
}

// reduceColumns gives each thread its own elements of the result.
func (e *fn) reduceColumns(r *reduction) {
	e.loop("column", e.tid, e.mul(r.outer, r.inner), i64(Threads), func(i val) {
		o, c := e.b.NewUDiv(i, r.inner), e.b.NewURem(i, r.inner)
		first := e.add(e.mul(e.mul(o, r.n), r.inner), c)
		acc := e.accumulate("sum", i64(0), r.n, i64(1), r.first(), func(j, acc val) val {
			return e.step(r, acc, e.item(r.x, e.add(first, e.mul(j, r.inner))))
		})
		e.put(r.out, i, acc)
	})
}

// reduceByWarps gives each warp rows of its own.
func (e *fn) reduceByWarps(r *reduction) {
	warp, lane := e.b.NewLShr(e.tid, i64(5)), e.b.NewAnd(e.tid, i64(31))
	e.loop("row", warp, r.outer, i64(Threads/32), func(row val) {
		acc := e.warpSum(r, e.partial(r, row, lane, 32))
		e.when("lead", e.isZero(lane), func() { e.put(r.out, row, acc) })
	})
}

// reduceByBlock reduces one row with all threads: each its part, then the warps, then one thread over the
// warps.
func (e *fn) reduceByBlock(r *reduction, row val) {
	s := e.scratch()
	e.note(hazards{s.at(): reads | writes})
	size := int64(r.x.dt.Size())
	if r.x.dt.IsFloat() {
		size = 4
	}
	place := func(i val) val { return e.offset(s.ptr, e.mul(i, i64(size))) }
	acc := e.warpSum(r, e.partial(r, row, e.tid, Threads))
	e.settle() // nobody reads the scratch of the row before
	e.when("lead", e.isZero(e.b.NewAnd(e.tid, i64(31))), func() { e.store(acc, place(e.b.NewLShr(e.tid, i64(5))), size) })
	e.barrier()
	e.firstThread(func() {
		sum := e.load(acc.Type(), place(i64(0)), size)
		for w := int64(1); w < Threads/32; w++ {
			sum = e.step(r, sum, e.load(acc.Type(), place(i64(w)), size))
		}
		e.put(r.out, row, sum)
	})
	e.pending.join(hazards{s.at(): reads, r.out.at(): writes})
	e.barrier() // the next row uses the scratch again
}

// partial accumulates every step-th element of a row, from start.
func (e *fn) partial(r *reduction, row, start val, step int64) val {
	first := e.mul(row, r.n)
	return e.accumulate("sum", start, r.n, i64(step), r.first(), func(j, acc val) val {
		return e.step(r, acc, e.item(r.x, e.add(first, j)))
	})
}

func (e *fn) item(m *memory, i val) val {
	return e.loadElem(e.byteAt(m, e.mul(i, i64(int64(m.dt.Size())))), m.dt)
}

func (e *fn) put(m *memory, i, x val) {
	e.storeElem(x, e.byteAt(m, e.mul(i, i64(int64(m.dt.Size())))), m.dt)
}

// warpSum combines the lanes of a warp; all of them get the result.
func (e *fn) warpSum(r *reduction, x val) val {
	for lane := int64(16); lane > 0; lane /= 2 {
		x = e.step(r, x, e.shuffle(x, lane))
	}
	return x
}

// shuffle is x of the lane whose number differs in the bits of by.
func (e *fn) shuffle(x val, by int64) val {
	t := x.Type()
	f := e.g.extern("llvm.nvvm.shfl.sync.bfly.i32", types.I32, types.I32, types.I32, types.I32, types.I32)
	word := func(w val) val { return e.b.NewCall(f, i32(-1), w, i32(by), i32(31)) }
	switch {
	case t.Equal(types.Float):
		return e.fromBits(word(e.bitsOf(x)))
	case t.Equal(types.I64):
		low := e.b.NewZExt(word(e.b.NewTrunc(x, types.I32)), types.I64)
		high := e.b.NewZExt(word(e.b.NewTrunc(e.b.NewLShr(x, i64(32)), types.I32)), types.I64)
		return e.b.NewOr(low, e.b.NewShl(high, i64(32)))
	case t.Equal(types.I32):
		return word(x)
	}
	return e.b.NewTrunc(word(e.b.NewSExt(x, types.I32)), t)
}

// first is what a reduction of nothing gives.
func (r *reduction) first() val {
	if r.x.dt.IsFloat() {
		return f32(map[*ir.Kind]float64{ir.Sum: 0, ir.Prod: 1, ir.Amax: math.Inf(-1), ir.Amin: math.Inf(1)}[r.kind])
	}
	t := regType(r.x.dt).(*types.IntType)
	least := int64(-1) << (t.BitSize - 1)
	return constant.NewInt(t, map[*ir.Kind]int64{ir.Sum: 0, ir.Prod: 1, ir.Amax: least, ir.Amin: ^least}[r.kind])
}

func (e *fn) step(r *reduction, a, b val) val {
	float := r.x.dt.IsFloat()
	switch {
	case r.kind == ir.Amax, r.kind == ir.Amin:
		return e.extreme(a, b, r.x.dt, r.kind == ir.Amin)
	case r.kind == ir.Sum && float:
		return e.b.NewFAdd(a, b)
	case r.kind == ir.Sum:
		return e.b.NewAdd(a, b)
	case float:
		return e.b.NewFMul(a, b)
	}
	return e.b.NewMul(a, b)
}

// matmul uses tensor cores where it can; else each thread computes elements of the result of its own. Sums
// are FP32 (integers: INT32). What it adds to, and the result, may be fragments in registers.
func (e *fn) matmul(op *ir.Op) {
	a, b, result := e.data(op.Val("lhs")), e.data(op.Val("rhs")), op.Result()
	dt := ir.DTypeOf(result.Type)
	read, written := []*memory{a, b}, []*memory(nil)
	var made []val
	start := func(val) val { return nil }
	if op.Kind == ir.MatMulAcc {
		if acc := op.Val("acc"); e.Fragments[acc] {
			start = func(val) val { return e.regs[acc][len(made)] }
		} else {
			m := e.data(acc)
			read = append(read, m)
			start = func(i val) val { return e.item(m, i) }
		}
	}
	leave := func(i, x val) {}
	if !e.Fragments[result] {
		out := e.declareTile(result)
		written = append(written, out)
		leave = func(i, x val) { e.put(out, i, x) }
	}
	e.touch(read, written)
	finish := func(i, sum val) {
		x := e.addStart(sum, start(i), a.dt.IsFloat(), dt)
		leave(i, x)
		made = append(made, x)
	}
	p := e.onTensorCores(op, a, b)
	switch {
	case e.Fragments[result] || op.Kind == ir.MatMulAcc && e.Fragments[op.Val("acc")]:
		e.heldProduct(op, p, a, b, finish)
		e.regs[result] = made
	case p != nil:
		e.mma(p, finish)
	default:
		e.plainProduct(lower.ProductOf(op), a, b, finish)
	}
}

// plainProduct spreads the elements of a product over the threads.
func (e *fn) plainProduct(p lower.Product, a, b *memory, finish func(i, sum val)) {
	rows, cols, batch, inner := e.dim(p.Rows), e.dim(p.Cols), e.dim(p.Batch), e.dim(p.Inner)
	as, bs := e.dims(p.A[:]), e.dims(p.B[:])
	size := e.mul(rows, cols)
	e.loop("product", e.tid, e.mul(batch, size), i64(Threads), func(i val) {
		z, rest := e.b.NewUDiv(i, size), e.b.NewURem(i, size)
		y, x := e.b.NewUDiv(rest, cols), e.b.NewURem(rest, cols)
		pa := e.add(e.mul(z, e.mul(rows, inner)), e.mul(y, as[0]))
		pb := e.add(e.mul(z, e.mul(inner, cols)), e.mul(x, bs[1]))
		finish(i, e.accumulate("dot", i64(0), inner, i64(1), e.zeroSum(a.dt), func(k, s val) val {
			u := e.item(a, e.add(pa, e.mul(k, as[1])))
			v := e.item(b, e.add(pb, e.mul(k, bs[0])))
			return e.multiplyAdd(a.dt, u, v, s)
		}))
	})
}

// addStart adds what matmul_acc starts from, if there is anything; the sum is rounded once.
func (e *fn) addStart(sum, start val, float bool, dt ir.DType) val {
	from := ir.INT32
	if float {
		from = ir.FP32
	}
	if start == nil {
		return e.convert(sum, from, dt)
	}
	if !dt.IsFloat() {
		return e.b.NewAdd(e.convert(sum, from, dt), start)
	}
	return e.round(e.b.NewFAdd(e.convert(sum, from, ir.FP32), start), dt)
}
