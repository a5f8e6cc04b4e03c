package ptx

import (
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/abi"
	"ptoc/codegen/lower"
	"ptoc/codegen/target"
	"ptoc/ir"
	"ptoc/ir/prove"
)

// nest is one elementwise loop nest over shape, spread over the threads: all elementwise work is emitted
// through it. Dims over which every operand runs on without a gap are merged, so that most nests are one
// loop, whose neighbouring elements are neighbouring threads'.
type nest struct {
	op     *ir.Op
	shape  []ir.Dim
	ins    []*memory // an extent of 1 broadcasts
	outs   []*memory
	atomic bool                           // add to outs
	index  bool                           // body wants the column
	body   func(ins []val, col val) []val // nil: a copy
	from   []int                          // with a body: which of ins each of outs is, unchanged, or -1; nil: none
}

// moves: elements are copied as they are in memory, and nothing is computed.
func (n *nest) moves() bool {
	for k := range n.outs {
		if n.moved(k) < 0 {
			return false
		}
	}
	return true
}

// moved is which of ins output k is bit by bit, or -1.
func (n *nest) moved(k int) int {
	j := k
	if n.body != nil {
		if j = -1; n.from != nil {
			j = n.from[k]
		}
	}
	if j < 0 || n.atomic || n.ins[j].dt != n.outs[k].dt {
		return -1
	}
	return j
}

// results are an element's.
func (n *nest) results(ins []val, col val) []val {
	if n.body == nil {
		return ins
	}
	return n.body(ins, col)
}

func (n *nest) operands() []*memory { return append(append([]*memory(nil), n.ins...), n.outs...) }

func (n *nest) axes() lower.Axes {
	var ls []lower.Layout
	for _, m := range n.operands() {
		ls = append(ls, m.Layout)
	}
	return lower.Nest(n.shape, ls, n.index)
}

// spread emits a nest. All elements that a thread reads are read before it writes, and operands either do
// not overlap or coincide.
func (e *fn) spread(n *nest) {
	a := n.axes()
	read := n.ins
	if n.atomic {
		read = n.operands()
	}
	e.touch(read, n.outs)
	total := e.dim(ir.Product(a.Extents))
	start := i64(0)
	if lanes := n.lanes(a); lanes > 1 {
		vectors := e.vectors(n, a, total, lanes)
		start = e.mul(vectors, i64(lanes))
	}
	e.loop("each", e.add(start, e.tid), total, i64(Threads), func(i val) { e.one(n, a, i) })
	e.endSpread(n)
}

// endSpread ends the kernel if an element went wrong.
func (e *fn) endSpread(n *nest) {
	if !mayFault(n.op) {
		return
	}
	bad := e.anyThread(e.b.NewZExt(e.load(types.I1, e.faulted, 1), types.I32))
	wrong, ok := e.label("fault"), e.label("ok")
	e.b.NewCondBr(bad, wrong, ok)
	wrong.NewRet(nil)
	e.at(ok)
}

// mayFault: the body divides or shifts integers.
func mayFault(op *ir.Op) bool {
	if op == nil || op.Kind != ir.Fused {
		return false
	}
	found := false
	op.Regions[0].Walk(func(in *ir.Op) {
		switch in.Kind {
		case ir.FloorDivide, ir.Modulo, ir.ShiftLeft, ir.ShiftRight:
			found = true
		}
	})
	return found
}

// one emits the element of linear index i.
func (e *fn) one(n *nest, a lower.Axes, i val) {
	coords := e.coordinates(a, i)
	addr := func(k int, m *memory) val { return e.addressAt(a, coords, k, m) }
	ins, raw := make([]val, len(n.ins)), make([]val, len(n.ins))
	for k, m := range n.ins {
		raw[k] = e.load(memType(m.dt), addr(k, m), int64(m.dt.Size()))
		ins[k] = e.fromMemory(raw[k], m.dt)
	}
	for k, x := range n.results(ins, coords[len(coords)-1]) {
		m := n.outs[k]
		p := addr(len(n.ins)+k, m)
		if n.atomic {
			e.atomicAdd(x, p, m.dt)
		} else {
			e.store(e.bitsFor(n, k, raw, x), p, int64(m.dt.Size()))
		}
	}
}

// elementOf is the address of operand k's element of linear index i.
func (e *fn) elementOf(n *nest, a lower.Axes, k int, i val) val {
	return e.addressAt(a, e.coordinates(a, i), k, n.operands()[k])
}

func (e *fn) addressAt(a lower.Axes, coords []val, k int, m *memory) val {
	off := i64(0)
	for x, c := range coords {
		off = e.add(off, e.mul(c, e.dim(a.Strides[x][k])))
	}
	return e.byteAt(m, e.mul(off, i64(int64(m.dt.Size()))))
}

// coordinates splits a linear index.
func (e *fn) coordinates(a lower.Axes, i val) []val {
	out := make([]val, len(a.Extents))
	for x := len(out) - 1; x > 0; x-- {
		d := e.dim(a.Extents[x])
		out[x] = e.b.NewURem(i, d)
		i = e.b.NewUDiv(i, d)
	}
	out[0] = i
	return out
}

// lanes is how many neighbouring elements a thread takes at once: 16 bytes of the widest operand. 1 where the
// elements do not run on, or where rows with gaps between them are no whole vectors.
func (n *nest) lanes(a lower.Axes) int64 {
	if n.atomic || n.index || n.op == nil {
		return 1
	}
	last := len(a.Extents) - 1
	widest := 1
	for k, m := range n.operands() {
		if s := a.Strides[last][k]; s.Is(1) {
			widest = max(widest, m.dt.Size())
		} else if !s.Is(0) || k >= len(n.ins) {
			return 1
		}
	}
	lanes := 16 / int64(widest)
	row, ok := a.Extents[last].Const()
	if ok && row < lanes || last > 0 && (!ok || row%lanes != 0) {
		return 1
	}
	return lanes
}

// vectors emits the loop over whole vectors and returns how many there are: none if an operand is not
// aligned, which only the running kernel knows.
func (e *fn) vectors(n *nest, a lower.Axes, total val, lanes int64) val {
	last := len(a.Extents) - 1
	wide := func(k int) bool { return a.Strides[last][k].Is(1) }
	count := e.sel(e.isZero(e.odd(n, a, lanes)), e.div(total, lanes), i64(0))
	rows := lower.Axes{Extents: append([]ir.Dim(nil), a.Extents...), Strides: a.Strides}
	rows.Extents[last] = a.Extents[last].Div(ir.ConstDim(lanes))
	place := func(i val) func(k int) val { // of operands, in vector i
		first := e.coordinates(rows, i)
		first[last] = e.mul(first[last], i64(lanes))
		return func(k int) val { return e.addressAt(a, first, k, n.operands()[k]) }
	}
	if wide(0) && e.asynchronous(n, lanes) {
		e.loop("vector", e.tid, count, i64(Threads), func(i val) {
			at := place(i)
			e.copyAsync(at(0), at(1))
		})
		e.commit(n.ins[0], n.outs[0])
		return count
	}
	vector := func(i val) (store func()) { return e.vector(n, lanes, wide, place(i)) }
	next := e.tid
	if n.moves() && n.ins[0].root != arenaRoot {
		next = e.inFlight(total, count, lanes, vector)
	}
	e.loop("vector", next, count, i64(Threads), func(i val) { vector(i)() })
	return count
}

// inFlight are the turns of a copy out of global memory that load several vectors before they store the first: a
// thread stops at the first use of what it loads, and one vector of each thread is too little to keep memory busy.
// It returns where the loop over the rest begins.
func (e *fn) inFlight(total, count val, lanes int64, vector func(i val) (store func())) val {
	const depth = 4
	if n, ok := intOf(total); ok && n/lanes < depth*Threads {
		return e.tid
	}
	return e.loop("batch", e.tid, e.sub(count, i64((depth-1)*Threads)), i64(depth*Threads), func(i val) {
		var stores [depth]func()
		for k := range stores {
			stores[k] = vector(e.add(i, i64(int64(k)*Threads)))
		}
		for _, store := range stores {
			store()
		}
	})
}

// odd is 0 if all vectors are aligned.
func (e *fn) odd(n *nest, a lower.Axes, lanes int64) val {
	last := len(a.Extents) - 1
	var all val
	low := func(x val, size int64) {
		x = e.b.NewAnd(x, i64(lanes*size-1))
		if all != nil {
			x = e.b.NewOr(all, x)
		}
		all = x
	}
	for k, m := range n.operands() {
		if !a.Strides[last][k].Is(1) {
			continue
		}
		size := int64(m.dt.Size())
		low(e.b.NewPtrToInt(m.ptr, types.I64), size)
		for _, s := range a.Strides[:last] {
			if !prove.MultipleOf(s[k], lanes) {
				low(e.mul(e.dim(s[k]), i64(size)), size)
			}
		}
	}
	return all
}

// vector loads one vector and computes; of operands that are not wide there is one element for all of it. Nothing is
// written before store is called.
func (e *fn) vector(n *nest, lanes int64, wide func(k int) bool, place func(k int) val) (store func()) {
	loaded := make([]val, len(n.ins))
	for k, m := range n.ins {
		if wide(k) {
			loaded[k] = e.load(types.NewVector(uint64(lanes), memType(m.dt)), place(k), lanes*int64(m.dt.Size()))
		} else {
			loaded[k] = e.load(memType(m.dt), place(k), int64(m.dt.Size()))
		}
	}
	results := e.lanes(n, lanes, wide, loaded)
	places := make([]val, len(n.outs))
	for k := range places {
		places[k] = place(len(n.ins) + k)
	}
	return func() {
		for k, m := range n.outs {
			e.store(results[k], places[k], lanes*int64(m.dt.Size()))
		}
	}
}

// lanes computes the elements of vectors.
func (e *fn) lanes(n *nest, lanes int64, wide func(k int) bool, loaded []val) []val {
	results := make([]val, len(n.outs))
	for k, m := range n.outs {
		results[k] = constant.NewUndef(types.NewVector(uint64(lanes), memType(m.dt)))
		if j := n.moved(k); j >= 0 && wide(j) {
			results[k] = loaded[j]
		} else if j >= 0 {
			for l := range lanes {
				results[k] = e.b.NewInsertElement(results[k], loaded[j], i32(l))
			}
		}
	}
	if n.moves() {
		return results
	}
	single := make([]val, len(n.ins))
	for k, m := range n.ins {
		if !wide(k) {
			single[k] = e.fromMemory(loaded[k], m.dt)
		}
	}
	for l := range lanes {
		ins := slices.Clone(single)
		for k, m := range n.ins {
			if wide(k) {
				ins[k] = e.fromMemory(e.b.NewExtractElement(loaded[k], i32(l)), m.dt)
			}
		}
		for k, x := range n.results(ins, nil) {
			if n.moved(k) < 0 {
				results[k] = e.b.NewInsertElement(results[k], e.toMemory(x, n.outs[k].dt), i32(l))
			}
		}
	}
	return results
}

// fused emits pl.fused.
func (e *fn) fused(op *ir.Op) {
	region := op.Regions[0]
	n := &nest{op: op, shape: ir.DimsOf(op.Vals("shape"))}
	if op.Arg("cap").Given() {
		e.checkExtents(op, n.shape, ir.DimsOf(op.Vals("cap")))
	}
	for _, v := range op.Vals("ins") {
		n.ins = append(n.ins, e.operand(v))
	}
	for _, v := range op.Vals("outs") {
		n.outs = append(n.outs, e.data(v))
	}
	values := op.Regions[0].Terminator().Vals("values")[:len(n.outs):len(n.outs)]
	for i, v := range op.Results {
		switch {
		case e.Fragments[v]:
			e.fill(v, target.Fills(op, i))
			continue
		case e.Rows[v]:
			n.outs = append(n.outs, e.operand(v))
		default:
			n.outs = append(n.outs, e.declareTile(v))
		}
		values = append(values, op.Regions[0].Terminator().Vals("values")[len(op.Vals("outs"))+i])
	}
	if len(n.outs) == 0 {
		return
	}
	if mayFault(op) {
		e.b.NewStore(bit(false), e.faulted)
	}
	e.inElement = true
	n.body = func(ins []val, _ val) []val { return e.computed(region, ins, values, n.outs) }
	for _, v := range values {
		n.from = append(n.from, slices.Index(region.Args, v))
	}
	if e.inRegs(op) {
		e.fusedRegs(op, n)
	} else {
		e.spread(n)
	}
	e.inElement = false
}

// computed are the values that a fused loop writes to outs, of one element.
func (e *fn) computed(region *ir.Block, ins []val, values []*ir.Value, outs []*memory) (out []val) {
	for i, x := range ins {
		e.vals[region.Args[i]] = x
	}
	for _, in := range region.Ops {
		if !in.Kind.Terminator {
			e.scalarOp(in)
		}
	}
	for k, v := range values {
		out = append(out, e.scalarAs(v, outs[k].dt))
	}
	return out
}

// operand is a tile or tensor as memory; one in registers has none.
func (e *fn) operand(v *ir.Value) *memory {
	if e.Rows[v] {
		return &memory{Layout: lower.Layout{Dims: ir.ShapeOf(v.Type)}, dt: ir.DTypeOf(v.Type)}
	}
	return e.data(v)
}

// fault reports a bad operand of a scalar op: of one element, or of the whole block.
func (e *fn) fault(op *ir.Op, bad val, code abi.Code, operands ...val) {
	for i, x := range operands {
		operands[i] = e.widen(x)
	}
	if e.inElement {
		e.checkElement(op, bad, code, operands...)
	} else {
		e.check(op, bad, code, operands...)
	}
}

func (e *fn) widen(x val) val {
	if t, ok := x.Type().(*types.IntType); ok && t.BitSize < 64 {
		return e.b.NewSExt(x, types.I64)
	}
	return x
}

// loadElem, storeElem move an element between memory and a scalar; fromMemory and toMemory convert.
func (e *fn) loadElem(p val, dt ir.DType) val {
	return e.fromMemory(e.load(memType(dt), p, int64(dt.Size())), dt)
}

func (e *fn) storeElem(x, p val, dt ir.DType) { e.store(e.toMemory(x, dt), p, int64(dt.Size())) }

func (e *fn) fromMemory(x val, dt ir.DType) val {
	switch dt {
	case ir.BOOL:
		return e.icmp(enum.IPredNE, x, constant.NewInt(types.I8, 0))
	case ir.FP16:
		return e.b.NewFPExt(x, types.Float)
	case ir.BF16:
		return e.b.NewBitCast(e.b.NewShl(e.b.NewZExt(x, types.I32), i32(16)), types.Float)
	}
	return x
}

func (e *fn) toMemory(x val, dt ir.DType) val {
	switch dt {
	case ir.BOOL:
		return e.b.NewZExt(x, types.I8)
	case ir.FP16:
		return e.b.NewFPTrunc(x, types.Half)
	case ir.BF16:
		return e.pure(types.I16, "cvt.rn.bf16.f32 $0, $1;", "=h,f", x)
	}
	return x
}
