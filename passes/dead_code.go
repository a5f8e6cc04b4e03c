package passes

import "ptoc/ir"

// dropDead removes ops whose results nobody uses and that nobody would miss otherwise, and results
// and carried values that nobody uses. It marks what is needed, from the ops that have effects
// backwards, and removes the rest: a value that only feeds itself around a loop is not needed.
func (s *simplifier) dropDead() {
	d := &deadCode{parent: map[*ir.Op]*ir.Op{}, ops: map[*ir.Op]bool{}, vals: map[*ir.Value]bool{}}
	d.roots(s.f.Body)
	for len(d.work) > 0 {
		v := d.work[len(d.work)-1]
		d.work = d.work[:len(d.work)-1]
		d.needed(v)
	}
	d.sweep(s.f.Body)
	s.changed = s.changed || d.changed
}

type deadCode struct {
	parent  map[*ir.Op]*ir.Op // the op in whose region an op stands
	ops     map[*ir.Op]bool   // needed ops
	vals    map[*ir.Value]bool
	work    []*ir.Value // needed values whose origin has not been looked at
	changed bool
}

// roots finds the ops that are needed for what they do.
func (d *deadCode) roots(b *ir.Block) {
	for _, op := range b.Ops {
		d.parent[op] = b.Parent
		for _, r := range op.Regions {
			d.roots(r)
		}
		if op.Kind != ir.Yield && !removableAlone(op) {
			d.op(op)
		}
	}
}

// removableAlone is ir.Removable without a look into regions: what is needed there makes op needed.
func removableAlone(op *ir.Op) bool {
	switch op.Kind {
	case ir.For, ir.If, ir.CommDomain:
		return true
	case ir.AllocWindow, ir.Window:
		return false // one that no rank uses is a mistake, which MaterializeCommDomainScopes reports
	}
	return ir.Removable(op)
}

func (d *deadCode) value(v *ir.Value) {
	if !v.IsConst() && !d.vals[v] {
		d.vals[v] = true
		d.work = append(d.work, v)
	}
}

// op marks an op with what it needs in any case: all operands but the carried ones, and the op around.
func (d *deadCode) op(op *ir.Op) {
	if op == nil || d.ops[op] {
		return
	}
	d.ops[op] = true
	d.op(d.parent[op])
	for i, a := range op.Args {
		if op.Kind.Params[i].Name == "init_values" {
			continue
		}
		for _, v := range a.Vals {
			d.value(v)
		}
	}
	if op.Kind == ir.Fused { // its elements are not looked at one by one
		for _, v := range yields(op.Regions[0]) {
			d.value(v)
		}
	}
}

// needed marks where v comes from.
func (d *deadCode) needed(v *ir.Value) {
	if op := v.Def; op != nil {
		d.op(op)
		for i, r := range op.Results {
			if r == v {
				d.handedOn(op, i)
			}
		}
		return
	}
	if op := v.Owner.Parent; op != nil {
		d.op(op)
		args := op.Regions[0].Args
		first := len(args) - len(op.Vals("init_values"))
		for i, a := range args[first:] {
			if a == v {
				d.handedOn(op, i)
			}
		}
	}
}

// handedOn marks what op's regions yield in position i, and the value that enters there.
func (d *deadCode) handedOn(op *ir.Op, i int) {
	switch op.Kind {
	case ir.If, ir.For, ir.While:
		for _, r := range op.Regions {
			d.value(yields(r)[i])
		}
	}
	if inits := op.Vals("init_values"); inits != nil {
		d.value(inits[i])
	}
}

// yields are the values that a region hands on.
func yields(r *ir.Block) []*ir.Value {
	if t := r.Terminator(); t != nil {
		return t.Vals("values")
	}
	return nil
}

func (d *deadCode) sweep(b *ir.Block) {
	kept := b.Ops[:0]
	for _, op := range b.Ops {
		if op.Kind != ir.Yield && !d.ops[op] {
			d.changed = true
			continue
		}
		d.results(op)
		for _, r := range op.Regions {
			d.sweep(r)
		}
		kept = append(kept, op)
	}
	clear(b.Ops[len(kept):])
	b.Ops = kept
}

// results drops results of branches and carried values of loops that are not needed.
func (d *deadCode) results(op *ir.Op) {
	var drop []int
	switch op.Kind {
	case ir.If:
		for i, r := range op.Results {
			if !d.vals[r] {
				drop = append(drop, i)
			}
		}
		dropResults(op, drop)
	case ir.For, ir.While:
		args := op.Regions[0].Args[len(op.Regions[0].Args)-len(op.Results):]
		for i, r := range op.Results {
			if !d.vals[r] && !d.vals[args[i]] {
				drop = append(drop, i)
			}
		}
		if len(drop) > 0 {
			dropCarried(op, drop)
		}
	}
	d.changed = d.changed || len(drop) > 0
}

func dropResults(op *ir.Op, drop []int) {
	for k := len(drop) - 1; k >= 0; k-- {
		for _, r := range op.Regions {
			y := r.Terminator()
			y.Set("values", without(y.Vals("values"), drop[k])...)
		}
		op.Results = without(op.Results, drop[k])
	}
}
