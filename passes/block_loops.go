package passes

import (
	"slices"

	"ptoc/ir"
	"ptoc/ir/prove"
)

// blockLoops is the second half of FuseTileOps. Where a loop carries a tile through an elementwise body,
// it turns the nest inside out: blocks of the tile outside, the loop inside, so that a block stays in
// registers from the first load to the last store. The target says how large a block is; the example is the
// CPU's.
//
// Before:                                        After:
//
//	acc = fused(load from peer 0)                  for c in pl.range(0, n - n % 128, 128):
//	for p, (acc,) in pl.range(1, nr, ...):             acc = fused(128 elements from peer 0)
//	    acc += fused(load from peer p)                 for p, (acc,) in pl.range(1, nr, ...):
//	for p in pl.range(nr):                                 acc += fused(128 elements from peer p)
//	    fused(store acc to peer p)                     for p in pl.range(nr):
//	                                                       fused(store 128 elements to peer p)
//	                                               the same for the n % 128 elements that remain
//
// Legal when the group touches memory at the same index in every iteration, and nothing outside of the
// group needs its tiles. Reports whether it changed anything.
func blockLoops(f *ir.Func, size int64) bool {
	changed := false
	uses := ir.Uses(f)
	f.WalkBlocks(func(b *ir.Block) {
		for i := 0; i < len(b.Ops); i++ {
			g := findGroup(b, i, size, uses)
			if g == nil {
				continue
			}
			i = g.rewrite(f, b)
			changed = true
		}
	})
	return changed
}

// group is a run of ops of one block that becomes a loop over blocks of their tiles.
type group struct {
	size       int64    // elements of a block
	first, end int      // ops [first, end) of the block
	moved      []*ir.Op // the fused loops and loops of them
	kept       []*ir.Op // scalar ops and views between them: they stay in front
	shape      []*ir.Value
	dims       []ir.Dim
	cap        []ir.Dim           // the largest that dims may be; nil: they are it
	tiles      map[*ir.Value]bool // made in the group
	reads      []access
	writes     []access
}

// findGroup looks for a loop at position i that carries tiles, and for what belongs around it.
func findGroup(b *ir.Block, i int, size int64, uses map[*ir.Value][]ir.Use) *group {
	loop := b.Ops[i]
	if loop.Kind != ir.For || len(loop.Results) == 0 {
		return nil
	}
	t, ok := loop.Results[0].Type.(*ir.Tile)
	if !ok || !blockable(t, size) {
		return nil
	}
	g := &group{size: size, first: i, end: i, dims: t.Dims, cap: t.Cap, tiles: map[*ir.Value]bool{}}
	for g.first > 0 && g.belongs(b.Ops[g.first-1]) {
		g.first--
	}
	// As far forward as it goes, then back until nothing outside needs a tile of the group.
	for j := g.first; j < len(b.Ops) && g.take(b.Ops[j]); j++ {
		g.end = j + 1
		if j >= i && g.closed(uses) {
			if best := g.extend(b, j+1, uses); best != nil {
				g = best
			}
			return g.legal()
		}
	}
	return nil
}

// extend adds what follows as long as it belongs to the group and stays closed.
func (g *group) extend(b *ir.Block, from int, uses map[*ir.Value][]ir.Use) *group {
	for j := from; j < len(b.Ops) && touchesTiles(b.Ops[j], g.tiles); j++ {
		if !g.take(b.Ops[j]) || !g.closed(uses) {
			return nil
		}
		g.end = j + 1
	}
	return g
}

func touchesTiles(op *ir.Op, tiles map[*ir.Value]bool) bool {
	hit := false
	visit := func(o *ir.Op) {
		for _, v := range o.Operands() {
			hit = hit || tiles[v]
		}
	}
	visit(op)
	for _, r := range op.Regions {
		r.Walk(visit)
	}
	return hit
}

// blockable: one row, long enough to be worth it.
func blockable(t *ir.Tile, size int64) bool {
	dims := t.Dims
	for i, d := range dims {
		if i < len(dims)-1 && !d.Is(1) {
			return false
		}
	}
	if len(dims) == 0 {
		return false
	}
	n, ok := t.Storage()[len(dims)-1].Const()
	return !ok || n > size
}

// belongs reports whether op may be part of the group: a fused loop of its shape, a loop of such, or
// something that can run before the group.
func (g *group) belongs(op *ir.Op) bool {
	switch op.Kind {
	case ir.Fused:
		return ir.DimsEqual(ir.DimsOf(op.Vals("shape")), g.dims) && g.roomFor(ir.DimsOf(op.Vals("cap"))) && g.sameOperands(op)
	case ir.For:
		return g.loopBelongs(op)
	}
	return movable(op)
}

// roomFor: the group's tiles are made for as much as one with cap, nil if it has none: one check serves them all.
func (g *group) roomFor(cap []ir.Dim) bool {
	return ir.DimsEqual(cap, g.cap)
}

// movable reports whether op computes scalars or views only.
func movable(op *ir.Op) bool {
	if !op.Kind.Pure() || len(op.Results) == 0 {
		return false
	}
	for _, r := range op.Results {
		if _, tile := r.Type.(*ir.Tile); tile {
			return false
		}
	}
	return true
}

// sameOperands: no operand broadcasts.
func (g *group) sameOperands(op *ir.Op) bool {
	for _, v := range append(append([]*ir.Value(nil), op.Vals("ins")...), op.Vals("outs")...) {
		if !ir.DimsEqual(ir.ShapeOf(v.Type), g.dims) {
			return false
		}
	}
	return len(op.Vals("ins")) > 0 || len(op.Results) > 0
}

func (g *group) loopBelongs(op *ir.Op) bool {
	for _, r := range op.Results {
		t, ok := r.Type.(*ir.Tile)
		if !ok || !ir.DimsEqual(t.Dims, g.dims) || !g.roomFor(t.Cap) {
			return false
		}
	}
	for _, in := range op.Regions[0].Ops {
		if in.Kind != ir.Yield && !g.belongs(in) {
			return false
		}
	}
	return true
}

// take adds op to the group; false if it does not belong.
func (g *group) take(op *ir.Op) bool {
	if !g.belongs(op) {
		return false
	}
	if op.Kind != ir.Fused && op.Kind != ir.For {
		g.kept = append(g.kept, op)
		return true
	}
	g.moved = append(g.moved, op)
	g.note(op)
	for _, r := range op.Regions {
		r.Walk(g.note)
	}
	return true
}

// note collects the tiles that op makes and the memory that it touches.
func (g *group) note(op *ir.Op) {
	for _, v := range op.Results {
		g.tiles[v] = true
	}
	if op.Kind == ir.For {
		for _, v := range op.Regions[0].Args[1:] {
			g.tiles[v] = true
		}
	}
	if op.Kind != ir.Fused {
		return
	}
	if g.shape == nil {
		g.shape = op.Vals("shape")
	}
	for _, v := range op.Vals("ins") {
		if _, tile := v.Type.(*ir.Tile); !tile {
			g.reads = append(g.reads, viewAccess(v, false))
		}
	}
	for _, v := range op.Vals("outs") {
		g.writes = append(g.writes, viewAccess(v, true))
	}
}

// viewAccess is the access of all of a view: of its last slice, if it is one of memory as a whole.
func viewAccess(v *ir.Value, write bool) access {
	root, peer := ir.Root(v)
	a := access{root: root, view: v, shape: ir.ShapeOf(v.Type), remote: peer != nil, write: write}
	if v.Def != nil && v.Def.Kind == ir.Slice {
		a.offs = v.Def.Vals("offsets")
		v = v.Def.Val("x")
	} else {
		a.offs = zeroOffsets(len(a.shape))
	}
	if v.Def != nil && v.Def.Kind == ir.Peer {
		v = v.Def.Val("target")
	}
	a.view = v
	return a
}

func zeroOffsets(n int) []*ir.Value {
	out := make([]*ir.Value, n)
	for i := range out {
		out[i] = ir.Index(0)
	}
	return out
}

// closed reports whether only the group itself uses its tiles.
func (g *group) closed(uses map[*ir.Value][]ir.Use) bool {
	inside := map[*ir.Op]bool{}
	for _, op := range g.moved {
		inside[op] = true
		for _, r := range op.Regions {
			r.Walk(func(o *ir.Op) { inside[o] = true })
		}
	}
	for v := range g.tiles {
		for _, u := range uses[v] {
			if !inside[u.Op] {
				return false
			}
		}
	}
	return true
}

// legal is g if turning it inside out changes nothing that can be seen.
func (g *group) legal() *group {
	for _, w := range g.writes {
		// The order of writes to one place must stay: it does if every iteration writes the same places.
		if len(w.offs) == 0 || dependsOn(w, g) {
			return nil
		}
		for _, a := range append(append([]access(nil), g.reads...), g.writes...) {
			if conflict(w, a) && !sameIndex(w, a) {
				return nil
			}
		}
	}
	for _, op := range g.moved { // tiles from outside would have to be cut
		ok := true
		check := func(o *ir.Op) {
			for _, v := range o.Operands() {
				if _, tile := v.Type.(*ir.Tile); tile && !g.tiles[v] {
					ok = false
				}
			}
		}
		check(op)
		for _, r := range op.Regions {
			r.Walk(check)
		}
		if !ok {
			return nil
		}
	}
	return g
}

// dependsOn reports whether where w writes depends on a value that is made inside the group's loops.
func dependsOn(w access, g *group) bool {
	for _, op := range g.moved {
		inner := map[*ir.Value]bool{}
		for _, r := range op.Regions {
			for _, a := range r.Args {
				inner[a] = true
			}
			r.Walk(func(o *ir.Op) {
				for _, v := range o.Results {
					inner[v] = true
				}
				for _, q := range o.Regions {
					for _, a := range q.Args {
						inner[a] = true
					}
				}
			})
		}
		if slices.ContainsFunc(w.offs, func(v *ir.Value) bool { return inner[v] }) || inner[w.view] {
			return true
		}
	}
	return false
}

// rewrite replaces the group in b and returns the position of its last op.
func (g *group) rewrite(f *ir.Func, b *ir.Block) int {
	rest := append([]*ir.Op(nil), b.Ops[g.end:]...)
	b.Ops = append(b.Ops[:g.first:g.first], g.kept...)
	bl := ir.NewBuilder(f, b).At(g.moved[0].Span)
	if g.cap != nil && !certainlyWithin(f, g.dims, g.cap) {
		g.check(bl)
	}
	n := g.dims[len(g.dims)-1]
	size := ir.ConstDim(g.size)
	whole := n.Sub(n.Mod(size))
	extent := g.shape[len(g.shape)-1]
	tail, _ := bl.Binary(ir.Modulo, extent, ir.Index(g.size))
	stop, _ := bl.Binary(ir.Sub, extent, tail)
	if !whole.Is(0) {
		_, body := bl.For("range", ir.Index(0), stop, ir.Index(g.size))
		body.Block.Args[0].Name = "c"
		body.Span = bl.Span
		g.emit(f, body, body.Block.Args[0], ir.Index(g.size), nil)
	}
	if !n.Mod(size).Is(0) {
		g.tail(f, bl, stop, tail)
	}
	at := len(b.Ops) - 1
	b.Ops = append(b.Ops, rest...)
	return at
}

// certainlyWithin: extents lie between 0 and most.
func certainlyWithin(f *ir.Func, dims, most []ir.Dim) bool {
	facts := prove.For(f)
	for i, d := range dims {
		if !facts.Nonneg(d) || !facts.Nonneg(most[i].Sub(d)) {
			return false
		}
	}
	return true
}

// check leaves a loop over nothing, which checks the extents: the blocks are within them whatever they are.
func (g *group) check(bl *ir.Builder) {
	loop, body := bl.Fused(nil, nil, g.shape)
	loop.Set("cap", bl.Dims(g.cap)...)
	body.Yield()
	if err := bl.Finish(loop); err != nil {
		panic(err)
	}
}

// tail handles the elements behind the last whole block.
func (g *group) tail(f *ir.Func, bl *ir.Builder, at, count *ir.Value) {
	some, err := bl.Compare("GT", count, ir.Index(0))
	if err != nil {
		panic(err)
	}
	to := bl
	if !some.IsConst() {
		_, then, _ := bl.If(some)
		to = then
	}
	g.emit(f, to, at, count, ir.Index(g.size))
}

// emit copies the group's loops for the elements [at, at + count).
func (g *group) emit(f *ir.Func, to *ir.Builder, at, count, capacity *ir.Value) {
	if _, number := count.ConstInt(); number {
		capacity = nil
	}
	c := ir.NewCloner(f)
	e := &blockEmitter{g: g, c: c, at: at, count: count, capacity: capacity, views: map[string]*ir.Value{}}
	for _, op := range g.moved {
		to.Span = op.Span
		e.op(op, to)
	}
}

type blockEmitter struct {
	g                   *group
	c                   *ir.Cloner
	at, count, capacity *ir.Value
	views               map[string]*ir.Value
}

func (e *blockEmitter) op(op *ir.Op, to *ir.Builder) {
	switch op.Kind {
	case ir.Fused:
		e.fused(op, to)
	case ir.For:
		e.loop(op, to)
	case ir.Yield:
		if vs := op.Vals("values"); len(vs) > 0 {
			to.Yield(e.c.Values(vs)...)
		}
	default:
		clone := e.c.Op(op)
		to.Insert(clone)
	}
}

func (e *blockEmitter) loop(op *ir.Op, to *ir.Builder) {
	kind := ir.LoopKind.Values[op.Enum("kind").Value]
	loop, body := to.For(kind, e.c.Value(op.Val("start")), e.c.Value(op.Val("stop")), e.c.Value(op.Val("step")), e.c.Values(op.Vals("init_values"))...)
	for i, a := range op.Regions[0].Args {
		body.Block.Args[i].Name = a.Name
		e.c.Map(a, body.Block.Args[i])
	}
	for i, r := range op.Results {
		loop.Results[i].Name = r.Name
		e.c.Map(r, loop.Results[i])
	}
	for _, in := range op.Regions[0].Ops {
		body.Span = in.Span
		e.op(in, body)
	}
}

func (e *blockEmitter) fused(op *ir.Op, to *ir.Builder) {
	shape := append([]*ir.Value(nil), op.Vals("shape")...)
	shape[len(shape)-1] = e.count
	operand := func(v *ir.Value) *ir.Value {
		w := e.c.Value(v)
		if _, tile := v.Type.(*ir.Tile); tile {
			return w
		}
		offs := zeroOffsets(len(shape))
		offs[len(offs)-1] = e.at
		return to.Add(ir.Slice).Set("x", w).Set("shape", shape...).Set("offsets", offs...).Name(v.Name).Must().Result()
	}
	var ins, outs []*ir.Value
	for _, v := range op.Vals("ins") {
		ins = append(ins, operand(v))
	}
	for _, v := range op.Vals("outs") {
		outs = append(outs, operand(v))
	}
	loop, body := to.Fused(ins, outs, shape)
	if op.Bool("stream") {
		loop.SetAttr("stream", true)
	}
	for i, a := range op.Regions[0].Args {
		body.Block.Args[i].Name = a.Name
		e.c.Map(a, body.Block.Args[i])
	}
	e.c.Ops(op.Regions[0].Ops, body.Block)
	if e.capacity != nil && len(op.Results) > 0 {
		caps := append([]*ir.Value(nil), shape...)
		caps[len(caps)-1] = e.capacity
		loop.Set("cap", caps...)
	}
	var names []string
	for _, r := range op.Results {
		names = append(names, r.Name)
	}
	if err := to.Finish(loop, names...); err != nil {
		panic(err)
	}
	for i, r := range op.Results {
		e.c.Map(r, loop.Results[i])
	}
}
