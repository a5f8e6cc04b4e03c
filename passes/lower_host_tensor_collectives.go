package passes

import (
	"fmt"
	"slices"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
)

// lowerHostTensorCollectives turns collectives of the host program into dispatches.
//
// Before:                                        After:
//
//	pld.tensor.allreduce(data, signal)             n = pld.world_size()
//	                                               for r in pl.range(n):
//	                                                   allreduce_Sum_FP32(data, signal, device=r)
//	                                               def allreduce_Sum_FP32(target, signal):     # incore
//	                                                   pld.tensor.allreduce(target, signal)
//	                                                   return target
//
// The kernel contains the same collective, and LowerCompositeOps gives both the same library code. Only
// the ranks of the operands' domain get one; equal collectives share a kernel. What only the host can
// see is checked here: that operands are windows, of different allocations, of one domain, with signals
// that are large enough. Afterwards no collective is left in a host function. Idempotent.
func lowerHostTensorCollectives(m *ir.Module, c *Context) {
	l := &hostCollectives{m: m, diags: c.Diags, kernels: map[string]*ir.Func{}, domains: map[string]*ir.Op{}}
	for _, f := range append([]*ir.Func(nil), m.Funcs...) {
		if f.Kind == ir.Host {
			l.function(f)
		}
	}
}

type hostCollectives struct {
	m       *ir.Module
	diags   *diag.List
	kernels map[string]*ir.Func
	domains map[string]*ir.Op // comm_domain scopes of the function by name
}

func (l *hostCollectives) function(f *ir.Func) {
	f.Walk(func(op *ir.Op) {
		if op.Kind == ir.CommDomain {
			l.domains[op.Str("name")] = op
		}
	})
	bad := map[*ir.Op]bool{}
	forEachOp(f, func(b *ir.Block, i int) bool {
		op := b.Ops[i]
		if !op.Kind.Composite || bad[op] {
			return false
		}
		scope, ok := l.check(op)
		if !ok {
			bad[op] = true
			return false
		}
		b.Ops = append(b.Ops[:i:i], b.Ops[i+1:]...)
		l.dispatch(ir.Before(f, b, i).At(op.Span), op, scope)
		return true
	})
}

// check reports what is wrong with a collective's operands; scope is their domain, nil if unknown.
func (l *hostCollectives) check(op *ir.Op) (scope *ir.Op, ok bool) {
	before := l.diags.Len()
	first := ""
	allocs := map[*ir.Op]string{}
	domainOf := ""
	for i, p := range op.Kind.Params {
		if p.Kind != ir.PMem && p.Kind != ir.PWindow || !op.Args[i].Given() {
			continue
		}
		v := op.Args[i].Vals[0]
		a := allocOf(v)
		switch {
		case a == nil:
			l.diags.Errorf(diag.CollectiveUnbound, op.Span, "%s %s must be a window of this function, got %s", op.Kind.Name, p.Name, describe(v)).
				Help("allocate it with pld.alloc_window_buffer and view it with pld.window")
		case allocs[a] != "":
			l.diags.Errorf(diag.CollectiveAliased, op.Span, "%s %s and %s must be different window allocations", op.Kind.Name, allocs[a], p.Name).
				Note(a.Span, "both are views of this allocation").
				Help("allocate a second buffer for %s", p.Name)
		case !contiguous(v):
			l.diags.Errorf(diag.CollectiveStrided, op.Span, "%s %s must be contiguous, got a strided view", op.Kind.Name, p.Name).
				Note(v.Def.Span, "the view is made here")
		case first != "" && a.Str("domain") != domainOf:
			l.diags.Errorf(diag.CollectiveDomains, op.Span, "%s %s and %s must be shared by the same ranks", op.Kind.Name, first, p.Name).
				Note(a.Span, "%s is allocated here, in domain %s", p.Name, a.Str("domain"))
		}
		if a != nil {
			allocs[a] = p.Name
			if first == "" {
				first, domainOf = p.Name, a.Str("domain")
			}
		}
	}
	scope = l.domains[domainOf]
	if l.diags.Len() == before && scope != nil {
		l.checkCounts(op, scope)
	}
	return scope, l.diags.Len() == before
}

// checkCounts checks what depends on how many ranks a domain has, where that is known.
func (l *hostCollectives) checkCounts(op, scope *ir.Op) {
	devices := scope.Vals("devices")
	if len(devices) == 0 {
		return // all ranks: the kernels check when they run
	}
	n := int64(len(devices))
	if op.Kind == ir.Broadcast_ && op.Int("root") >= n {
		l.diags.Errorf(diag.CollectiveRoot, op.Span, "%s root must be in [0, %d), got %d", op.Kind.Name, n, op.Int("root")).
			Note(scope.Span, "%d ranks share these windows", n)
	}
	need := []int64{n, 1}
	if op.Kind == ir.AllReduce && op.Str("mode") == "ring" {
		need = []int64{2 * (n - 1), n}
	}
	for i, d := range ir.ShapeOf(op.Val("signal").Type) {
		if have, ok := d.Const(); ok && i < len(need) && have < need[i] {
			l.diags.Errorf(diag.SignalShape, op.Span, "%s signal must have at least %d cells in dimension %d for %d ranks, got %d",
				op.Kind.Name, need[i], i, n, have)
		}
	}
}

// describe says what a value is, for messages.
func describe(v *ir.Value) string {
	if t, ok := v.Type.(*ir.Tensor); ok && t.Window {
		return "a window from elsewhere"
	}
	return "a tensor of the host"
}

// dispatch calls the collective's kernel on each rank of the domain.
func (l *hostCollectives) dispatch(b *ir.Builder, op, scope *ir.Op) {
	k := l.kernel(op)
	call := func(b *ir.Builder, device *ir.Value) {
		b.Add(ir.Call).SetAttr("callee", k).Set("args", memoryOperands(op)...).Set("device", device).Must()
	}
	if scope != nil && len(scope.Vals("devices")) > 0 {
		for _, d := range scope.Vals("devices") {
			call(b, d)
		}
		return
	}
	n := b.Add(ir.WorldSize).Name("n").Must().Result()
	loop, body := b.For("range", ir.Index(0), n, ir.Index(1))
	loop.Regions[0].Args[0].Name = "r"
	call(body, loop.Regions[0].Args[0])
}

func memoryOperands(op *ir.Op) []*ir.Value {
	var out []*ir.Value
	for _, v := range op.Operands() {
		if _, ok := v.Type.(*ir.Tensor); ok {
			out = append(out, v)
		}
	}
	return out
}

// kernel is the incore function that holds op alone, with op's operands as parameters.
func (l *hostCollectives) kernel(op *ir.Op) *ir.Func {
	types := l.paramTypes(op)
	key := kernelName(op)
	for _, t := range types {
		key += " " + t.String()
	}
	for _, a := range op.Args {
		if a.Attr != nil {
			key += " " + fmt.Sprint(a.Attr)
		}
	}
	if f := l.kernels[key]; f != nil {
		return f
	}
	f := ir.NewFunc(freshFuncName(l.m, kernelName(op)), ir.InCore, op.Span)
	l.kernels[key] = f
	l.m.Funcs = append(l.m.Funcs, f)
	inner := ir.NewOp(op.Kind, op.Span)
	for i, p := range op.Kind.Params {
		switch {
		case p.Name == "core_num": // a rank of ours has one core, which does the work of all
		case op.Args[i].Attr != nil:
			inner.SetAttr(p.Name, op.Args[i].Attr)
		case op.Args[i].Given():
			dir := ir.InOut
			if p.Kind == ir.PMem {
				dir = ir.In
			}
			inner.Set(p.Name, f.AddParam(p.Name, types[len(f.Params())], dir))
		}
	}
	b := ir.NewBuilder(f, f.Body).At(op.Span)
	b.Insert(inner)
	b.Return(inner.Val(op.Kind.Returns))
	return f
}

// paramTypes are the operands' types; every extent that is not a constant becomes a symbol of the
// kernel, equal extents the same one.
func (l *hostCollectives) paramTypes(op *ir.Op) []ir.Type {
	syms := map[string]ir.Dim{}
	var out []ir.Type
	for _, v := range memoryOperands(op) {
		t := v.Type.(*ir.Tensor)
		n := &ir.Tensor{DType: t.DType, Window: t.Window}
		for _, d := range t.Dims {
			if _, ok := d.Const(); !ok {
				if _, seen := syms[d.String()]; !seen {
					syms[d.String()] = ir.SymDim(l.freshSym(len(syms)))
				}
				d = syms[d.String()]
			}
			n.Dims = append(n.Dims, d)
		}
		out = append(out, n)
	}
	return out
}

// freshSym is the i-th symbol of these kernels. Symbols belong to a function, so all share the names.
func (l *hostCollectives) freshSym(i int) string {
	name := fmt.Sprintf("D%d", i)
	if !slices.Contains(l.m.Syms, name) {
		l.m.Syms = append(l.m.Syms, name)
	}
	return name
}

// kernelName is "allreduce_Sum_FP32".
func kernelName(op *ir.Op) string {
	parts := []string{strings.TrimPrefix(op.Kind.Name, "pld.tensor.")}
	if e := op.Enum("op"); e.Type != nil {
		parts = append(parts, e.Type.Values[e.Value])
	}
	if t := op.Val("target"); t != nil {
		parts = append(parts, ir.DTypeOf(t.Type).String())
	}
	return strings.Join(parts, "_")
}
