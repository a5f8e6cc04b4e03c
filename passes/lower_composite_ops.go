package passes

import (
	"fmt"

	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
)

// lowerCompositeOps turns collectives inside kernels into library code.
//
// Before:                                        After:
//
//	pld.tensor.barrier(signal)                     ctx = pld.system.get_comm_ctx(signal)
//	                                               me = pld.system.rank(ctx)
//	                                               n = pld.system.nranks(ctx)
//	                                               if n > 1:
//	                                                   for i in pl.range(1, n): notify(...)
//	                                                   for i in pl.range(1, n): wait(...)
//	                                                   for i in pl.range(1, n): notify(...)
//
// Each becomes a call of the template in stdlib/collectives that implements it, instantiated for its
// element type and reduction, and the call is inlined. Targets of any rank are flattened by a view.
// What was chosen for each allreduce goes to Context.Choices. Afterwards chip and incore functions
// contain no composite op and no library function is left in the module. Idempotent.
func lowerCompositeOps(m *ir.Module, c *Context) {
	l := &composites{m: m, c: c}
	for _, f := range append([]*ir.Func(nil), m.Funcs...) {
		if f.Kind == ir.Chip || f.Kind == ir.InCore {
			l.function(f)
		}
	}
	if l.calls {
		inlineFunctions(m, c) // gives the library's ops the place of the collective: reports must name that
	}
}

type composites struct {
	m     *ir.Module
	c     *Context
	lib   *check.Library // made when the first collective is met
	calls bool
}

// template names library code: its memory and scalar arguments, and its compile-time parameters.
type template struct {
	name   string
	args   []*ir.Value
	consts map[string]any
}

func (l *composites) function(f *ir.Func) {
	bad := map[*ir.Op]bool{}
	forEachOp(f, func(b *ir.Block, i int) bool {
		op := b.Ops[i]
		if !op.Kind.Composite || bad[op] {
			return false
		}
		if !l.check(op) {
			bad[op] = true
			return false
		}
		b.Ops = append(b.Ops[:i:i], b.Ops[i+1:]...)
		l.call(ir.Before(f, b, i).At(op.Span), op)
		return true
	})
}

// check reports what deduction could not see.
func (l *composites) check(op *ir.Op) bool {
	d, before := l.c.Diags, l.c.Diags.Len()
	signal := op.Val("signal")
	if signal == nil {
		d.Errorf(diag.SignalMissing, op.Span, "%s needs a signal inside a kernel", op.Kind.Name).
			Help("pass a window of [ranks, 1] INT32 cells; only a host function can do without")
		return false
	}
	if n := op.Int("core_num"); n > 1 {
		d.Errorf(diag.CoreNum, op.Span, "%s core_num must be 1 inside a kernel, got %d", op.Kind.Name, n).
			Help("core_num= is for collectives of a host function")
	}
	if n := len(ir.ShapeOf(signal.Type)); n != 1 && n != 2 || n == 1 && op.Str("mode") == "ring" {
		d.Errorf(diag.SignalShape, op.Span, "%s signal must have shape %s, got %s", op.Kind.Name, signalShape(op), signal.Type)
	}
	seen := map[*ir.Value]string{}
	for i, p := range op.Kind.Params {
		if p.Kind != ir.PMem && p.Kind != ir.PWindow || !op.Args[i].Given() {
			continue
		}
		v := op.Args[i].Vals[0]
		if !contiguous(v) {
			d.Errorf(diag.CollectiveStrided, op.Span, "%s %s must be contiguous, got a strided view", op.Kind.Name, p.Name).
				Note(v.Def.Span, "the view is made here").
				Help("copy it into a window of its own")
		}
		root, _ := ir.Root(v)
		if seen[root] != "" {
			d.Errorf(diag.CollectiveAliased, op.Span, "%s %s and %s must be different window allocations", op.Kind.Name, seen[root], p.Name)
		}
		seen[root] = p.Name
	}
	return d.Len() == before
}

func signalShape(op *ir.Op) string {
	if op.Str("mode") == "ring" {
		return "[2 * (ranks - 1), ranks]"
	}
	return "[ranks, 1]"
}

// call emits the call of op's template.
func (l *composites) call(b *ir.Builder, op *ir.Op) {
	t := l.template(b, op)
	f, err := l.instantiate(t)
	if err != nil {
		panic(fmt.Sprintf("%s: stdlib %s: %v", op.Span, t.name, err))
	}
	if _, err := b.Call(f, t.args...); err != nil {
		panic(fmt.Sprintf("%s: stdlib %s: %v", op.Span, t.name, err))
	}
	l.calls = true
}

// template picks the library code for op and makes its arguments.
func (l *composites) template(b *ir.Builder, op *ir.Op) template {
	signal := op.Val("signal")
	if dims := ir.ShapeOf(signal.Type); len(dims) == 1 {
		signal = flatten(b, signal, dims[0], ir.ConstDim(1))
	}
	row := func(v *ir.Value) *ir.Value { return flatten(b, v, ir.ConstDim(1), ir.Product(ir.ShapeOf(v.Type))) }
	switch op.Kind {
	case ir.AllReduce:
		return l.allreduce(op, row(op.Val("target")), signal)
	case ir.Barrier:
		return template{"barrier", []*ir.Value{signal}, nil}
	case ir.Broadcast_:
		return template{"broadcast", []*ir.Value{row(op.Val("target")), signal, ir.Index(op.Int("root"))}, nil}
	case ir.AllGather:
		return template{"allgather", []*ir.Value{row(op.Val("local_data")), op.Val("target"), signal}, nil}
	case ir.ReduceScatter:
		return template{"reduce_scatter", []*ir.Value{op.Val("target"), signal}, map[string]any{"op": op.Enum("op")}}
	case ir.AllToAll:
		return template{"all_to_all", []*ir.Value{op.Val("input"), op.Val("target"), signal}, nil}
	}
	panic("no library code for " + op.Kind.Name)
}
