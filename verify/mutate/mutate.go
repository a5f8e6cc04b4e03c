// Package mutate breaks programs on purpose. Every single fault that can be made in the synchronisation
// of a lowered program is a mutant; a verifier is only worth something if it finds them.
package mutate

import (
	"fmt"
	"slices"

	"ptoc/ir"
	"ptoc/lang/source"
)

// Mutant is a program with one fault.
type Mutant struct {
	Kind string // what was done, as "drop a wait"
	Op   string // to which op, as "pld.system.wait"
	At   source.Span
	N    int // the position of the op among the synchronisation of the program
	*ir.Module
}

func (m Mutant) String() string { return fmt.Sprintf("%s (%s number %d)", m.Kind, m.Op, m.N) }

// site is an op in a block: a notify, a wait, a fence, or a loop of nothing else.
type site struct {
	f     *ir.Func
	block *ir.Block
	at    int
	group bool // the loop
	inner bool // an op in such a loop
}

func (s site) op() *ir.Op { return s.block.Ops[s.at] }

// A mutation changes a program at a site; false: it does not fit.
type mutation struct {
	name  string
	apply func(site) bool
}

var mutations = []mutation{
	{"drop", drop},
	{"duplicate", duplicate},
	{"drop a barrier", dropBarrier},
	{"set for add", setForAdd},
	{"Ge to Eq", geToEq},
	{"drop the release", dropRelease},
	{"drop the acquire", dropAcquire},
	{"swap with the next", swap},
	{"cell + 1", func(s site) bool { return s.is(ir.Notify, ir.Wait) && shift(s, "offsets", 1) }},
	{"peer + 1", func(s site) bool { return s.is(ir.Notify) && shift(s, "peer", 1) }},
	{"value + 1", func(s site) bool { return s.is(ir.Notify) && shift(s, "value", 1) }},
	{"value - 1", func(s site) bool { return s.is(ir.Notify) && shift(s, "value", -1) }},
	{"expected + 1", func(s site) bool { return s.is(ir.Wait) && shift(s, "expected", 1) }},
	{"expected - 1", func(s site) bool { return s.is(ir.Wait) && shift(s, "expected", -1) }},
}

// Kinds lists the mutations.
func Kinds() []string {
	var out []string
	for _, m := range mutations {
		out = append(out, m.name)
	}
	return out
}

// Mutants are all single faults of m's kernels.
func Mutants(m *ir.Module) []Mutant {
	var out []Mutant
	for n := range sites(m) {
		for _, mut := range mutations {
			c := ir.CloneModule(m)
			s := sites(c)[n]
			op := s.op()
			if !mut.apply(s) {
				continue
			}
			out = append(out, Mutant{mut.name, op.Kind.Name, op.Span, n, c})
		}
	}
	return out
}

// sites are the synchronisation of m's kernels, in a fixed order.
func sites(m *ir.Module) []site {
	var out []site
	for _, f := range m.Funcs {
		if f.Kind == ir.InCore || f.Kind == ir.Chip {
			out = append(out, inBlock(f, f.Body, false)...)
		}
	}
	return out
}

func inBlock(f *ir.Func, b *ir.Block, inner bool) []site {
	var out []site
	for i, op := range b.Ops {
		group := isGroup(op)
		if isSync(op) || group {
			out = append(out, site{f, b, i, group, inner})
		}
		for _, r := range op.Regions {
			out = append(out, inBlock(f, r, inner || group)...)
		}
	}
	return out
}

func isSync(op *ir.Op) bool { return op.Kind == ir.Notify || op.Kind == ir.Wait || op.Kind == ir.Fence }

// isGroup reports whether op is a loop that only synchronises: one side of a barrier, an epilogue.
func isGroup(op *ir.Op) bool {
	return op.Kind == ir.For && len(op.Results) == 0 && holds(op, isSync) && !holds(op, func(o *ir.Op) bool { return !isSync(o) && !ir.IsPure(o) && !o.Kind.Terminator && len(o.Regions) == 0 })
}

// holds reports whether fn is true for an op inside of op.
func holds(op *ir.Op, fn func(*ir.Op) bool) bool {
	found := false
	for _, r := range op.Regions {
		r.Walk(func(o *ir.Op) { found = found || fn(o) })
	}
	return found
}

func (s site) is(ks ...*ir.Kind) bool { return slices.Contains(ks, s.op().Kind) }

func (s site) remove(i int) *ir.Op {
	op := s.block.Ops[i]
	s.block.Ops = slices.Delete(slices.Clone(s.block.Ops), i, i+1)
	return op
}

// drop leaves out an op. A loop of one op is dropped with its op.
func drop(s site) bool {
	if s.group {
		return false
	}
	s.remove(s.at)
	return true
}

func duplicate(s site) bool {
	if s.group || !s.is(ir.Notify, ir.Wait) {
		return false
	}
	s.block.Ops = slices.Insert(slices.Clone(s.block.Ops), s.at, s.op())
	return true
}

// dropBarrier leaves out a loop of notifies and the loop of waits after it.
func dropBarrier(s site) bool {
	next := s.nextSync()
	if !s.group || next < 0 || !isGroup(s.block.Ops[next]) || !holds(s.op(), func(o *ir.Op) bool { return o.Kind == ir.Notify }) ||
		!holds(s.block.Ops[next], func(o *ir.Op) bool { return o.Kind == ir.Wait }) {
		return false
	}
	s.remove(next)
	s.remove(s.at)
	return true
}

func setForAdd(s site) bool {
	if !s.is(ir.Notify) || s.op().Enum("op").Is("Set") {
		return false
	}
	s.op().SetAttr("op", ir.NotifyOp.Of("Set"))
	return true
}

func geToEq(s site) bool {
	if !s.is(ir.Wait) || s.op().Enum("cmp").Is("Eq") {
		return false
	}
	s.op().SetAttr("cmp", ir.WaitCmp.Of("Eq"))
	return true
}

// nextSync is the position of the next synchronisation in the block with nothing but arithmetic between.
func (s site) nextSync() int {
	for i := s.at + 1; i < len(s.block.Ops); i++ {
		op := s.block.Ops[i]
		if isSync(op) || isGroup(op) {
			return i
		}
		if !ir.IsPure(op) {
			return -1
		}
	}
	return -1
}

// swap moves an op, or a loop of them, behind the synchronisation that follows it.
func swap(s site) bool {
	next := s.nextSync()
	if next < 0 || s.inner {
		return false
	}
	return s.move(s.at, next)
}

// move puts the op at i behind the one at j, unless something in between needs it.
func (s site) move(i, j int) bool {
	op := s.block.Ops[i]
	for _, o := range s.block.Ops[i+1 : j+1] {
		if uses(o, op.Results) {
			return false
		}
	}
	s.remove(i)
	s.block.Ops = slices.Insert(s.block.Ops, j, op)
	return true
}

func uses(op *ir.Op, vs []*ir.Value) bool {
	found := false
	see := func(o *ir.Op) {
		for _, v := range o.Operands() {
			found = found || slices.Contains(vs, v)
		}
	}
	see(op)
	for _, r := range op.Regions {
		r.Walk(see)
	}
	return found
}

// touches reports whether op reads or writes memory.
func touches(op *ir.Op) bool {
	for _, e := range ir.EffectsOf(op) {
		switch e.Kind {
		case ir.Reads, ir.Writes, ir.RemoteReads, ir.RemoteWrites:
			return true
		}
	}
	return false
}

// dropRelease moves a notify, or a loop of them, before the accesses that it releases: what a notify
// without release allows. If its operands are computed among them, only the last access moves.
func dropRelease(s site) bool {
	if s.inner || !s.signals(ir.Notify) || s.toSelf() {
		return false
	}
	first, last := -1, -1
	for i := s.at - 1; i >= 0; i-- {
		op := s.block.Ops[i]
		if isSync(op) || isGroup(op) || holds(op, isSync) {
			break
		}
		if touches(op) {
			first = i
			last = max(last, i)
		}
	}
	if first < 0 {
		return false
	}
	for _, op := range s.block.Ops[first:s.at] {
		if uses(s.op(), op.Results) {
			return s.move(last, s.at)
		}
	}
	op := s.remove(s.at)
	s.block.Ops = slices.Insert(s.block.Ops, first, op)
	return true
}

// dropAcquire moves a wait, or a loop of them, behind the accesses that rely on it: what a wait without
// acquire allows.
func dropAcquire(s site) bool {
	if s.inner || !s.signals(ir.Wait) {
		return false
	}
	last := -1
	for j := s.at + 1; j < len(s.block.Ops); j++ {
		op := s.block.Ops[j]
		if isSync(op) || isGroup(op) || holds(op, isSync) || op.Kind.Terminator {
			break
		}
		if touches(op) {
			last = j
		}
	}
	return last >= 0 && s.move(s.at, last)
}

// signals reports whether the site is an op of kind k, or a loop of them.
func (s site) signals(k *ir.Kind) bool {
	return s.is(k) || s.group && holds(s.op(), func(o *ir.Op) bool { return o.Kind == k })
}

// toSelf reports whether the site notifies only cells of its own rank: that releases nothing.
func (s site) toSelf() bool {
	self := true
	see := func(o *ir.Op) {
		self = self && (o.Kind != ir.Notify || s.isRank(o.Val("peer")))
	}
	see(s.op())
	for _, r := range s.op().Regions {
		r.Walk(see)
	}
	return self
}

// isRank reports whether v is the number of this rank.
func (s site) isRank(v *ir.Value) bool {
	found := false
	s.f.Body.Walk(func(o *ir.Op) { found = found || o.Kind == ir.Rank && o.Result() == v })
	return found
}

// shift adds to an operand; to the first one of a list.
func shift(s site, param string, by int64) bool {
	op := s.op()
	vals := slices.Clone(op.Vals(param))
	if len(vals) == 0 {
		return false
	}
	b := ir.Before(s.f, s.block, s.at)
	b.Span = op.Span
	v, err := b.Binary(ir.Add, vals[0], ir.Index(by))
	if err != nil {
		return false
	}
	vals[0] = v
	op.Set(param, vals...)
	return true
}
