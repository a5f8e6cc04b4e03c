package verify

import (
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/verify/term"
)

// Collectives as single ops, by their meaning: the ranks of a domain meet, and when the last one has
// come, what the collective says happens to all of them at once. This is the specification that lowered
// programs are compared with.

type rendezvous struct {
	arrived  map[int]*action
	frames   map[int]*frame
	complete bool
}

func (r *run) collective(rk *rankState, fr *frame, op *ir.Op) {
	target := op.Val("target")
	if target == nil {
		target = op.Val("signal")
	}
	d := r.domainOf(r.get(fr, target).mem.mem)
	a := r.record(rk, &action{kind: actCollective, op: op, domain: d})
	if r.ghosts {
		return
	}
	if d.waiting == nil {
		d.waiting = map[int]*rendezvous{}
	}
	meet := d.waiting[0]
	if meet == nil {
		meet = &rendezvous{arrived: map[int]*action{}, frames: map[int]*frame{}}
		d.waiting[0] = meet
	}
	meet.arrived[rk.id], meet.frames[rk.id] = a, fr
	a.meet = meet
	if len(meet.arrived) < len(d.devices) {
		rk.meeting = meet
		rk.pause()
		return
	}
	delete(d.waiting, 0)
	meet.complete = true
	if r.agree(d, meet) {
		r.perform(d, meet)
	}
}

// agree checks that all ranks call the same collective.
func (r *run) agree(d *domain, m *rendezvous) bool {
	first := m.arrived[d.devices[0]]
	for _, dev := range d.devices[1:] {
		a := m.arrived[dev]
		if a.op.Kind != first.op.Kind || a.op.Enum("op") != first.op.Enum("op") || a.op.Int("root") != first.op.Int("root") {
			r.fault(diag.CollectiveMismatch, a.op, "rank %d calls %s where rank %d calls %s", dev, a.op.Kind.Name, d.devices[0], first.op.Kind.Name)
			r.faults[len(r.faults)-1].Note(first.op.Span, "rank %d is here", d.devices[0])
			return false
		}
	}
	return true
}

// operand is the view of a rank's operand.
func (r *run) operand(m *rendezvous, device int, name string) *view {
	fr := m.frames[device]
	v := r.get(fr, m.arrived[device].op.Val(name)).mem
	if v.mem.kind == windowMemory {
		return v.at(device)
	}
	return v
}

func (r *run) perform(d *domain, m *rendezvous) {
	op := m.arrived[d.devices[0]].op
	if op.Kind == ir.Barrier || !r.values {
		return
	}
	switch op.Kind {
	case ir.AllReduce:
		total := r.reduceOver(d, m, op, func(v *view) rect { return whole(v) })
		for _, dev := range d.devices {
			r.put(whole(r.operand(m, dev, "target")), total)
		}
	case ir.Broadcast_:
		if root := op.Int("root"); root >= int64(len(d.devices)) {
			r.fault(diag.NoSuchPeer, op, "root %d of %s", root, plural(len(d.devices), "rank"))
			return
		}
		data := r.take(whole(r.operand(m, d.devices[op.Int("root")], "target")))
		for _, dev := range d.devices {
			r.put(whole(r.operand(m, dev, "target")), data)
		}
	case ir.ReduceScatter:
		r.reduceScatter(d, m, op)
	case ir.AllGather:
		for i, src := range d.devices {
			data := r.take(whole(r.operand(m, src, "local_data")))
			for _, dev := range d.devices {
				r.put(row(r.operand(m, dev, "target"), i), data)
			}
		}
	case ir.AllToAll:
		for i, src := range d.devices {
			for j, dev := range d.devices {
				r.put(row(r.operand(m, dev, "target"), i), r.take(row(r.operand(m, src, "input"), j)))
			}
		}
	}
}

func (r *run) reduceScatter(d *domain, m *rendezvous, op *ir.Op) {
	rows := make([]elems, len(d.devices))
	for i := range d.devices {
		rows[i] = r.reduceOver(d, m, op, func(v *view) rect { return row(v, i) })
	}
	for i, dev := range d.devices {
		v := r.operand(m, dev, "target")
		for j := range int(v.dims[0]) {
			if j == i {
				r.put(row(v, j), rows[i])
				continue
			}
			x := row(v, j) // the other rows are undefined
			first := int64(j) * v.dims[1]
			data := r.lazy(product(x.dims), func(i int64) term.T { return r.space.Undef(v.mem.name, first+i) })
			if len(data) > 0 {
				data[0].src.undef = true
			}
			r.put(x, data)
		}
	}
}

// reduceOver combines the same rectangle of every rank, in rank order.
func (r *run) reduceOver(d *domain, m *rendezvous, op *ir.Op, of func(*view) rect) elems {
	name := map[string]string{"Sum": "add", "Max": "max", "Min": "min", "Prod": "mul"}[ir.ReduceOp.Values[op.Enum("op").Value]]
	var all []elems
	for _, dev := range d.devices {
		all = append(all, r.take(of(r.operand(m, dev, "target"))))
	}
	return r.lazy(all[0].len(), func(i int64) term.T {
		parts := make([]term.T, len(all))
		for k, data := range all {
			parts[k] = data.at(i)
		}
		if name == "add" {
			return r.space.Sum(parts)
		}
		total := parts[0]
		for _, t := range parts[1:] {
			total = r.space.Apply(name, total, t)
		}
		return total
	})
}

func whole(v *view) rect { return rect{v, v.off, v.dims} }

func row(v *view, i int) rect {
	return rect{v, v.off + int64(i)*v.strides[0], append([]int64{1}, v.dims[1:]...)}
}
