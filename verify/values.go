package verify

import (
	"ptoc/ir"
	"ptoc/runtime/interp"
	"ptoc/verify/term"
)

// value is a run-time value of the executor.
type value struct {
	known bool // integers and BOOLs: i is the value; floats are always terms
	i     int64
	t     term.T
	why   *ir.Op // an unknown integer: the op that made it so
	tile  *tile
	mem   *view
	arr   []value
	dom   *domainRef
	buf   *memory
}

// tile is an array of elements; there is no data where only shapes are followed.
type tile struct {
	dims, cap []int64
	data      elems
}

// view is a rectangle of memory of one device.
type view struct {
	mem     *memory
	device  int   // whose copy; -1: whoever looks
	off     int64 // elements
	dims    []int64
	strides []int64
	dt      ir.DType
	through *ir.Op // the pld.window that made it
	dom     *domainRef
}

// domainRef finds a window's domain when a kernel asks: by then all dispatches are known.
type domainRef struct {
	mem *memory
}

func number(i int64) value { return value{known: true, i: i} }

func truth(b bool) value {
	if b {
		return number(1)
	}
	return number(0)
}

// frame is one activation of a function.
type frame struct {
	f          *ir.Func
	vals       []value
	syms       map[string]int64
	rk         *rankState // nil: the host, or a golden function
	blk, nblks int64
	rets       []value
	golden     bool
	counts     map[*ir.Op]int // host: how often an allocation was reached
}

func (r *run) frame(f *ir.Func, args []value, syms map[string]int64, rk *rankState) *frame {
	fr := &frame{f: f, vals: make([]value, r.slotsOf(f)), syms: map[string]int64{}, rk: rk, nblks: 1}
	for k, v := range syms {
		fr.syms[k] = v
	}
	r.bind(fr, args)
	for i, p := range f.Params() {
		fr.vals[p.ID] = args[i]
	}
	return fr
}

func (r *run) slotsOf(f *ir.Func) int {
	if n := r.slots[f]; n > 0 {
		return n
	}
	n := 0
	see := func(vs []*ir.Value) {
		for _, v := range vs {
			n = max(n, v.ID)
		}
	}
	f.Body.Walk(func(op *ir.Op) {
		see(op.Results)
		for _, b := range op.Regions {
			see(b.Args)
		}
	})
	see(f.Params())
	r.slots[f] = n + 1
	return n + 1
}

// bind gives f's symbols the extents of the arguments; what no argument gives keeps the caller's value.
func (r *run) bind(fr *frame, args []value) {
	bound := map[string]bool{}
	for i, p := range fr.f.Params() {
		var got []int64
		switch {
		case args[i].mem != nil:
			got = args[i].mem.dims
		case args[i].tile != nil:
			got = args[i].tile.dims
		}
		for j, want := range ir.ShapeOf(p.Type) {
			if j >= len(got) {
				continue
			}
			for _, s := range want.Syms() {
				if bound[s] {
					continue
				}
				coef, rest, ok := want.Linear(s)
				if !ok {
					continue
				}
				if k, err := rest.Eval(fr.env()); err == nil {
					fr.syms[s], bound[s] = ir.FloorDiv(got[j]-k, coef), true
				}
				break
			}
		}
	}
}

// env gives dims their values: symbols and run-time integers.
func (fr *frame) env() func(ir.Atom) (int64, bool) {
	return func(a ir.Atom) (int64, bool) {
		if a.Op == ir.AtomSym {
			v, ok := fr.syms[a.Sym]
			return v, ok
		}
		v := fr.vals[a.Val.ID]
		return v.i, v.known
	}
}

// get reads any value.
func (r *run) get(fr *frame, v *ir.Value) value {
	if !v.IsConst() {
		return fr.vals[v.ID]
	}
	switch dt := ir.DTypeOf(v.Type); {
	case dt == ir.BOOL:
		return truth(v.Const.B)
	case dt.IsInt():
		n, err := v.Const.Dim.Eval(fr.env())
		if err != nil {
			r.abandon(fr.f.Span, "%v", err)
		}
		return number(n)
	}
	return r.scalar(r.space.Const(v.Const.F), ir.FP32, nil)
}

// need is an integer that the run cannot go on without.
func (r *run) need(fr *frame, op *ir.Op, v *ir.Value, what string) int64 {
	x := r.get(fr, v)
	if !x.known {
		if n, ok := r.given.integer(x); ok {
			return n
		}
		at := op.Span
		if x.why != nil {
			at = x.why.Span
		}
		r.abandon(at, "%s depends on data", what)
	}
	return x.i
}

func (r *run) ints(fr *frame, op *ir.Op, param string) []int64 {
	vs := op.Vals(param)
	out := make([]int64, len(vs))
	for i, v := range vs {
		out[i] = r.need(fr, op, v, "an offset or extent of "+op.Kind.Name)
	}
	return out
}

// term is a scalar as an element.
func (r *run) term(v value) term.T {
	if v.known {
		return r.space.Const(float64(v.i))
	}
	return v.t
}

// scalar makes a value of dtype dt from an element.
func (r *run) scalar(t term.T, dt ir.DType, op *ir.Op) value {
	if !dt.IsFloat() {
		if k, ok := r.space.IsConst(t); ok && r.values {
			return number(int64(k))
		}
		return value{t: t, why: op}
	}
	if k, ok := r.space.IsConst(t); ok {
		// Programs round their constants; a golden function does not, and would differ by no more than that.
		t = r.space.Const(float64(float32(k)))
	}
	return value{t: t}
}

// scalarOp is an elementwise op on scalars.
func (r *run) scalarOp(fr *frame, op *ir.Op) {
	args := op.Operands()
	vals := make([]value, len(args))
	allKnown := true
	for i, v := range args {
		vals[i] = r.get(fr, v)
		allKnown = allKnown && vals[i].known
	}
	fr.vals[op.Result().ID] = r.scalarResult(op, vals, allKnown)
}

// scalarResult is what an elementwise op makes of scalars.
func (r *run) scalarResult(op *ir.Op, vals []value, allKnown bool) value {
	dt := ir.DTypeOf(op.Result().Type)
	if allKnown && !dt.IsFloat() {
		return number(interp.WrapInt(dt, r.integer(op, vals)))
	}
	if op.Kind == ir.Select && vals[0].known {
		return vals[2-min(vals[0].i, 1)]
	}
	ts := make([]term.T, len(vals))
	for i, v := range vals {
		ts[i] = r.term(v)
	}
	out := r.scalar(r.space.Apply(elementOp(op), ts...), dt, op)
	for _, v := range vals {
		if !out.known && v.why != nil {
			out.why = v.why
		}
	}
	if r.given.used && out.why != nil && !dt.IsFloat() {
		// The run holds for the given inputs only by now: what is chosen by them needs no term.
		if n, ok := r.given.integer(out); ok {
			return number(interp.WrapInt(dt, n))
		}
	}
	return out
}

// integer computes an op on known integers.
func (r *run) integer(op *ir.Op, v []value) int64 {
	switch op.Kind {
	case ir.Cmp:
		if interp.CompareInts[op.Enum("cmp_type").Value](v[0].i, v[1].i) {
			return 1
		}
		return 0
	case ir.Select:
		return v[2-min(v[0].i, 1)].i
	case ir.Cast:
		return v[0].i
	}
	name := op.Kind.Scalar
	if len(v) == 1 {
		return interp.IntUnary[name](v[0].i)
	}
	if interp.Divides(name) && v[1].i == 0 {
		r.abandon(op.Span, "a division by zero")
	}
	if interp.Shifts(name) && (v[1].i < 0 || v[1].i > 63) {
		r.abandon(op.Span, "a shift by %d", v[1].i)
	}
	return interp.IntBinary[name](v[0].i, v[1].i)
}

// elementOp is the name of an elementwise op for package term.
func elementOp(op *ir.Op) string {
	switch op.Kind {
	case ir.Cmp:
		return "cmp." + ir.CmpType.Values[op.Enum("cmp_type").Value]
	case ir.Cast:
		to, from := op.DTypeAttr("target_type"), ir.DTypeOf(op.Val("x").Type)
		if from.IsFloat() && !to.IsFloat() {
			if mode := ir.RoundMode.Values[op.Enum("mode").Value]; mode != "none" {
				return mode
			}
			return "trunc"
		}
		return narrowed(to, from)
	}
	return op.Kind.Scalar
}

// narrowed is the op that a cast from one integer type to another is. INT8 keeps the low bits; that a larger integer fits in an
// INT32 is taken for granted (mayOverflow says so), as scalars become wider and INT32 again by and by.
func narrowed(to, from ir.DType) string {
	switch {
	case to.IsFloat() || from.IsFloat() || from == ir.BOOL:
		return "id"
	case to == ir.BOOL:
		return "nonzero"
	case to == ir.INT8 && from != ir.INT8:
		return "wrap.INT8"
	}
	return "id"
}

func product(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

func rowMajor(dims []int64) []int64 {
	s := make([]int64, len(dims))
	n := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		s[i] = n
		n *= dims[i]
	}
	return s
}

// each calls fn with the index of every element of a box in row-major order, as a dot product with
// each of the strides.
func each(dims []int64, strides [][]int64, fn func(at []int64)) {
	if product(dims) == 0 {
		return
	}
	idx := make([]int64, len(dims))
	at := make([]int64, len(strides))
	for {
		fn(at)
		d := len(dims) - 1
		for ; d >= 0; d-- {
			idx[d]++
			for k, s := range strides {
				at[k] += s[d]
			}
			if idx[d] < dims[d] {
				break
			}
			for k, s := range strides {
				at[k] -= s[d] * dims[d]
			}
			idx[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// strided is the element that a position of a box, counted in row-major order, stands for in memory with strides.
func strided(i int64, dims, strides []int64) int64 {
	at := int64(0)
	for d := len(dims) - 1; d >= 0 && i > 0; d-- {
		at += i % dims[d] * strides[d]
		i /= dims[d]
	}
	return at
}
