package verify

import (
	"ptoc/ir"
	"ptoc/verify/term"
)

// fused is pl.fused: a scalar body at every index of a shape. What it reads of memory and what it
// writes there are whole views.
func (r *run) fused(fr *frame, op *ir.Op) {
	dims := r.ints(fr, op, "shape")
	b := &fusedBody{r: r, dims: dims, body: op.Regions[0], outer: map[*ir.Value]value{}, last: -1}
	for _, v := range op.Vals("ins") {
		b.ins = append(b.ins, r.operandFor(r.fusedIn(fr, op, v), dims))
	}
	b.capture(fr)
	yields := b.body.Terminator().Vals("values")
	results := make([]*tile, len(yields))
	for i := range results {
		results[i] = &tile{dims: dims, cap: dims, data: r.lazy(product(dims), func(at int64) term.T { return b.at(at)[i] })}
	}
	outs := op.Vals("outs")
	for i, v := range outs {
		m := r.get(fr, v).mem
		if x, ok := r.rectangle(fr, op, m, make([]int64, len(m.dims)), dims); ok {
			r.write(fr, op, x, results[i].data, false)
		}
	}
	for i, res := range op.Results {
		fr.vals[res.ID] = value{tile: results[len(outs)+i]}
	}
}

func (r *run) fusedIn(fr *frame, op *ir.Op, v *ir.Value) value {
	x := r.get(fr, v)
	if x.mem == nil {
		return x
	}
	t := &tile{dims: x.mem.dims, cap: x.mem.dims}
	if q, ok := r.rectangle(fr, op, x.mem, make([]int64, len(x.mem.dims)), x.mem.dims); ok {
		t.data = r.read(fr, op, q)
	} else {
		t.data = r.blank(t.dims)
	}
	return value{tile: t}
}

// fusedBody computes what a body yields at an index, when somebody asks.
type fusedBody struct {
	r     *run
	dims  []int64
	ins   []operand
	body  *ir.Block
	outer map[*ir.Value]value // what the body takes from outside, as it was when the op ran

	last   int64 // index of yields
	yields []term.T
}

// capture keeps the values that ops of the body use and do not make.
func (b *fusedBody) capture(fr *frame) {
	inner := map[*ir.Value]bool{}
	for _, a := range b.body.Args {
		inner[a] = true
	}
	for _, o := range b.body.Ops {
		for _, v := range o.Operands() {
			if !inner[v] {
				b.outer[v] = b.r.get(fr, v)
			}
		}
		for _, v := range o.Results {
			inner[v] = true
		}
	}
}

func (b *fusedBody) at(i int64) []term.T {
	if b.last == i {
		return b.yields
	}
	vals := make(map[*ir.Value]value, len(b.ins)+len(b.body.Ops))
	for k, a := range b.body.Args {
		vals[a] = b.r.scalar(b.ins[k].at(i, b.dims), ir.DTypeOf(a.Type), nil)
	}
	get := func(v *ir.Value) value {
		if x, ok := vals[v]; ok {
			return x
		}
		return b.outer[v]
	}
	for _, o := range b.body.Ops {
		args, allKnown := make([]value, 0, 3), true
		for _, v := range o.Operands() {
			x := get(v)
			args, allKnown = append(args, x), allKnown && x.known
		}
		if o.Kind.Terminator {
			b.yields = make([]term.T, len(args))
			for k, x := range args {
				b.yields[k] = b.r.term(x)
			}
			continue
		}
		vals[o.Result()] = b.r.scalarResult(o, args, allKnown)
	}
	b.last = i
	return b.yields
}
