// Package target says what passes and code generators must agree on about a machine: how tiles are cut into
// blocks that fit registers, and which tiles stay there. FuseTileOps cuts, PlanMemory leaves such tiles
// without memory, and the code generator keeps them where the others expect it to.
package target

import "ptoc/ir"

// Target is one kind of machine.
type Target struct {
	Name  string
	Block int64 // elements of the blocks that loops over long rows are cut into
	// Shared is how many bytes of tiles fit a block's fast memory; 0: it has none of its own.
	Shared int64
	// Stages is how many places the tiles have that a turn of a loop loads, so that loads overlap products; 1 where
	// they cannot.
	Stages    int64
	fragments bool // what products add to can be held as fragments
	// fits reports whether registers can hold a row; serves whether a fused loop can work on v, which it
	// makes or reads, there.
	fits   func(t *ir.Tile) bool
	serves func(op *ir.Op, v *ir.Value, regs map[*ir.Value]bool) bool
}

// Of is the target of that name; the CPU where nobody says.
func Of(name string) *Target {
	if name == GPU.Name {
		return GPU
	}
	return CPU
}

// Registers says which tiles of a function live in registers.
type Registers struct {
	// Rows are small ones that only fused loops touch, and loops carry, such as the accumulator of a loop over peers.
	Rows map[*ir.Value]bool
	// Fragments are what products add to.
	Fragments map[*ir.Value]bool
	stored    map[*ir.Value]bool // fragments that lie in memory, too
}

// Memory reports whether tile v has a place in memory.
func (g *Registers) Memory(v *ir.Value) bool {
	return !g.Rows[v] && (!g.Fragments[v] || g.stored[v])
}

// Registers decides which tiles of f live in registers.
func (t *Target) Registers(f *ir.Func) *Registers {
	g := &Registers{Rows: t.rows(f), Fragments: map[*ir.Value]bool{}, stored: map[*ir.Value]bool{}}
	if t.fragments {
		g.findFragments(f)
	}
	return g
}

func (t *Target) rows(f *ir.Func) map[*ir.Value]bool {
	regs := map[*ir.Value]bool{}
	yields := map[*ir.Op]bool{} // of counting and fused loops
	add := func(vs []*ir.Value) {
		for _, v := range vs {
			if tile, ok := v.Type.(*ir.Tile); ok && t.fits(tile) {
				regs[v] = true
			}
		}
	}
	f.Body.Walk(func(op *ir.Op) {
		if op.Kind != ir.Fused && op.Kind != ir.For {
			return
		}
		yields[op.Regions[0].Terminator()] = true
		add(op.Results)
		add(op.Regions[0].Args)
	})
	for n := -1; len(regs) > 0 && n != len(regs); {
		n = len(regs)
		f.Body.Walk(func(op *ir.Op) { t.drop(op, regs, yields) })
	}
	return regs
}

// drop removes tiles that op uses or makes in a way that registers do not serve.
func (t *Target) drop(op *ir.Op, regs map[*ir.Value]bool, yields map[*ir.Op]bool) {
	switch {
	case op.Kind == ir.Fused:
		for _, v := range operands(op) {
			if regs[v] && !t.serves(op, v, regs) {
				delete(regs, v)
			}
		}
	case op.Kind == ir.For:
		body := op.Regions[0]
		for i, r := range op.Results {
			together(regs, r, body.Args[i+1], op.Vals("init_values")[i], body.Terminator().Vals("values")[i])
		}
	case !yields[op]:
		for _, v := range op.Operands() {
			delete(regs, v)
		}
	}
}

// IsLoad reports whether op loads a tile, or copies one, as it is.
func IsLoad(op *ir.Op) bool {
	if op.Kind != ir.Fused || len(op.Results) != 1 || len(op.Vals("outs")) > 0 {
		return false
	}
	body := op.Regions[0]
	return len(body.Ops) == 1 && len(body.Args) == 1 && body.Terminator().Vals("values")[0] == body.Args[0]
}

// together keeps all of vs or none.
func together(regs map[*ir.Value]bool, vs ...*ir.Value) {
	for _, v := range vs {
		if !regs[v] {
			for _, v := range vs {
				delete(regs, v)
			}
			return
		}
	}
}

// operands are the tiles and views that a fused loop works on: what it reads and makes.
func operands(op *ir.Op) []*ir.Value {
	return append(append([]*ir.Value(nil), op.Results...), op.Vals("ins")...)
}

// Row is the last extent of a shape whose others are 1.
func Row(dims []ir.Dim) (ir.Dim, bool) {
	for i, d := range dims {
		if i == len(dims)-1 {
			return d, true
		}
		if !d.Is(1) {
			return ir.Dim{}, false
		}
	}
	return ir.Dim{}, false
}
