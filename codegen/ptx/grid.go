package ptx

import (
	"fmt"

	"ptoc/codegen/lower"
	"ptoc/ir"
	"ptoc/lang/source"
)

// The blocks of a pl.spmd loop are blocks of a grid: block b of B runs the iterations b, b + B, b + 2 B and so
// on. Around such loops a function is one program that all blocks of a rank go through together:
//
//   - control flow that holds such a loop, and what it, or the loop, uses of the values around it: every block
//     computes that for itself. Only what reads can be computed more than once.
//   - everything else: block 0 does it, alone. What it makes so and all need, scalars and tiles, it tells them.
//   - created tensors that all blocks use lie where all reach them.
//
// Where blocks meet in between is found while code is emitted (deal.go). A loop for which this does not work,
// because its blocks hand values on to each other, stays what it is on one core: block 0 runs its iterations one
// after the other.

// plan says who runs what of a function.
type plan struct {
	dealt  map[*ir.Op]bool    // pl.spmd loops
	holds  map[*ir.Op]bool    // control flow and calls with such a loop in them
	every  map[*ir.Op]bool    // what every block computes for itself
	common map[*ir.Value]bool // created tensors of all blocks
	told   map[*ir.Value]bool // scalars and tiles that block 0 tells the others

	undealt []InTurn
}

// InTurn is a pl.spmd loop, or a call of a function with some, whose blocks run one after the other.
type InTurn struct {
	At   source.Span
	Func string
	Why  string
}

// planOf plans f. A plan that deals nothing leaves everything to one block.
func (g *gen) planOf(f *ir.Func) *plan {
	if p := g.plans[f]; p != nil {
		return p
	}
	s := &planner{g: g, banned: map[*ir.Op]string{}}
	for done := false; !done; {
		s.plan = &plan{dealt: map[*ir.Op]bool{}, holds: map[*ir.Op]bool{}, every: map[*ir.Op]bool{}, common: map[*ir.Value]bool{}, told: map[*ir.Value]bool{}}
		s.find(f.Body)
		done = s.needs(f.Body)
	}
	s.scalars(f.Body)
	f.Body.Walk(func(op *ir.Op) {
		if why := s.banned[op]; why != "" {
			s.undealt = append(s.undealt, InTurn{op.Span, f.Name, why})
		}
	})
	g.plans[f] = s.plan
	return s.plan
}

func (p *plan) deals() bool { return len(p.dealt)+len(p.holds) > 0 }

type planner struct {
	*plan
	g      *gen
	banned map[*ir.Op]string // loops and calls that are left to block 0, and why
}

// find looks for the loops to deal, and for what holds them.
func (s *planner) find(b *ir.Block) bool {
	found := false
	for _, op := range b.Ops {
		switch {
		case s.banned[op] != "" || op.Kind == ir.Fused:
		case op.Kind == ir.For && op.Enum("kind").Is("spmd"):
			if len(op.Results) > 0 {
				s.banned[op] = fmt.Sprintf("a block goes on with %s of the block before it", op.Regions[0].Args[1].Name)
				continue
			}
			s.dealt[op], found = true, true
		case op.Kind == ir.Call:
			if s.g.planOf(op.Callee()).deals() {
				s.holds[op], found = true, true
			}
		default:
			for _, r := range op.Regions {
				if s.find(r) {
					s.holds[op], found = true, true
				}
			}
		}
	}
	return found
}

// needs makes sure that all blocks have what they need. Where that cannot be, loops are banned, and the plan
// has to be made anew: the result is then false.
func (s *planner) needs(b *ir.Block) bool {
	for _, op := range b.Ops {
		if !s.dealt[op] && !s.holds[op] {
			continue
		}
		var vs []*ir.Value
		switch {
		case s.dealt[op]:
			vs = free(op)
		default:
			vs = op.Operands()
			for _, r := range op.Regions {
				for _, in := range r.Ops {
					if in.Kind.Terminator || in.Kind == ir.Cond {
						vs = append(vs, in.Operands()...)
					}
				}
			}
		}
		for _, v := range vs {
			if why := s.need(v); why != "" {
				s.ban(op, why)
				return false
			}
		}
		for _, r := range op.Regions {
			if s.holds[op] && !s.needs(r) {
				return false
			}
		}
	}
	return true
}

// ban leaves the loops in op to block 0.
func (s *planner) ban(op *ir.Op, why string) {
	inner := &ir.Block{Ops: []*ir.Op{op}}
	inner.Walk(func(in *ir.Op) {
		if s.dealt[in] || s.holds[in] && in.Kind == ir.Call {
			s.banned[in] = why
		}
	})
}

// need lets every block have v, or says why that cannot be.
func (s *planner) need(v *ir.Value) string {
	if v.IsConst() {
		return s.needAll(dimValues(nil, v.Const.Dim))
	}
	op := v.Def
	switch {
	case op == nil || s.every[op] || s.holds[op]:
		return "" // an argument of the function, or of control flow that all blocks go through
	case op.Kind == ir.CreateTensor:
		s.every[op], s.common[v] = true, true
		return s.needAll(free(op))
	case repeatable(op):
		s.every[op] = true
		return s.needAll(free(op))
	}
	if _, ok := slotSize(v.Type); ok {
		s.told[v] = true
		return s.needAll(dimValues(nil, dimsOf(v.Type)...))
	}
	return fmt.Sprintf("they need %s, a %s, which %s makes: that cannot be done more than once", v.Name, v.Type, maker(op))
}

// maker names what makes a value, as the program has it.
func maker(op *ir.Op) string {
	what := op.Kind.Name
	switch op.Kind {
	case ir.For, ir.While:
		what = "the loop"
	case ir.If:
		what = "the if"
	case ir.Fused:
		what = "the loop that stores elements" // FuseTileOps has made it part of that
	}
	if op.Span.IsValid() {
		what += fmt.Sprintf(" in line %d", op.Span.Pos().Line)
	}
	return what
}

// slotSize is the room that a value takes in the memory where it is told: no value whose size is known only when
// the kernel runs has one.
func slotSize(t ir.Type) (bytes int64, ok bool) {
	switch t := t.(type) {
	case *ir.Scalar:
		return 16, true
	case *ir.Tile:
		n, known := ir.Product(t.Storage()).Const()
		return (n*int64(t.DType.Size()) + 15) &^ 15, known
	}
	return 0, false
}

func (s *planner) needAll(vs []*ir.Value) string {
	for _, v := range vs {
		if why := s.need(v); why != "" {
			return why
		}
	}
	return ""
}

// scalars are cheaper to compute everywhere than to tell apart.
func (s *planner) scalars(b *ir.Block) {
	for _, op := range b.Ops {
		if s.holds[op] {
			for _, r := range op.Regions {
				s.scalars(r)
			}
		}
		if op.Kind.Pure() && len(op.Regions) == 0 && !makesTile(op) && s.have(free(op)) {
			s.every[op] = true
		}
	}
}

func makesTile(op *ir.Op) bool {
	for _, r := range op.Results {
		switch r.Type.(type) {
		case *ir.Tile, *ir.Array:
			return true
		}
	}
	return false
}

// have reports whether every block has all of vs.
func (s *planner) have(vs []*ir.Value) bool {
	for _, v := range vs {
		if v.Def != nil && !s.every[v.Def] && !s.holds[v.Def] && !s.told[v] {
			return false
		}
	}
	return true
}

// repeatable: every block may do it for itself and gets the same. What reads signals may not.
func repeatable(op *ir.Op) bool {
	for _, m := range ir.EffectsOf(op) {
		if m.Kind != ir.Reads && m.Kind != ir.RemoteReads {
			return false
		}
		if m.Op.Kind == ir.Read || m.Op.Kind == ir.Call {
			if t := m.View.Type.(*ir.Tensor); t.Window && t.DType == ir.INT32 {
				return false
			}
		}
	}
	return true
}

// free are the values that op uses and does not make itself.
func free(op *ir.Op) []*ir.Value {
	var used []*ir.Value
	own := map[*ir.Value]bool{}
	top := &ir.Block{Ops: []*ir.Op{op}}
	top.Walk(func(in *ir.Op) {
		used = append(used, in.Operands()...)
		for _, r := range in.Results {
			own[r] = true
			used = dimValues(used, dimsOf(r.Type)...)
		}
		for _, r := range in.Regions {
			for _, a := range r.Args {
				own[a] = true
				used = dimValues(used, dimsOf(a.Type)...)
			}
		}
	})
	var out []*ir.Value
	for _, v := range used {
		if v.IsConst() {
			out = dimValues(out, v.Const.Dim)
		} else {
			out = append(out, v)
		}
	}
	used, out = out, nil
	for _, v := range used {
		if !own[v] {
			own[v] = true
			out = append(out, v)
		}
	}
	return out
}

func dimsOf(t ir.Type) []ir.Dim {
	switch t := t.(type) {
	case *ir.Tensor:
		return t.Dims
	case *ir.Tile:
		return append(append([]ir.Dim(nil), t.Dims...), t.Storage()...)
	}
	return nil
}

// dimValues appends the values that dims are made of.
func dimValues(to []*ir.Value, dims ...ir.Dim) []*ir.Value {
	for _, d := range dims {
		d.Walk(func(a ir.Atom) {
			if a.Op == ir.AtomVal {
				to = append(to, a.Val)
			}
		})
	}
	return to
}

// ranksSym stands for the number of ranks in Kernel.Blocks. No symbol of a program is called so.
const ranksSym = "%ranks"

// manyBlocks: a loop whose length is known only when the kernel runs can use what there is.
const manyBlocks = 1 << 20

// blocks is how many blocks f can use, in terms of its parameters and symbols.
func (g *gen) blocks(f *ir.Func) ir.Dim {
	p := g.planOf(f)
	most := ir.ConstDim(1)
	f.Body.Walk(func(op *ir.Op) {
		switch {
		case p.dealt[op]:
			most = most.Max(atStart(f, ir.DimOf(op.Val("stop"))))
		case p.holds[op] && op.Kind == ir.Call:
			callee := op.Callee()
			bind, _ := lower.Bind(op)
			most = most.Max(atStart(f, g.blocks(callee).Subst(func(a ir.Atom) (ir.Dim, bool) {
				if a.Op == ir.AtomVal {
					for i, x := range callee.Params() {
						if x == a.Val {
							return ir.DimOf(op.Vals("args")[i]), true
						}
					}
				}
				return bind.Subst(a)
			})))
		}
	})
	return most
}

// atStart is d in terms of what the host knows when it launches f.
func atStart(f *ir.Func, d ir.Dim) ir.Dim {
	known := true
	d = d.Subst(func(a ir.Atom) (ir.Dim, bool) {
		switch {
		case a.Op != ir.AtomVal || lower.IsParam(f, a.Val):
			return ir.Dim{}, false
		case a.Val.Def != nil && a.Val.Def.Kind == ir.NRanks:
			return ir.SymDim(ranksSym), true
		}
		known = false
		return ir.Dim{}, false
	})
	if !known {
		return ir.ConstDim(manyBlocks)
	}
	return d
}

// shared is what all blocks of f share: the bytes of values that are told, callees' too, and whether there are
// tensors.
func (g *gen) shared(f *ir.Func) (told int64, tensors bool) {
	p := g.planOf(f)
	for v := range p.told {
		n, _ := slotSize(v.Type)
		told += n
	}
	tensors = len(p.common) > 0
	f.Body.Walk(func(op *ir.Op) {
		if p.holds[op] && op.Kind == ir.Call {
			n, some := g.shared(op.Callee())
			told, tensors = told+n, tensors || some
		}
	})
	return told, tensors
}
