package passes

import "ptoc/ir"

// dropDead removes ops whose results nobody uses and that nobody would miss otherwise, and results
// and carried values that nobody uses. One walk backwards sees every use before its definition.
func (s *simplifier) dropDead() {
	d := &deadCode{uses: map[*ir.Value]int{}}
	s.f.Walk(func(op *ir.Op) { d.count(op, 1) })
	d.block(s.f.Body)
	s.changed = s.changed || d.changed
}

type deadCode struct {
	uses    map[*ir.Value]int
	changed bool
}

// count adds n for each operand of op itself.
func (d *deadCode) count(op *ir.Op, n int) {
	for i := range op.Args {
		for _, v := range op.Args[i].Vals {
			if !v.IsConst() {
				d.uses[v] += n
			}
		}
	}
}

func (d *deadCode) block(b *ir.Block) {
	ops := b.Ops
	end := len(ops)
	for i := len(ops) - 1; i >= 0; i-- {
		op := ops[i]
		if d.dead(op) {
			d.remove(op)
			continue
		}
		d.results(op)
		for j := len(op.Regions) - 1; j >= 0; j-- {
			d.block(op.Regions[j])
		}
		end--
		ops[end] = op
	}
	if end > 0 {
		n := copy(ops, ops[end:])
		clear(ops[n:])
		b.Ops = ops[:n]
	}
}

func (d *deadCode) dead(op *ir.Op) bool {
	for _, r := range op.Results {
		if d.uses[r] > 0 {
			return false
		}
	}
	return ir.Removable(op)
}

func (d *deadCode) remove(op *ir.Op) {
	d.changed = true
	d.count(op, -1)
	for _, r := range op.Regions {
		r.Walk(func(inner *ir.Op) { d.count(inner, -1) })
	}
}

// results drops results of branches and carried values of loops that nobody reads.
func (d *deadCode) results(op *ir.Op) {
	switch op.Kind {
	case ir.If:
		for i := len(op.Results) - 1; i >= 0; i-- {
			if d.uses[op.Results[i]] > 0 {
				continue
			}
			for _, r := range op.Regions {
				d.unyield(r, i)
			}
			op.Results = without(op.Results, i)
			d.changed = true
		}
	case ir.For, ir.While:
		d.carried(op)
	}
}

func (d *deadCode) unyield(r *ir.Block, i int) {
	y := r.Terminator()
	d.uses[y.Vals("values")[i]]--
	y.Set("values", without(y.Vals("values"), i)...)
}

func (d *deadCode) carried(op *ir.Op) {
	inits := op.Vals("init_values")
	args := op.Regions[0].Args[len(op.Regions[0].Args)-len(inits):]
	yield := op.Regions[0].Terminator()
	var drop []int
	for i := range inits {
		// A use by its own yield alone hands on what nobody reads.
		own := 0
		if yield.Vals("values")[i] == args[i] {
			own = 1
		}
		if d.uses[op.Results[i]] == 0 && d.uses[args[i]] == own {
			d.uses[inits[i]]--
			d.uses[yield.Vals("values")[i]]--
			drop = append(drop, i)
		}
	}
	if len(drop) > 0 {
		dropCarried(op, drop)
		d.changed = true
	}
}
