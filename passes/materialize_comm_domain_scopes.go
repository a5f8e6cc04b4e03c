package passes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
)

// materializeCommDomainScopes finds out which ranks share which windows, and writes it down.
//
// Before:                                        After:
//
//	a_buf = alloc_window_buffer([64], ...)         with pld.comm_domain("comm_d0"):
//	b_buf = alloc_window_buffer([64], ...)             with pld.comm_domain("comm_d1", [0, 1]):
//	for r in pl.range(pld.world_size()):                   a_buf = alloc_window_buffer([64], ..., domain="comm_d0")
//	    chip(window(a_buf, ...), device=r)                 b_buf = alloc_window_buffer([64], ..., domain="comm_d1")
//	for r in pl.range(2):                                  for r in ...
//	    pair(window(b_buf, ...), device=r)
//
// An allocation belongs to the ranks that it is dispatched to. Allocations with the same ranks share a
// domain, in which ranks count from 0; the operands of one host collective always do. Afterwards every
// allocation names its domain, and the body of its host function stands in a scope of that name. Idempotent.
func materializeCommDomainScopes(m *ir.Module, c *Context) {
	for _, f := range m.Funcs {
		if f.Kind == ir.Host {
			s := &domainScopes{f: f, diags: c.Diags, index: map[*ir.Op]*allocation{}}
			s.run()
		}
	}
}

type domainScopes struct {
	f      *ir.Func
	diags  *diag.List
	allocs []*allocation // in source order
	index  map[*ir.Op]*allocation
}

// allocation is one alloc_window_buffer and what is known of its use.
type allocation struct {
	op     *ir.Op
	window *ir.Op      // one of its views
	same   *allocation // union-find: allocations that must share a domain
	ranks  rankSet
	used   bool
	broken bool // an error has been reported
}

func (a *allocation) leader() *allocation {
	for a.same != nil {
		a = a.same
	}
	return a
}

func (s *domainScopes) run() {
	s.collect()
	if len(s.allocs) == 0 {
		return
	}
	s.f.Body.Walk(s.scan)
	if !s.complete() {
		return
	}
	s.wrap(s.cluster())
}

// collect finds the allocations that have no domain yet.
func (s *domainScopes) collect() {
	s.f.Body.Walk(func(op *ir.Op) {
		if op.Kind == ir.AllocWindow && op.Str("domain") == "" {
			a := &allocation{op: op}
			s.allocs = append(s.allocs, a)
			s.index[op] = a
			if b, _ := find(s.f.Body, op); !atTop(b) {
				a.broken = true
				s.diags.Errorf(diag.WindowInBranch, op.Span, "window buffer %s is allocated inside a loop or branch", op.Result().Name).
					Help("allocate it once, before the loop: every rank must make the same allocations in the same order")
			}
		}
	})
}

// atTop reports whether a block of a host function runs exactly once.
func atTop(b *ir.Block) bool {
	for b.Parent != nil {
		if b.Parent.Kind != ir.CommDomain {
			return false
		}
		return true // scopes are made around whole bodies only
	}
	return true
}

// scan looks at one op of the host function.
func (s *domainScopes) scan(op *ir.Op) {
	switch {
	case op.Kind == ir.Window:
		if a := s.index[op.Val("buffer").Def]; a != nil {
			a.window = op
		}
	case op.Kind == ir.Call:
		for _, v := range op.Vals("args") {
			if a := s.index[allocOf2(v)]; a != nil {
				a.used = true
				s.dispatch(a, op)
			}
		}
	case op.Kind.Composite:
		s.collective(op)
	}
}

// allocOf2 is allocOf for any value, memory or not.
func allocOf2(v *ir.Value) *ir.Op {
	if _, ok := v.Type.(*ir.Tensor); !ok {
		return nil
	}
	return allocOf(v)
}

// dispatch adds the ranks of a call to a window's allocation.
func (s *domainScopes) dispatch(a *allocation, call *ir.Op) {
	dev := call.Val("device")
	switch {
	case dev != nil:
	case call.Callee().Kind == ir.Host:
		s.diags.Errorf(diag.DispatchDevice, call.Span, "%s is a host function: a window cannot be handed to it", call.Callee().Name)
		a.broken = true
		return
	default:
		s.diags.Errorf(diag.DispatchDevice, call.Span, "%s gets a window, so this call must say on which rank it runs", call.Callee().Name).
			Help("add device=, for example: for r in pl.range(pld.world_size()): %s(..., device=r)", call.Callee().Name)
		a.broken = true
		return
	}
	if err := a.leader().ranks.add(dev); err != nil {
		s.diags.Errorf(diag.DispatchDevice, call.Span, "device= must be a constant or the counter of a loop with known bounds, %v", err).
			Note(a.op.Span, "the ranks that share this window cannot be told").
			Help("count over pl.range(pld.world_size()), or over constants")
		a.broken = true
	}
}

// collective unites the allocations of a host collective's operands.
func (s *domainScopes) collective(op *ir.Op) {
	var first *allocation
	for _, v := range op.Operands() {
		a := s.index[allocOf2(v)]
		if a == nil {
			continue
		}
		a.used = true
		if first == nil {
			first = a.leader()
		} else if l := a.leader(); l != first {
			first.ranks.merge(l.ranks)
			l.same = first
		}
	}
}

// complete reports allocations that nothing uses, and whether there was no error at all.
func (s *domainScopes) complete() bool {
	ok := true
	for _, a := range s.allocs {
		name := a.op.Result().Name
		switch {
		case a.broken:
		case a.window == nil:
			s.diags.Errorf(diag.WindowUnused, a.op.Span, "window buffer %s has no pld.window", name).
				Help("delete it, or view it: pld.window(%s, [...], dtype=...)", name)
			a.broken = true
		case !a.used:
			s.diags.Errorf(diag.WindowUnused, a.op.Span, "window buffer %s is never handed to a rank", name).
				Note(a.window.Span, "this view of it is not used").
				Help("delete it, or pass the view to a call with device=")
			a.broken = true
		}
		ok = ok && !a.broken
	}
	return ok
}

// A domain is a set of ranks and the allocations that they share.
type domain struct {
	name   string
	ranks  rankSet
	allocs []*allocation
}

// cluster groups allocations by their ranks, in source order.
func (s *domainScopes) cluster() []*domain {
	taken := map[string]bool{}
	s.f.Body.Walk(func(op *ir.Op) {
		if op.Kind == ir.CommDomain {
			taken[op.Str("name")] = true
		}
	})
	var out []*domain
	byRanks := map[string]*domain{}
	for _, a := range s.allocs {
		ranks := a.leader().ranks
		if ranks.empty() || ranks.partial() {
			ranks = allRanks // only host collectives use it; or a run of ranks with a hole below
		}
		d := byRanks[ranks.key()]
		if d == nil {
			n := 0
			for taken[fmt.Sprintf("comm_d%d", n)] {
				n++
			}
			d = &domain{name: fmt.Sprintf("comm_d%d", n), ranks: ranks}
			taken[d.name] = true
			byRanks[ranks.key()] = d
			out = append(out, d)
		}
		d.allocs = append(d.allocs, a)
	}
	return out
}

// wrap puts the function's body into one scope per domain, the first outermost.
func (s *domainScopes) wrap(domains []*domain) {
	body := s.f.Body
	inner := body.Ops
	var tail []*ir.Op
	if t := body.Terminator(); t != nil {
		inner, tail = inner[:len(inner)-1:len(inner)-1], []*ir.Op{t}
	}
	for i := len(domains) - 1; i >= 0; i-- {
		d := domains[i]
		for _, a := range d.allocs {
			a.op.SetAttr("domain", d.name)
		}
		scope := ir.NewOp(ir.CommDomain, d.allocs[0].op.Span).SetAttr("name", d.name)
		if devs := d.ranks.list(); devs != nil {
			scope.Set("devices", devs...)
		}
		region := &ir.Block{Ops: inner, Parent: scope}
		scope.Regions = []*ir.Block{region}
		inner = []*ir.Op{scope}
	}
	body.Ops = append(inner, tail...)
}

// rankSet is a set of ranks: some constants, and all from a rank on.
type rankSet struct {
	some    map[int64]bool
	from    int64
	hasFrom bool
}

var allRanks = rankSet{hasFrom: true}

// add adds what a device= operand can be.
func (r *rankSet) add(dev *ir.Value) error {
	if k, ok := dev.ConstInt(); ok {
		if k < 0 {
			return fmt.Errorf("not %d", k)
		}
		r.addConst(k)
		return nil
	}
	loop := counterOf(dev)
	if loop == nil {
		return fmt.Errorf("not a computed value")
	}
	start, okStart := loop.Val("start").ConstInt()
	step, okStep := loop.Val("step").ConstInt()
	if !okStart || !okStep || start < 0 {
		return fmt.Errorf("not the counter of a loop with a computed start or step")
	}
	if stop, ok := loop.Val("stop").ConstInt(); ok && step != 0 {
		for k := start; step > 0 && k < stop || step < 0 && k > stop; k += step {
			r.addConst(k)
		}
		return nil
	}
	if step != 1 || !isWorldSize(loop.Val("stop")) {
		return fmt.Errorf("not the counter of a loop that ends at a computed value")
	}
	if !r.hasFrom || start < r.from {
		r.from, r.hasFrom = start, true
	}
	return nil
}

func (r *rankSet) addConst(k int64) {
	if r.some == nil {
		r.some = map[int64]bool{}
	}
	r.some[k] = true
}

func (r *rankSet) merge(o rankSet) {
	for k := range o.some {
		r.addConst(k)
	}
	if o.hasFrom && (!r.hasFrom || o.from < r.from) {
		r.from, r.hasFrom = o.from, true
	}
}

// counterOf is the loop whose counter v is, or nil.
func counterOf(v *ir.Value) *ir.Op {
	if v.Owner != nil && v.Owner.Parent != nil && v.Owner.Parent.Kind == ir.For && v.Owner.Args[0] == v {
		return v.Owner.Parent
	}
	return nil
}

// isWorldSize: pld.world_size(), or a symbol: programs call the world size NR and count to it, and a
// loop that ends early leaves ranks without work, which the ranks that wait for them report.
func isWorldSize(v *ir.Value) bool {
	if v.Def != nil {
		return v.Def.Kind == ir.WorldSize
	}
	_, sym := ir.DimOf(v).Sym()
	return v.IsConst() && sym
}

func (r rankSet) empty() bool { return !r.hasFrom && len(r.some) == 0 }

// partial reports a set "from rank k on" with k > 0 that no constants complete.
func (r rankSet) partial() bool { return r.hasFrom && !r.all() }

// all reports whether the set holds every rank.
func (r rankSet) all() bool {
	from := r.from
	for r.some[from-1] {
		from--
	}
	return r.hasFrom && from == 0
}

func (r rankSet) key() string {
	if r.all() {
		return "all"
	}
	var b strings.Builder
	for _, k := range r.sorted() {
		fmt.Fprintf(&b, "%d,", k)
	}
	return b.String()
}

func (r rankSet) sorted() []int64 {
	return slices.Sorted(maps.Keys(r.some))
}

// list is the devices operand: nil for all ranks.
func (r rankSet) list() []*ir.Value {
	if r.all() {
		return nil
	}
	var out []*ir.Value
	for _, k := range r.sorted() {
		out = append(out, ir.Index(k))
	}
	return out
}
