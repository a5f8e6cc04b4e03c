package passes

import (
	"ptoc/codegen/target"
	"ptoc/ir"
	"ptoc/ir/prove"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// planMemory gives every tile, and every tensor that a kernel creates, its place in the function's
// scratch memory, except to tiles that live in registers. Tiles that are not needed at the same time share
// memory.
//
// Before:                                        After:
//
//	def step(x, y):                                def step(x, y):
//	    t = pl.load(x, [0, 0], [64, 64])               pl.func_attr({"arena_bytes": 32768, "arena": {"t": 0, "u": 16384}})
//	    u = pl.transpose(t)                            ...
//
// What a loop carries has one buffer: the value at the start, the block's argument, the yielded value and
// the result, as far as they are never needed side by side; a loop's body then updates its tile in place.
// Sizes known now come first, packed by liveness; sizes that depend on symbols follow, and share where
// they are the same. Offsets are multiples of 64 bytes. Nothing may change tiles afterwards.
//
// An extent that may be negative counts as 0: what has it is never made, but its neighbours have their places.
func planMemory(m *ir.Module, c *Context) {
	for _, f := range m.Funcs {
		if f.Kind == ir.Chip || f.Kind == ir.InCore {
			p := &planner{f: f, c: c, spans: map[*ir.Op]span{}, buf: map[*ir.Value]*buffer{}, facts: prove.For(f)}
			p.plan()
		}
	}
}

const arenaAlign = 64

// span is a range of positions in the program; both ends belong to it.
type span struct{ start, end int }

func (a span) overlaps(b span) bool { return a.start <= b.end && b.start <= a.end }

// live is the time in which one value needs its buffer.
type live struct {
	v *ir.Value
	span
}

// buffer is the memory of one or more values.
type buffer struct {
	lives []live
	bytes ir.Dim
	into  *buffer
}

func (b *buffer) find() *buffer {
	for b.into != nil {
		b = b.into
	}
	return b
}

// hull is the time from the first need to the last.
func (b *buffer) hull() span {
	s := b.lives[0].span
	for _, l := range b.lives[1:] {
		s.start, s.end = min(s.start, l.start), max(s.end, l.end)
	}
	return s
}

type planner struct {
	f     *ir.Func
	c     *Context
	spans map[*ir.Op]span // where each op stands
	block map[*ir.Op]*ir.Block
	buf   map[*ir.Value]*buffer
	regs  *target.Registers // tiles that need none
	facts *prove.Facts
	order []*buffer
	end   int

	tooLarge bool // was reported
}

func (p *planner) plan() {
	p.block = map[*ir.Op]*ir.Block{}
	p.regs = target.Of(p.c.Target).Registers(p.f)
	p.number(p.f.Body)
	p.collect(p.f.Body)
	p.share(p.f.Body)
	p.place()
}

// number gives positions to ops; a region stands between its op's start and end.
func (p *planner) number(b *ir.Block) {
	for _, op := range b.Ops {
		start := p.end
		p.end++
		p.block[op] = b
		for _, r := range op.Regions {
			p.number(r)
		}
		p.spans[op] = span{start, p.end}
		p.end++
	}
}

// collect makes a buffer for each value that has one.
func (p *planner) collect(b *ir.Block) {
	uses := ir.Uses(p.f)
	p.f.WalkBlocks(func(b *ir.Block) {
		if b.Parent != nil && b.Parent.Kind == ir.Fused {
			return
		}
		for _, v := range b.Args {
			if b.Parent != nil {
				p.add(v, uses[v], p.spans[b.Parent].start, b)
			}
		}
		for _, op := range b.Ops {
			at := p.spans[op].start
			if op.Kind == ir.For || op.Kind == ir.While || op.Kind == ir.If {
				at = p.spans[op].end
			}
			for _, v := range op.Results {
				p.add(v, uses[v], at, b)
			}
		}
	})
}

func (p *planner) add(v *ir.Value, uses []ir.Use, def int, home *ir.Block) {
	bytes, ok := p.bytesOf(v)
	if !ok || !p.regs.Memory(v) {
		return
	}
	l := live{v, span{def, def}}
	if _, tensor := v.Type.(*ir.Tensor); tensor {
		l.end = p.end // views of it are not followed
	}
	for _, u := range uses {
		l.end = max(l.end, p.lastUse(u.Op, home))
	}
	if home.Parent != nil && home.Parent.Kind == ir.While && v.Owner == home {
		for _, op := range home.Ops { // the loop may leave there, and its result is this value
			if op.Kind == ir.Cond {
				l.end = max(l.end, p.spans[op].start)
			}
		}
	}
	b := &buffer{lives: []live{l}, bytes: bytes}
	p.buf[v] = b
	p.order = append(p.order, b)
}

// lastUse is until when a use by op keeps a value of block home alive: to the end of every loop between
// them, whose next iteration uses it again.
func (p *planner) lastUse(op *ir.Op, home *ir.Block) int {
	at := p.spans[op].start
	for b := p.block[op]; b != home && b.Parent != nil; b = p.block[b.Parent] {
		if b.Parent.Kind == ir.For || b.Parent.Kind == ir.While {
			at = p.spans[b.Parent].end
		}
	}
	return at
}

// bytesOf is the size of v's buffer; false if it has none.
func (p *planner) bytesOf(v *ir.Value) (ir.Dim, bool) {
	switch t := v.Type.(type) {
	case *ir.Tile:
		return p.sizeOf(v, t.Storage()), true
	case *ir.Tensor:
		if v.Def == nil || v.Def.Kind != ir.CreateTensor {
			return ir.Dim{}, false
		}
		if d := p.sizeOf(v, t.Dims); p.knownAtStart(d) {
			return d, true
		}
		p.c.Diags.Errorf(diag.ScratchSize, v.Def.Span, "the size of a created tensor must be known when the kernel starts").
			Help("make it as large as it can get, and use a slice of it")
	}
	return ir.Dim{}, false
}

// addressSpace is more scratch than any kernel can have; sums of sizes below it fit 64 bits.
const addressSpace = 1 << 47

func (p *planner) sizeOf(v *ir.Value, dims []ir.Dim) ir.Dim {
	sizes := append([]ir.Dim{ir.ConstDim(int64(ir.DTypeOf(v.Type).Size()))}, dims...)
	if _, ok := ir.ProductBelow(addressSpace, sizes); ok {
		for i, d := range sizes {
			if !p.facts.Nonneg(d) {
				sizes[i] = d.Max(ir.ConstDim(0))
			}
		}
		return ir.Product(sizes)
	}
	if !p.tooLarge { // what is made of it is as large
		p.tooLarge = true
		p.c.Diags.Errorf(diag.BadValue, p.placeOf(v), "%s takes more memory than a machine can have", v.Type).
			Help("work on a part at a time")
	}
	return ir.Dim{}
}

func (p *planner) placeOf(v *ir.Value) source.Span {
	switch {
	case v.Def != nil:
		return v.Def.Span
	case v.Owner != nil && v.Owner.Parent != nil:
		return v.Owner.Parent.Span
	}
	return p.f.Span
}

func (p *planner) knownAtStart(d ir.Dim) bool {
	ok := true
	d.Walk(func(a ir.Atom) { ok = ok && (a.Op == ir.AtomSym || a.Val.Owner == p.f.Body) })
	return ok
}

// share lets values use one buffer: always those that are the same tile under another name, and where
// nothing is lost, those that a loop or branch hands on.
func (p *planner) share(b *ir.Block) {
	for _, op := range b.Ops {
		for _, r := range op.Regions {
			if op.Kind != ir.Fused {
				p.share(r)
			}
		}
		switch op.Kind {
		case ir.Reshape:
			p.union(op.Result(), op.Val("x"))
		case ir.MatMulAcc:
			p.try(op.Result(), op.Val("acc"))
		case ir.For:
			p.shareLoop(op, op.Regions[0].Args[1:])
		case ir.While:
			p.shareLoop(op, op.Regions[0].Args)
		case ir.If:
			for i, r := range op.Results {
				for _, arm := range op.Regions {
					p.try(r, arm.Terminator().Vals("values")[i])
				}
			}
		}
	}
}

func (p *planner) shareLoop(op *ir.Op, args []*ir.Value) {
	for i, a := range args {
		p.union(op.Results[i], a)
		if y := op.Regions[0].Terminator().Vals("values")[i]; y != a {
			p.try(a, y)
		}
		p.try(a, op.Vals("init_values")[i])
	}
}

// union makes a and b one buffer.
func (p *planner) union(a, b *ir.Value) {
	x, y := p.buf[a], p.buf[b]
	if x == nil || y == nil {
		return
	}
	if x, y = x.find(), y.find(); x != y {
		x.lives = append(x.lives, y.lives...)
		y.into = x
	}
}

// try makes a and b one buffer unless some value in it is needed while another is there.
func (p *planner) try(a, b *ir.Value) {
	x, y := p.buf[a], p.buf[b]
	if x == nil || y == nil {
		return
	}
	if x, y = x.find(), y.find(); x == y || !x.bytes.Equal(y.bytes) {
		return
	}
	for _, l := range x.lives {
		for _, k := range y.lives {
			if l.overlaps(k.span) && !p.inPlace(l, k) && !p.inPlace(k, l) {
				return
			}
		}
	}
	p.union(a, b)
}

// inPlace reports whether old ends just where an op makes neu from it, element by element.
func (p *planner) inPlace(old, neu live) bool {
	op := neu.v.Def
	if op == nil {
		return p.handsOver(old, neu)
	}
	if old.end != neu.start || p.spans[op].start != neu.start {
		return false
	}
	switch op.Kind {
	case ir.Fused:
		for _, v := range op.Vals("ins") {
			if v == old.v && ir.DimsEqual(ir.ShapeOf(v.Type), ir.ShapeOf(neu.v.Type)) && ir.DTypeOf(v.Type) == ir.DTypeOf(neu.v.Type) {
				return true
			}
		}
	case ir.MatMulAcc:
		return op.Val("acc") == old.v && op.Val("lhs") != old.v && op.Val("rhs") != old.v
	}
	return false
}

// handsOver reports whether neu is a loop's argument and old its initial value, whose last use is that.
func (p *planner) handsOver(old, neu live) bool {
	b := neu.v.Owner
	return b != nil && b.Parent != nil && initOf(neu.v) == old.v && old.end == p.spans[b.Parent].start && neu.start == old.end
}
