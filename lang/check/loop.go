package check

import (
	"slices"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// A loop is what all loops have in common: values that are carried from one iteration to the next,
// explicitly (init_values and pl.yield_) or because the body rebinds a name that is needed again.
type loop struct {
	node     syntax.Stmt
	body     []syntax.Stmt
	explicit []carry
	extra    []string // names that are carried whatever liveness says
	unused   names    // names to leave alone: the counter
	kind     *ir.Kind
	set      func(*ir.Op) // gives operands
	counter  *syntax.Name // of a For
	head     func()       // While: what stands before the body
	tail     func()       // what stands after the body
	base     *env         // before the loop
}

// A carry is one carried value.
type carry struct {
	name string
	at   source.Span
	init value
	arg  *ir.Value
	end  *ir.Value
	mem  *ir.Value // memory: the same in every iteration, so not carried at all
}

// run checks the loop. Where a carried number turns out to have another type than its initial
// constant, the loop is checked again with that type.
func (f *fn) run(l *loop) {
	types := map[string]ir.Type{}
	for try := 0; ; try++ {
		saved, wrote, dirs := f.list, copyMap(f.in.wrote), append([]ir.Dir(nil), f.f.Dirs...)
		env := f.env.clone()
		f.list = &diag.List{}
		retry := f.attempt(l, types)
		trial := f.list
		f.list = saved
		if !retry || try >= 4 {
			f.list.Merge(trial)
			return
		}
		f.env, f.in.wrote, f.f.Dirs = env, wrote, dirs
	}
}

func copyMap[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// attempt checks the loop with the given types for carried constants; it reports whether to try again
// because types grew.
func (f *fn) attempt(l *loop, types map[string]ir.Type) (retry bool) {
	mark := len(f.b.Block.Ops)
	base := f.env
	l.base = base
	for _, name := range resultsIn(types) {
		if _, ok := base.lookup(name); !ok {
			if zero := f.zero(types[name], nil); zero != nil {
				base.set(name, simplify(zero), l.node.Span())
			}
		}
	}
	carries := f.carries(l, types)
	op := ir.NewOp(l.kind, l.node.Span())
	l.set(op)
	region := &ir.Block{Parent: op}
	op.Regions = []*ir.Block{region}
	outer := f.b.Block
	f.env, f.b.Block = base.clone(), region
	if l.counter != nil {
		i := f.f.NewBlockArg(region, l.counter.Text, &ir.Scalar{DType: ir.INDEX})
		f.env.set(l.counter.Text, i, l.counter.At)
		f.values[l.counter.Text] = i
	}
	f.enter(region, carries)
	if l.head != nil {
		l.head()
	}
	f.block(l.body)
	y := f.takeYield()
	if l.tail != nil {
		l.tail()
	}
	end := f.env
	results := f.yields(l, y, carries)
	retry, carries = f.close(l, carries, end, types, region)
	f.env, f.b.Block = base, outer
	if retry {
		f.b.Block.Ops = f.b.Block.Ops[:mark]
		return true
	}
	f.finishLoop(l, op, carries, results, end)
	return false
}

// carries lists what is carried: the explicit values, then names that the body rebinds and that are
// needed in a later iteration or after the loop.
func (f *fn) carries(l *loop, types map[string]ir.Type) []*carry {
	var out []*carry
	for _, c := range l.explicit {
		c := c
		f.startCarry(&c, types)
		out = append(out, &c)
	}
	head := f.flow.head[l.node]
	taken := names{}
	for _, c := range l.explicit {
		taken[c.name] = true
	}
	consider := func(name string, force bool) {
		b, ok := f.env.lookup(name)
		if !ok || taken[name] || l.unused[name] || !force && !head[name] {
			return
		}
		taken[name] = true
		x := f.operand(b.val)
		if x == nil || isBad(b.val) {
			return
		}
		if _, mem := x.Type.(*ir.Tensor); mem {
			return // watched in close
		}
		c := &carry{name: name, at: b.at, init: b.val}
		f.startCarry(c, types)
		out = append(out, c)
	}
	for _, n := range l.extra {
		consider(n, true)
	}
	for _, n := range assignedNames(l.body...) {
		consider(n, false)
	}
	return out
}

// startCarry decides the type of a carried value.
func (f *fn) startCarry(c *carry, types map[string]ir.Type) {
	x := f.operand(c.init)
	if x == nil {
		return // reported where init_values was read
	}
	if _, mem := x.Type.(*ir.Tensor); mem {
		c.mem = x
		return
	}
	if t := types[c.name]; t != nil {
		if w := f.adapt(x, t); w != nil {
			x = w
		} else if w, err := f.b.Cast(x, ir.DTypeOf(t)); err == nil {
			x = w
		}
	}
	c.init = x
}

func (f *fn) enter(region *ir.Block, carries []*carry) {
	for _, c := range carries {
		if c.mem != nil {
			f.env.set(c.name, c.mem, c.at)
			continue
		}
		x, ok := c.init.(*ir.Value)
		if !ok {
			f.env.set(c.name, bad{}, c.at)
			continue
		}
		c.arg = f.f.NewBlockArg(region, c.name, x.Type)
		f.env.set(c.name, c.arg, c.at)
		f.values[c.name] = c.arg
	}
}

// yields matches an explicit yield with the explicit carries and gives the names of the results.
func (f *fn) yields(l *loop, y *yielded, carries []*carry) []*syntax.Name {
	n := len(l.explicit)
	if y == nil {
		if n > 0 {
			f.errorf(diag.MisplacedYield, l.node.Span(), "a loop with init_values must end with `... = pl.yield_(...)`").
				Help("or leave init_values out: names that the body rebinds are carried by themselves")
			for _, c := range carries[:n] {
				f.env.set(c.name, bad{}, c.at)
			}
		}
		return nil
	}
	if len(y.vals) != n || len(y.names) != n && len(y.names) != 0 {
		if n == 0 {
			f.errorf(diag.MisplacedYield, y.at, "pl.yield_ in a loop without init_values").
				Help("leave it out: names that the body rebinds are carried by themselves")
		} else {
			f.errorf(diag.MisplacedYield, y.at, "the loop carries %d values, this yields %d", n, len(y.vals))
		}
		return nil
	}
	for i, v := range y.vals {
		f.env.set(carries[i].name, v, y.valAts[i])
	}
	return y.names
}

// close finds the value of each carry at the end of the body.
func (f *fn) close(l *loop, carries []*carry, end *env, types map[string]ir.Type, region *ir.Block) (retry bool, kept []*carry) {
	for i, c := range carries {
		b, _ := end.lookup(c.name)
		if c.mem != nil {
			if x, ok := b.val.(*ir.Value); ok && x != c.mem {
				f.errorf(diag.MemoryRebound, b.at, "%s is bound to different memory from one iteration to the next", c.name).
					Help("memory cannot be carried; take the part inside the loop by its index")
			}
			kept = append(kept, c)
			continue
		}
		if c.arg == nil {
			continue
		}
		c.end = f.endValue(c, b, types, &retry)
		if c.end == nil && i >= len(l.explicit) && !isUsed(c.arg, region) {
			dropArg(region, c.arg) // rebound to something else before it is read
			end.set(c.name, missing{why: "bound to " + describe(b.val) + " inside the loop and to " + describe(c.init) + " before it",
				notes: []missingNote{{b.at, "bound inside the loop here"}}}, b.at)
			continue
		}
		if c.end == nil && !retry {
			f.carryError(c, b)
			c.end = c.arg
			end.set(c.name, bad{}, b.at)
		}
		kept = append(kept, c)
	}
	if !retry {
		retry = f.returnsInside(l, end, types, region)
	}
	if !retry {
		f.watchMemory(l, end)
	}
	return retry, kept
}

// returnsInside: a value that is returned inside the loop needs one before it.
func (f *fn) returnsInside(l *loop, end *env, types map[string]ir.Type, region *ir.Block) (found bool) {
	for _, name := range resultsIn(f.flow.after[l.node]) {
		if _, before := l.base.lookup(name); before || types[name] != nil {
			continue
		}
		b, _ := end.lookup(name)
		x := f.operand(b.val)
		if x == nil {
			continue
		}
		if _, mem := x.Type.(*ir.Tensor); mem || innerValue(x.Type, region) != nil {
			continue
		}
		types[name] = x.Type
		found = true
	}
	return found
}

// resultsIn lists the hidden names of the function's result among the keys of m, in order.
func resultsIn[V any](m map[string]V) []string {
	var out []string
	for name := range m {
		if isResult(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// endValue is the carried value at the end, as the type that is carried; nil if it does not fit. A
// number may widen the carry: then types is changed and retry set.
func (f *fn) endValue(c *carry, b binding, types map[string]ir.Type, retry *bool) *ir.Value {
	if isBad(b.val) {
		return c.arg
	}
	x := f.operand(b.val)
	if x == nil {
		return nil
	}
	if ir.TypesEqual(x.Type, c.arg.Type) {
		return x
	}
	if w := f.adapt(x, c.arg.Type); w != nil {
		return w
	}
	wide := widerInt(c.arg.Type, x.Type)
	_, isScalar := x.Type.(*ir.Scalar)
	switch {
	case !isScalar:
	case types[c.name] == nil && f.adapt(c.init.(*ir.Value), x.Type) != nil:
		types[c.name] = x.Type
		*retry = true
	case wide != nil && ir.TypesEqual(wide, c.arg.Type):
		return f.castIn(f.b.Block, x, wide)
	case wide != nil:
		types[c.name] = wide
		*retry = true
	}
	return nil
}

func (f *fn) carryError(c *carry, b binding) {
	if m, ok := b.val.(missing); ok {
		f.missingName(c.name, b.at, m)
		return
	}
	d := f.errorf(diag.CarriedType, b.at, "%s is %s at the end of an iteration but %s at its start", c.name, describe(b.val), typeText(c.arg.Type)).
		Note(c.at, "its first value")
	if x := f.operand(b.val); x != nil {
		_, s := x.Type.(*ir.Scalar)
		_, t := c.arg.Type.(*ir.Scalar)
		if s && t {
			d.Help("convert one of them with pl.cast, or start with a value of the right type")
			return
		}
	}
	d.Help("a name keeps one type while a loop runs; use another name inside")
}

// watchMemory: names of memory must mean the same memory in every iteration if they are read again.
func (f *fn) watchMemory(l *loop, end *env) {
	head := f.flow.head[l.node]
	for _, n := range assignedNames(l.body...) {
		if l.unused[n] || !head[n] {
			continue
		}
		old, ok := l.base.lookup(n)
		now, _ := end.lookup(n)
		if !ok || sameValue(old.val, now.val) || isBad(now.val) || isBad(old.val) {
			continue
		}
		if _, carried := now.val.(missing); carried {
			continue
		}
		if f.operand(old.val) != nil {
			if _, mem := memory(old.val); !mem {
				continue // carried as a value
			}
			if x := f.operand(now.val); x != nil {
				if _, mem := x.Type.(*ir.Tensor); !mem {
					end.set(n, missing{why: "memory before the loop and " + describe(now.val) + " inside it", notes: []missingNote{{now.at, "rebound here"}}}, now.at)
					continue
				}
			}
			end.set(n, missing{why: "bound to different memory from one iteration to the next", notes: []missingNote{{now.at, "rebound here"}}}, now.at)
			if f.flow.head[l.node][n] && readBeforeBound(n, l.body) {
				f.errorf(diag.MemoryRebound, now.at, "%s is bound to different memory from one iteration to the next", n).
					Note(old.at, "bound before the loop here").Help("memory cannot be carried; take the part inside the loop by its index")
				end.set(n, bad{}, now.at)
			}
			continue
		}
		if readBeforeBound(n, l.body) {
			if _, isTuple := old.val.(seq); isTuple {
				f.errorf(diag.CarriedType, now.at, "%s is %s, and cannot change while a loop runs", n, describe(old.val)).
					Help("give each element a name of its own")
			} else {
				f.errorf(diag.CarriedType, now.at, "%s is a compile-time value (%s) and cannot change while a loop runs", n, describe(old.val))
			}
			end.set(n, bad{}, now.at)
		}
	}
}

// readBeforeBound reports whether an iteration may read the name before it binds it.
func readBeforeBound(name string, body []syntax.Stmt) bool {
	fl := &flow{after: map[syntax.Stmt]names{}, head: map[syntax.Stmt]names{}}
	return fl.block(body, names{})[name]
}

func isUsed(v *ir.Value, region *ir.Block) bool {
	found := false
	region.Walk(func(op *ir.Op) {
		for _, o := range op.Operands() {
			found = found || o == v
		}
		for _, r := range op.Results {
			if mentions(r.Type, v) {
				found = true
			}
		}
	})
	return found
}

func mentions(t ir.Type, v *ir.Value) bool {
	found := false
	ir.SubstType(t, func(a ir.Atom) (ir.Dim, bool) {
		found = found || a.Op == ir.AtomVal && a.Val == v
		return ir.Dim{}, false
	})
	return found
}

func dropArg(region *ir.Block, v *ir.Value) {
	for i, a := range region.Args {
		if a == v {
			region.Args = append(region.Args[:i], region.Args[i+1:]...)
			return
		}
	}
}
