package passes

import (
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// inlineFunctions puts the bodies of inline functions in place of their calls.
//
//	Before:                                      After:
//	@pl.jit.inline                               @pl.jit.incore
//	def twice(a: pl.Tile[[1, N], pl.FP32]):      def step(x: pl.Tensor[[1, 64], pl.FP32], ...):
//	    b = a + a                                    t = pl.load(x, [0, 0], [1, 64])
//	    return b                                     b = t + t
//	                                                 pl.store(b, [0, 0], x)
//	@pl.jit.incore
//	def step(x: pl.Tensor[[1, 64], pl.FP32], ...):
//	    t = pl.load(x, [0, 0], [1, 64])
//	    u = twice(t)
//	    pl.store(u, [0, 0], x)
//
// Parameters become the arguments (scalars converted to the parameter's type) and the callee's dim
// symbols what the arguments' shapes bind them to; then all types are deduced again. Afterwards there
// is no inline function and no call of one. Idempotent.
func inlineFunctions(m *ir.Module, c *Context) {
	in := &inliner{diags: c.Diags, state: map[*ir.Func]inlineState{}, size: map[*ir.Func]int{}}
	for _, f := range m.Funcs {
		in.fn(f)
	}
	if c.Diags.HasErrors() {
		return
	}
	kept := m.Funcs[:0]
	for _, f := range m.Funcs {
		if f.Kind != ir.Inline {
			kept = append(kept, f)
		}
	}
	clear(m.Funcs[len(kept):])
	m.Funcs = kept
}

type inlineState uint8

const (
	untouched inlineState = iota
	busy                  // being worked on: calling it is recursion
	done
)

// maxInlinedOps is how many ops calls may bring into one function: functions that each call the one before
// twice would otherwise double without an end.
const maxInlinedOps = 1 << 18

type inliner struct {
	diags    *diag.List
	state    map[*ir.Func]inlineState
	size     map[*ir.Func]int // ops of the functions that are done
	overfull bool             // it has been said that a function grows too large
}

// fn inlines everything into f, callees first, so that every body is spliced complete.
func (in *inliner) fn(f *ir.Func) {
	if in.state[f] != untouched {
		return
	}
	in.state[f] = busy
	s := &splicer{in: in, f: f, by: map[*ir.Value]*ir.Value{}}
	s.block(f.Body)
	in.state[f] = done
	f.Body.Walk(func(*ir.Op) { in.size[f]++ })
	if s.calls == 0 || in.overfull {
		return
	}
	f.Replace(s.by)
	if err := ir.Retype(f); err != nil {
		in.mismatch(f, s, err)
	}
}

// mismatch explains why f does not type with the bodies in it.
func (in *inliner) mismatch(f *ir.Func, s *splicer, err error) {
	at, call := f.Span, source.Span{}
	if e, ok := err.(*ir.RetypeError); ok {
		at, call = e.Op.Span, s.from[e.Op]
	}
	d := in.diags.Errorf(diag.InlineMismatch, at, "%v", err)
	if call.IsValid() {
		d.Note(call, "inlined here")
	}
	if e, ok := err.(*ir.RetypeError); ok {
		if t, ok := e.Err.(*ir.TypeError); ok && t.Help != "" {
			d.Help("%s", t.Help)
		}
	}
}

// splicer works on one function.
type splicer struct {
	in    *inliner
	f     *ir.Func
	by    map[*ir.Value]*ir.Value // results of calls -> what the bodies return
	calls int
	ops   int                    // of the inlined bodies
	from  map[*ir.Op]source.Span // ops of inlined bodies -> the call
}

func (s *splicer) block(b *ir.Block) {
	var out []*ir.Op // nil until the first call
	for i, op := range b.Ops {
		for _, r := range op.Regions {
			s.block(r)
		}
		if op.Kind != ir.Call || op.Callee().Kind != ir.Inline {
			if out != nil {
				out = append(out, op)
			}
			continue
		}
		if out == nil {
			out = append(make([]*ir.Op, 0, len(b.Ops)+16), b.Ops[:i]...)
		}
		if s.in.state[op.Callee()] == busy {
			s.in.diags.Errorf(diag.Recursion, op.Span, "inline function %s calls itself", op.Callee().Name).
				Note(op.Callee().Span, "%s is defined here", op.Callee().Name).
				Help("write a loop, or make it a kernel")
			continue
		}
		s.in.fn(op.Callee())
		if !s.mayGrow(op) {
			return
		}
		out = append(out, s.splice(op)...)
	}
	if out != nil {
		b.Ops = out
	}
}

// mayGrow says whether the body of a callee still goes into the function.
func (s *splicer) mayGrow(call *ir.Op) bool {
	if s.ops += s.in.size[call.Callee()]; s.ops > maxInlinedOps && !s.in.overfull {
		s.in.overfull = true
		s.in.diags.Errorf(diag.InlineGrowth, call.Span, "the inline functions that %s calls would write out more than %d ops", s.f.Name, maxInlinedOps).
			Help("store what is computed twice under a name, or use a loop")
	}
	return !s.in.overfull
}

// splice is the body of the callee of call, on call's arguments.
func (s *splicer) splice(call *ir.Op) []*ir.Op {
	callee := call.Callee()
	s.calls++
	body := &ir.Block{}
	b := ir.NewBuilder(s.f, body).At(call.Span)
	cl := ir.NewCloner(s.f)
	bind, err := ir.BindDims(callee, call.Vals("args"))
	if err != nil {
		panic(err) // building the call has checked it
	}
	cl.Dims, cl.Build = bind.Subst, b
	for i, p := range callee.Params() {
		cl.Map(p, s.argument(b, p, call.Vals("args")[i]))
	}
	ops := callee.Body.Ops
	var returned []*ir.Value
	if t := callee.Body.Terminator(); t != nil {
		ops, returned = ops[:len(ops)-1], t.Vals("values")
	}
	cl.Ops(ops, body)
	i := 0
	for _, v := range returned {
		if _, mem := v.Type.(*ir.Tensor); mem {
			continue // the caller goes on with the argument itself
		}
		s.by[call.Results[i]] = cl.Value(v)
		i++
	}
	s.place(body, call, callee.Span.File != s.f.Span.File)
	return body.Ops
}

// argument converts a scalar to its parameter's type, as the call would.
func (s *splicer) argument(b *ir.Builder, p, arg *ir.Value) *ir.Value {
	want, ok := p.Type.(*ir.Scalar)
	if !ok {
		return arg
	}
	v, err := b.Cast(arg, want.DType)
	if err != nil {
		panic(err)
	}
	return v
}

// place notes where inlined ops come from. Ops of a library function get the place of the call: that
// is the line that a user can do something about.
func (s *splicer) place(b *ir.Block, call *ir.Op, library bool) {
	if s.from == nil {
		s.from = map[*ir.Op]source.Span{}
	}
	b.Walk(func(op *ir.Op) {
		s.from[op] = call.Span
		if library {
			op.Span = call.Span
		}
	})
}
