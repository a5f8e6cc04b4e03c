package verify

import (
	"fmt"
	"slices"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/verify/term"
)

// Windows, signals, dispatches of the executor.

// host runs the host program once: it allocates windows and queues kernels on the ranks.
func (r *run) host(f *ir.Func) {
	n := len(r.calls)
	hc := &hostCall{}
	r.calls = append(r.calls, hc)
	env := func(a ir.Atom) (int64, bool) { v, ok := r.scope.Syms[a.Sym]; return v, ok && a.Op == ir.AtomSym }
	for i, p := range f.Params() {
		t, ok := p.Type.(*ir.Tensor)
		if !ok {
			if r.given.scalars == nil {
				r.given.scalars = map[string]ir.DType{}
			}
			dt := ir.DTypeOf(p.Type)
			r.given.scalars[p.Name] = dt
			if !dt.IsFloat() {
				r.space.Whole(p.Name, dt == ir.BOOL)
			}
			hc.args = append(hc.args, value{t: r.space.Leaf(p.Name, 0), why: f.Body.Ops[0]})
			continue
		}
		dims := make([]int64, len(t.Dims))
		for j, d := range t.Dims {
			k, err := d.Eval(env)
			if err != nil {
				r.abandon(f.Span, "the extent %s of %s is not known", d, p.Name)
			}
			dims[j] = k
		}
		hc.args = append(hc.args, value{mem: r.hostTensor(p.Name, n, dims, t.DType, f.Dirs[i])})
	}
	fr := r.frame(f, hc.args, r.scope.Syms, nil)
	fr.counts = map[*ir.Op]int{}
	r.block(fr, f.Body)
}

// hostTensor is an argument of the host program: its elements are inputs, or undefined where the
// program is to write them.
func (r *run) hostTensor(name string, repeat int, dims []int64, dt ir.DType, dir ir.Dir) *view {
	size := int64(dt.Size())
	m := r.newMemory(hostMemory, name, product(dims)*size, nil)
	m.shown(dims, size)
	if r.values {
		label := name
		if repeat > 0 {
			label = fmt.Sprintf("%s'%d", name, repeat+1) // other inputs in every repeat
		}
		named := *m
		named.name = label
		r.space.Name(label, func(i int64) string { return named.elementName(i * size) })
		if dt.IsInt() || dt == ir.BOOL {
			r.space.Whole(label, dt == ir.BOOL)
		}
		element := r.space.Leaf
		if dir == ir.Out {
			element = r.space.Undef
		}
		data := r.lazy(product(dims), func(i int64) term.T { return element(label, i) })
		if len(data) > 0 {
			data[0].src.undef = dir == ir.Out
		}
		r.fill(m, -1, 0, dt, data)
		r.given.tensor(label, name, repeat, dims, dt)
	}
	return &view{mem: m, device: -1, dims: dims, strides: rowMajor(dims), dt: dt}
}

func (r *run) commDomain(fr *frame, op *ir.Op) {
	name := op.Str("name")
	var devices []int
	for _, v := range op.Vals("devices") {
		if d := r.need(fr, op, v, "a device"); d >= 0 && d < int64(len(r.ranks)) { // a call for another one is reported
			devices = append(devices, int(d))
		}
	}
	if devices == nil {
		for i := range r.ranks {
			devices = append(devices, i)
		}
	}
	if r.domains[name] == nil {
		r.domains[name] = &domain{devices: devices}
	}
	r.block(fr, op.Regions[0]) // its collectives are called by the ranks of the domain
}

// domainOf is the domain of a window: the one that a pass named, or the ranks that it was handed to.
func (r *run) domainOf(m *memory) *domain {
	if d := r.domains[m.named]; d != nil && m.named != "" {
		return d
	}
	var devices []int
	for d := range m.users {
		devices = append(devices, d)
	}
	slices.Sort(devices)
	key := fmt.Sprint(devices)
	if r.domains[key] == nil {
		r.domains[key] = &domain{devices: devices}
	}
	return r.domains[key]
}

func (r *run) windowOp(fr *frame, op *ir.Op) {
	res := op.Result()
	switch op.Kind {
	case ir.AllocWindow:
		fr.vals[res.ID] = value{buf: r.allocWindow(fr, op)}
	case ir.Window:
		buf := r.get(fr, op.Val("buffer")).buf
		dims := r.ints(fr, op, "shape")
		dt := op.DTypeAttr("dtype")
		buf.shown(dims, int64(dt.Size()))
		fr.vals[res.ID] = value{mem: &view{mem: buf, device: -1, dims: dims, strides: rowMajor(dims), dt: dt, through: op}}
		if over := product(dims)*int64(dt.Size()) - buf.bytes; over > 0 {
			r.fault(diag.OutOfBounds, op, "the window needs %d bytes more than its buffer %s has", over, buf.name)
			r.abandon(op.Span, "a window larger than its buffer")
		}
	case ir.GetCommCtx:
		fr.vals[res.ID] = value{dom: &domainRef{r.get(fr, op.Val("target")).mem.mem}}
	case ir.Rank:
		d := r.domainOf(r.get(fr, op.Val("ctx")).dom.mem)
		fr.vals[res.ID] = number(int64(d.rank(fr.rk.id)))
	case ir.NRanks:
		fr.vals[res.ID] = number(int64(len(r.domainOf(r.get(fr, op.Val("ctx")).dom.mem).devices)))
	case ir.WorldSize:
		fr.vals[res.ID] = number(int64(len(r.ranks)))
	case ir.Peer:
		v := r.get(fr, op.Val("target")).mem
		d, ok := r.peer(fr, op, v, r.need(fr, op, op.Val("peer"), "a peer"))
		if !ok {
			r.abandon(op.Span, "a peer that does not exist")
		}
		fr.vals[res.ID] = value{mem: v.at(d)}
	}
}

// allocWindow gives the same memory to the same allocation of every repeat.
func (r *run) allocWindow(fr *frame, op *ir.Op) *memory {
	key := allocKey{op, fr.counts[op]}
	fr.counts[op]++
	if m := r.windows[key]; m != nil {
		return m
	}
	bytes := product(r.ints(fr, op, "shape"))
	if dt := op.DTypeAttr("dtype"); dt != ir.NoDType {
		bytes *= int64(dt.Size())
	}
	m := r.newMemory(windowMemory, op.Result().Name, bytes, op)
	m.named = op.Str("domain")
	r.windows[key] = m
	return m
}

func (r *run) enqueue(fr *frame, op *ir.Op, f *ir.Func, args []value, device int64) {
	if device < 0 || device >= int64(len(r.ranks)) {
		r.fault(diag.NoSuchPeer, op, "a call for device %d of %d", device, len(r.ranks))
		r.abandon(op.Span, "a call for a device that does not exist")
	}
	for _, a := range args {
		if a.mem != nil {
			a.mem.mem.users[int(device)] = true
		}
	}
	r.step(stepsOfMemory)
	rk := r.ranks[device]
	rk.dispatches = append(rk.dispatches, dispatch{f: f, args: args, syms: fr.syms, at: op})
}

// enqueueCollective is a collective of the host program: each rank of the domain takes part.
func (r *run) enqueueCollective(fr *frame, op *ir.Op) {
	target := r.get(fr, op.Operands()[0])
	if v := op.Val("target"); v != nil {
		target = r.get(fr, v)
	}
	m := target.mem.mem
	if m.named == "" && len(m.users) == 0 {
		for i := range r.ranks {
			m.users[i] = true
		}
	}
	snapshot := *fr
	snapshot.vals = slices.Clone(fr.vals)
	for i := range r.ranks {
		d := r.domains[m.named]
		if m.named != "" && d != nil && d.rank(i) < 0 || d == nil && !m.users[i] {
			continue
		}
		inner := snapshot
		inner.rk = r.ranks[i]
		inner.rk.dispatches = append(inner.rk.dispatches, dispatch{coll: op, fr: &inner, at: op})
	}
}

func (r *run) cellAt(fr *frame, op *ir.Op, v *view, device int) (cell, bool) {
	idx := r.ints(fr, op, "offsets")
	ones := make([]int64, len(idx))
	for i := range ones {
		ones[i] = 1
	}
	x, ok := r.rectangle(fr, op, v, idx, ones)
	return cell{v.mem, device, x.off * 4}, ok
}

func (r *run) notify(fr *frame, op *ir.Op) {
	v := r.get(fr, op.Val("target")).mem
	d, ok := r.peer(fr, op, v, r.need(fr, op, op.Val("peer"), "the peer of a notify"))
	if !ok {
		return
	}
	c, ok := r.cellAt(fr, op, v, d)
	if !ok {
		return
	}
	n := int64(int32(r.need(fr, op, op.Val("value"), "the value of a notify")))
	a := r.record(fr.rk, &action{kind: actNotify, op: op, cell: c, value: n, set: op.Enum("op").Is("Set"),
		acc: access{view: v.through}})
	if r.ghosts {
		return
	}
	if !a.set {
		n += v.mem.cells[d][c.off]
	}
	v.mem.setInt(d, c.off, n)
	if r.values {
		r.fill(v.mem, d, c.off, ir.INT32, r.same(1, r.space.Const(float64(n))))
	}
}

func (r *run) wait(fr *frame, op *ir.Op) {
	v := r.get(fr, op.Val("signal")).mem
	c, ok := r.cellAt(fr, op, v, fr.rk.id)
	if !ok {
		return
	}
	a := r.record(fr.rk, &action{kind: actWait, op: op, cell: c, value: r.need(fr, op, op.Val("expected"), "the value that a wait expects"),
		eq: op.Enum("cmp").Is("Eq"), acc: access{view: v.through}})
	if r.ghosts || r.satisfied(a) {
		return
	}
	fr.rk.waiting = a
	fr.rk.pause()
}
