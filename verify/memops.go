package verify

import (
	"math"
	"strconv"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/verify/term"
)

// Memory of the executor: views, rectangles, loads, stores, copies.

// rect is a rectangle of a view.
type rect struct {
	v    *view
	off  int64 // first element, in elements of the memory
	dims []int64
}

// rectangle checks offs and dims against the view; false: it lies outside, which has been reported.
func (r *run) rectangle(fr *frame, op *ir.Op, v *view, offs, dims []int64) (rect, bool) {
	for len(dims) < len(v.dims) {
		dims = append([]int64{1}, dims...)
	}
	at := v.off
	for i, o := range offs {
		if !within(o, dims[i], v.dims[i]) {
			who := "the host program"
			if fr.rk != nil {
				who = "rank " + itoa(fr.rk.id)
			}
			r.fault(diag.OutOfBounds, op, "%s accesses [%d, %d) of dimension %d of %s, which has %d", who, o, behind(o, dims[i]), i, v.mem.name, v.dims[i])
			return rect{}, false
		}
		at += o * v.strides[i]
	}
	return rect{v, at, dims}, true
}

// within reports whether n elements from o on lie in an extent, and behind what comes after them: sums of any two integers may
// wrap.
func within(o, n, extent int64) bool { return o >= 0 && n >= 0 && (n == 0 || o <= extent-n) }
func behind(o, n int64) int64        { return min(o, math.MaxInt64-max(n, 0)) + n }

// device is whose copy a view means for the rank that looks.
func (v *view) deviceFor(fr *frame) int {
	if v.mem.kind != windowMemory {
		return -1
	}
	if v.device >= 0 || fr.rk == nil {
		return v.device
	}
	return fr.rk.id
}

// touch records an access to memory that other ranks, or blocks of this one, may access too.
func (r *run) touch(fr *frame, op *ir.Op, x rect, write, atomic, stream bool) {
	if fr.rk == nil || x.v.mem.kind == localMemory && (fr.rk.strand.blk == nil || fr.rk.strand == x.v.mem.in) || product(x.dims) == 0 {
		return
	}
	r.record(fr.rk, &action{kind: actAccess, op: op, acc: access{mem: x.v.mem, device: x.v.deviceFor(fr), spans: x.spans(), write: write,
		atomic: atomic, stream: stream, dt: x.v.dt, view: x.v.through}})
}

// spans are the bytes of a rectangle, joined where they touch, in ascending order.
func (x rect) spans() []span {
	size := int64(x.v.dt.Size())
	inner := len(x.dims)
	run := int64(1)
	for inner > 0 && (x.v.strides[inner-1] == run || x.dims[inner-1] == 1) {
		run *= x.dims[inner-1]
		inner--
	}
	var out []span
	each(x.dims[:inner], [][]int64{x.v.strides[:inner]}, func(at []int64) {
		lo := (x.off + at[0]) * size
		if n := len(out); n > 0 && out[n-1].hi == lo {
			out[n-1].hi += run * size
			return
		}
		out = append(out, span{lo, lo + run*size})
	})
	return out
}

// read copies a rectangle into a tile.
func (r *run) read(fr *frame, op *ir.Op, x rect) elems {
	r.touch(fr, op, x, false, false, false)
	r.step(1)
	if !r.values {
		return nil
	}
	out := r.takeFrom(x, x.v.deviceFor(fr))
	if out.undefined() && !fr.golden && fr.rk != nil {
		r.fault(diag.Unwritten, op, "rank %d reads %s, which nobody has written", fr.rk.id, x.v.mem.name)
	}
	return out
}

// write stores elements into a rectangle; with add it adds them.
func (r *run) write(fr *frame, op *ir.Op, x rect, data elems, add bool) {
	r.touch(fr, op, x, true, add, op.Bool("stream"))
	r.step(1)
	device := x.v.deviceFor(fr)
	cells := x.v.mem.cells[device]
	if !r.values {
		x.v.mem.blurs[device] = true
		if cells != nil {
			for _, s := range x.spans() {
				for at := s.lo; at < s.hi; at += 4 {
					delete(cells, at) // unknown: waits on it see 0
				}
			}
		}
		return
	}
	if add {
		old, more := r.takeFrom(x, device), data
		data = r.lazy(product(x.dims), func(i int64) term.T { return r.space.Add(old.at(i), more.at(i), 1) })
	}
	r.putInto(x, device, data)
	if x.v.dt == ir.INT32 && x.v.mem.kind == windowMemory && product(x.dims) <= maxCells {
		i := int64(0)
		each(x.dims, [][]int64{x.v.strides}, func(at []int64) {
			r.setCell(x.v.mem, device, (x.off+at[0])*4, data.at(i))
			i++
		})
	}
}

// maxCells is the most integers stored at once that waits see: an array that is larger holds no signals.
const maxCells = 4096

// setCell keeps a stored integer where waits look for it.
func (r *run) setCell(m *memory, device int, off int64, t term.T) {
	n, ok := r.space.IsConst(t)
	if !ok {
		return
	}
	m.setInt(device, off, int64(n))
}

func (m *memory) setInt(device int, off, n int64) {
	if m.cells[device] == nil {
		m.cells[device] = map[int64]int64{}
	}
	m.cells[device][off] = n
}

// Without values, integers in windows are followed one by one, as long as nothing unknown is stored there: a program
// may keep count of its calls in one.

func followed(v *view) bool { return v.mem.kind == windowMemory && v.dt == ir.INT32 }

// readInt is the integer at q, if it is known without values.
func (r *run) readInt(fr *frame, op *ir.Op, q rect) (value, bool) {
	device := q.v.deviceFor(fr)
	if r.values || !followed(q.v) || q.v.mem.blurs[device] {
		return value{}, false
	}
	r.read(fr, op, q)
	return number(q.v.mem.cells[device][q.off*4]), true
}

// writeInt stores n at q without values; false: the write is like any other.
func (r *run) writeInt(fr *frame, op *ir.Op, q rect, n value) bool {
	device := q.v.deviceFor(fr)
	if r.values || !followed(q.v) || !n.known {
		return false
	}
	r.touch(fr, op, q, true, false, false)
	r.step(1)
	q.v.mem.setInt(device, q.off*4, n.i)
	return true
}

// peer is the device that a peer operand names in v's domain; false: there is none.
func (r *run) peer(fr *frame, op *ir.Op, v *view, n int64) (int, bool) {
	d := r.domainOf(v.mem)
	if n < 0 || n >= int64(len(d.devices)) {
		r.fault(diag.NoSuchPeer, op, "rank %d addresses rank %d of %s, which %s share", fr.rk.id, n, v.mem.name, plural(len(d.devices), "rank"))
		return 0, false
	}
	return d.devices[n], true
}

// at is the view of a peer's copy.
func (v *view) at(device int) *view {
	w := *v
	w.device = device
	return &w
}

// loadOp is pl.load and pld.tile.remote_load.
func (r *run) loadOp(fr *frame, op *ir.Op, mem string) {
	v := r.get(fr, op.Val(mem)).mem
	cap := r.ints(fr, op, "shape")
	dims := cap
	if op.Arg("valid_shape").Given() {
		dims = r.ints(fr, op, "valid_shape")
	}
	out := &tile{dims: dims, cap: cap}
	fr.vals[op.Result().ID] = value{tile: out}
	if op.Arg("peer").Given() {
		d, ok := r.peer(fr, op, v, r.need(fr, op, op.Val("peer"), "a peer"))
		if !ok {
			out.data = r.blank(dims)
			return
		}
		v = v.at(d)
	}
	x, ok := r.rectangle(fr, op, v, r.ints(fr, op, "offsets"), dims)
	if !ok {
		out.data = r.blank(dims)
		return
	}
	out.data = r.read(fr, op, x)
}

// blank are elements that stand in for what could not be read.
func (r *run) blank(dims []int64) elems {
	return r.lazy(product(dims), func(i int64) term.T { return r.space.Undef("out of bounds", i) })
}

// storeOp is pl.store and pld.tile.remote_store.
func (r *run) storeOp(fr *frame, op *ir.Op, mem string) {
	v := r.get(fr, op.Val(mem)).mem
	t := r.get(fr, op.Val("tile")).tile
	if op.Arg("peer").Given() {
		d, ok := r.peer(fr, op, v, r.need(fr, op, op.Val("peer"), "a peer"))
		if !ok {
			return
		}
		v = v.at(d)
	}
	if x, ok := r.rectangle(fr, op, v, r.ints(fr, op, "offsets"), t.dims); ok {
		r.write(fr, op, x, t.data, op.Enum("atomic").Is("Add"))
	}
}

// copyOp is put and get.
func (r *run) copyOp(fr *frame, op *ir.Op, remote string) {
	dst, src := r.get(fr, op.Val("dst")).mem, r.get(fr, op.Val("src")).mem
	n := r.need(fr, op, op.Val("peer"), "a peer")
	v := dst
	if remote == "src" {
		v = src
	}
	d, ok := r.peer(fr, op, v, n)
	if !ok {
		return
	}
	if remote == "src" {
		src = src.at(d)
	} else {
		dst = dst.at(d)
	}
	from, to := make([]int64, len(src.dims)), make([]int64, len(dst.dims))
	dims := src.dims
	if op.Arg("shape").Given() {
		from, to, dims = r.ints(fr, op, "src_offsets"), r.ints(fr, op, "dst_offsets"), r.ints(fr, op, "shape")
	}
	x, okSrc := r.rectangle(fr, op, src, from, dims)
	y, okDst := r.rectangle(fr, op, dst, to, dims)
	if !okSrc || !okDst {
		return
	}
	data := r.read(fr, op, x)
	r.write(fr, op, y, data, op.Kind == ir.Put && op.Enum("atomic").Is("Add"))
}

// lost is a scalar that stands in for one that could not be read.
func (r *run) lost(op *ir.Op) value { return value{t: r.space.Undef("out of bounds", 0), why: op} }

// readOp is pl.read of memory or of a tile.
func (r *run) readOp(fr *frame, op *ir.Op) {
	x := r.get(fr, op.Val("x"))
	idx := r.ints(fr, op, "indices")
	res := op.Result()
	dt := ir.DTypeOf(res.Type)
	if x.tile != nil {
		at := int64(0)
		for i, s := range rowMajor(x.tile.dims) {
			if idx[i] < 0 || idx[i] >= x.tile.dims[i] {
				r.fault(diag.OutOfBounds, op, "index %d of dimension %d lies outside of a tile with extent %d", idx[i], i, x.tile.dims[i])
				fr.vals[res.ID] = r.lost(op)
				return
			}
			at += idx[i] * s
		}
		if !r.values {
			fr.vals[res.ID] = value{why: op}
			return
		}
		fr.vals[res.ID] = r.scalar(x.tile.data.at(at), dt, op)
		return
	}
	ones := make([]int64, len(idx))
	for i := range ones {
		ones[i] = 1
	}
	q, ok := r.rectangle(fr, op, x.mem, idx, ones)
	if !ok {
		fr.vals[res.ID] = r.lost(op)
		return
	}
	if n, ok := r.readInt(fr, op, q); ok {
		fr.vals[res.ID] = n
		return
	}
	if data := r.read(fr, op, q); data != nil {
		fr.vals[res.ID] = r.scalar(data.at(0), dt, op)
		return
	}
	fr.vals[res.ID] = value{why: op}
}

// writeOp is pl.write.
func (r *run) writeOp(fr *frame, op *ir.Op) {
	v := r.get(fr, op.Val("tensor")).mem
	idx := r.ints(fr, op, "indices")
	ones := make([]int64, len(idx))
	for i := range ones {
		ones[i] = 1
	}
	n := r.get(fr, op.Val("value"))
	if x, ok := r.rectangle(fr, op, v, idx, ones); ok && !r.writeInt(fr, op, x, n) {
		r.write(fr, op, x, r.same(1, r.term(n)), false)
	}
}

// sliceOp is pl.slice of memory (a view) or of a tile.
func (r *run) sliceOp(fr *frame, op *ir.Op) {
	x := r.get(fr, op.Val("x"))
	shape, offs := r.ints(fr, op, "shape"), r.ints(fr, op, "offsets")
	drop := int(op.Int("drop_dims"))
	if x.mem != nil {
		q, ok := r.rectangle(fr, op, x.mem, offs, shape)
		if !ok {
			q = rect{x.mem, x.mem.off, shape}
			r.abandon(op.Span, "a view that lies outside of its memory")
		}
		w := *x.mem
		w.off, w.dims, w.strides = q.off, shape[drop:], x.mem.strides[drop:]
		fr.vals[op.Result().ID] = value{mem: &w}
		return
	}
	strides := rowMajor(x.tile.dims)
	base := int64(0)
	for i, o := range offs {
		if !within(o, shape[i], x.tile.dims[i]) {
			r.fault(diag.OutOfBounds, op, "[%d, %d) of dimension %d lies outside of a tile with extent %d", o, behind(o, shape[i]), i, x.tile.dims[i])
			fr.vals[op.Result().ID] = value{tile: &tile{dims: shape[drop:], cap: shape[drop:], data: r.blank(shape)}}
			return
		}
		base += o * strides[i]
	}
	fr.vals[op.Result().ID] = value{tile: r.pick(x.tile, shape, strides, base, shape[drop:])}
}

// pick makes a tile of dims from the elements of t at base + index . strides over the box.
func (r *run) pick(t *tile, box, strides []int64, base int64, dims []int64) *tile {
	out := &tile{dims: dims, cap: dims}
	if !r.values || product(box) == 0 {
		return out
	}
	inner, run := len(box), int64(1) // trailing axes that lie together
	for inner > 0 && (strides[inner-1] == run || box[inner-1] == 1) {
		run *= box[inner-1]
		inner--
	}
	rows := product(box[:inner])
	if rows > maxRows {
		out.data = r.lazy(product(box), func(i int64) term.T { return t.data.at(base + strided(i, box, strides)) })
		return out
	}
	r.step(int(rows))
	each(box[:inner], [][]int64{strides[:inner]}, func(at []int64) { out.data = out.data.cut(t.data, base+at[0], run) })
	return out
}

// maxRows is how many rows are cut out of a tile one by one.
const maxRows = 256

func itoa(n int) string { return strconv.Itoa(n) }
