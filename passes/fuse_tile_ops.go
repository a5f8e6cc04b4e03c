package passes

import (
	"ptoc/codegen/target"
	"ptoc/ir"
)

// fuseTileOps turns chains of loads, elementwise ops and stores into loops with a scalar body, so that
// what they hand on stays in registers.
//
// Before:                                        After:
//
//	t = pl.load(x, [0, 0], [1, 256])               d = pld.tensor.peer_view(data, p)
//	u = pld.tile.remote_load(data, p, ...)         for (a, b) in pl.fused(ins=(x, d), outs=(y,), shape=[1, 256]):
//	v = t + u                                          s = a + b
//	pl.store(v, [0, 0], y)                             r = pl.yield_(s)
//
// Ops of one shape join where the earlier ones may run as late as the last one does: no op between them
// uses what they make, conflicts with their memory, or signals, waits or fences. Loads and constants are
// repeated where they broadcast into another shape; nothing else is ever computed twice. A loop of tiles with a
// valid_shape keeps what they were made for as cap=, against which its extents are checked. A loop over
// peers that carries a tile then becomes a loop over blocks of the tile, with the peers inside (see
// blockLoops). Afterwards no load, store or elementwise tile op is left, except atomic stores.
func fuseTileOps(m *ir.Module, c *Context) {
	for _, f := range m.Funcs {
		if f.Kind != ir.Chip && f.Kind != ir.InCore {
			continue
		}
		z := &fuser{f: f, c: c, uses: ir.Uses(f), shapes: map[*ir.Value][]*ir.Value{}, by: map[*ir.Value]*ir.Value{}}
		f.WalkBlocks(z.block)
		f.Replace(z.by)
		tidy(f)
		if blockLoops(f, target.Of(c.Target).Block) {
			tidy(f)
		}
	}
}

// tidy drops what is not needed any more and deduces types again.
func tidy(f *ir.Func) {
	dropUnused(f)
	if err := ir.Retype(f); err != nil {
		panic(err)
	}
}

// fuser is the state of one function.
type fuser struct {
	f      *ir.Func
	c      *Context
	uses   map[*ir.Value][]ir.Use
	shapes map[*ir.Value][]*ir.Value // tile -> operands that give its extents
	by     map[*ir.Value]*ir.Value   // tiles replaced by a fused loop's results
	owner  map[*ir.Op]*cluster       // of the ops of the block at hand
}

// cluster is a set of ops that become one fused loop, at the place of its last member.
type cluster struct {
	key    string // shape and storage
	ops    []*ir.Op
	member map[*ir.Op]bool
	access []access
	last   int
	open   bool // may still take in ops
	stream bool
	stores bool
	into   *cluster        // merged into another one
	repeat map[*ir.Op]bool // loads and constants of other clusters that this one does again
}

// final is the cluster that c ended up in.
func (c *cluster) final() *cluster {
	for c != nil && c.into != nil {
		c = c.into
	}
	return c
}

// block finds the clusters of one block and replaces them.
func (z *fuser) block(b *ir.Block) {
	if b.Parent != nil && b.Parent.Kind == ir.Fused {
		return
	}
	z.c.poll()
	var clusters []*cluster
	of := map[*ir.Op]*cluster{}
	z.owner = of
	for i, op := range b.Ops {
		var c *cluster
		if fusable(op) {
			c = z.join(op, clusters, of)
			if c == nil {
				c = &cluster{key: clusterKey(op), member: map[*ir.Op]bool{}, repeat: map[*ir.Op]bool{}, open: true}
				clusters = append(clusters, c)
			}
			c.repeats(op, of)
			c.add(op, i)
			of[op] = c
		}
		for _, d := range clusters {
			if d.open && d != c && z.blocks(d, op, c) {
				d.open = false
			}
		}
	}
	z.emit(b, clusters)
}

// fusable reports whether op is elementwise work on tiles or memory.
func fusable(op *ir.Op) bool {
	switch op.Kind {
	case ir.Load, ir.RemoteLoad, ir.Full:
		return true
	case ir.Store, ir.RemoteStore:
		return !op.Enum("atomic").Is("Add")
	}
	if op.Kind.Map != ir.Elementwise || op.Kind.Scalar == "" || op.Result() == nil {
		return false
	}
	_, tile := op.Result().Type.(*ir.Tile)
	return tile
}

func isStore(op *ir.Op) bool { return op.Kind == ir.Store || op.Kind == ir.RemoteStore }
func isLoad(op *ir.Op) bool  { return op.Kind == ir.Load || op.Kind == ir.RemoteLoad }

// tileOf is the tile whose shape op works in.
func tileOf(op *ir.Op) *ir.Tile {
	if isStore(op) {
		return op.Val("tile").Type.(*ir.Tile)
	}
	return op.Result().Type.(*ir.Tile)
}

func clusterKey(op *ir.Op) string {
	t := tileOf(op)
	return ir.TypeText(&ir.Tuple{Elems: []ir.Type{&ir.Tile{Dims: t.Dims, DType: ir.FP32}, &ir.Tile{Dims: t.Storage(), DType: ir.FP32}}}, valueID)
}

func valueID(v *ir.Value) string { return ir.DimOf(v).String() }

func (c *cluster) add(op *ir.Op, at int) {
	c.ops = append(c.ops, op)
	c.member[op] = true
	c.last = at
	c.access = append(c.access, accesses(op)...)
	if isStore(op) {
		c.stores = true
		c.stream = op.Bool("stream")
	}
}

// join finds the cluster that op continues: that of its operands, once those are one. nil: none.
func (z *fuser) join(op *ir.Op, clusters []*cluster, of map[*ir.Op]*cluster) *cluster {
	key := clusterKey(op)
	var into *cluster
	var found []*cluster
	for _, v := range op.Operands() {
		c := of[v.Def] // operands that are not tiles have no fusable def
		if v.Def == nil || c == nil || !c.open || c.key != key || contains(found, c) {
			continue
		}
		found = append(found, c)
	}
	for _, c := range found {
		if !fits(c, op) || into != nil && !mergeable(into, c) {
			continue // its tile is read from memory instead
		}
		if into == nil {
			into = c
			continue
		}
		merge(into, c, of)
	}
	return into
}

func contains(cs []*cluster, c *cluster) bool {
	for _, d := range cs {
		if d == c {
			return true
		}
	}
	return false
}

// fits reports whether op's memory gets along with that of c's members inside one loop.
func fits(c *cluster, op *ir.Op) bool {
	if isStore(op) && c.stores && c.stream != op.Bool("stream") {
		return false
	}
	for _, a := range accesses(op) {
		for _, b := range c.access {
			if !sharesLoop(b, a) {
				return false
			}
		}
	}
	return true
}

func mergeable(a, b *cluster) bool {
	if a.stores && b.stores && a.stream != b.stream {
		return false
	}
	for _, x := range a.access {
		for _, y := range b.access {
			if !sharesLoop(x, y) || !sharesLoop(y, x) {
				return false
			}
		}
	}
	return true
}

// merge moves b's ops into a. Both are open: either may run as late as the op that joins them. Order
// inside the loop does not matter between them, as mergeable has found.
func merge(a, b *cluster, of map[*ir.Op]*cluster) {
	for _, op := range b.ops {
		of[op] = a
		a.member[op] = true
	}
	for op := range b.repeat {
		a.repeat[op] = true
	}
	a.ops = append(a.ops, b.ops...)
	a.access = append(a.access, b.access...)
	a.stores, a.stream = a.stores || b.stores, a.stream || b.stream
	b.open, b.into = false, a
}

// blocks reports whether the ops of d may not move behind op. A use of a load's or a constant's tile in
// another shape does not count: it is repeated there.
func (z *fuser) blocks(d *cluster, op *ir.Op, joined *cluster) bool {
	if usesTiles(op, d, joined) {
		return true
	}
	if len(d.access) == 0 {
		return false
	}
	if fusable(op) {
		for _, a := range accesses(op) {
			for _, b := range d.access {
				if conflict(b, a) {
					return true
				}
			}
		}
		return false
	}
	for _, e := range ir.EffectsOf(op) {
		switch e.Kind {
		case ir.Signals, ir.Waits, ir.Fences, ir.Blocks:
			return true
		case ir.Reads, ir.RemoteReads, ir.Writes, ir.RemoteWrites:
			write := e.Kind == ir.Writes || e.Kind == ir.RemoteWrites
			for _, b := range d.access {
				if conflict(b, access{root: e.Mem, write: write}) {
					return true
				}
			}
		}
	}
	return false
}

// usesTiles reports whether op, or an op inside it, needs a tile of d as a tile.
func usesTiles(op *ir.Op, d *cluster, joined *cluster) bool {
	for _, v := range op.Operands() {
		if v.Def == nil || !d.member[v.Def] {
			continue
		}
		if joined != nil && joined.repeat[v.Def] {
			continue
		}
		return true
	}
	for _, r := range op.Regions {
		for _, in := range r.Ops {
			if usesTiles(in, d, nil) {
				return true
			}
		}
	}
	return false
}

// repeats notes which operands of op c makes again itself: constants, and loads that broadcast, if they
// may still run here.
func (c *cluster) repeats(op *ir.Op, of map[*ir.Op]*cluster) {
	for _, v := range op.Operands() {
		d := of[v.Def]
		if v.Def == nil || d == nil || d == c || !repeatable(v.Def) || c.repeat[v.Def] {
			continue
		}
		if v.Def.Kind == ir.Full {
			c.repeat[v.Def] = true
		} else if d.open && fits(c, v.Def) && fits(&cluster{access: accesses(op)}, v.Def) {
			c.repeat[v.Def] = true
			c.access = append(c.access, accesses(v.Def)...)
		}
	}
}

// repeatable reports whether an op costs nothing to do again inside another loop.
func repeatable(op *ir.Op) bool { return isLoad(op) || op.Kind == ir.Full }

// dropUnused removes fused loops, views and loads that nobody needs any more.
func dropUnused(f *ir.Func) {
	for {
		uses := ir.Uses(f)
		n := 0
		ir.RemoveOps(f.Body, func(op *ir.Op) bool {
			for _, r := range op.Results {
				if len(uses[r]) > 0 {
					return false
				}
			}
			gone := ir.Removable(op) && (len(op.Results) > 0 || op.Kind == ir.Fused)
			if gone {
				n++
			}
			return gone
		})
		if n == 0 {
			return
		}
	}
}
