package sim

import (
	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/interp"
)

// view is memory as a kernel names it: a rectangle of an allocation. Views are immutable.
type view struct {
	m       *Machine
	mem     *Alloc
	dt      ir.DType
	off     int64 // bytes
	shape   []int64
	strides []int64 // bytes

	window bool
	domain int
	peer   int  // windows: whose copy this is, as a rank of the domain
	remote bool // made by peer_view: faults are the peer's
}

func newView(m *Machine, mem *Alloc, off int64, dt ir.DType, shape []int64) *view {
	return &view{m: m, mem: mem, off: off, dt: dt, shape: shape, strides: rowMajor(shape, m.size(dt))}
}

// size is the bytes of an element. A machine that never rounds keeps all floats as float64.
func (m *Machine) size(dt ir.DType) int64 {
	if m.cfg.Exact && dt.IsFloat() {
		return 8
	}
	return int64(dt.Size())
}

func rowMajor(shape []int64, size int64) []int64 {
	out := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = size
		size *= max(shape[i], 1)
	}
	return out
}

// sub is the rectangle at offsets; it must lie inside.
func (v *view) sub(op *ir.Op, offsets, shape []int64) *view {
	out := *v
	out.shape = shape
	for i, o := range offsets {
		if o < 0 || shape[i] < 0 || o > v.shape[i]-shape[i] {
			v.outside(op, int64(i), o, shape[i], v.shape[i])
		}
		out.off += o * v.strides[i]
	}
	return &out
}

func (v *view) outside(op *ir.Op, dim, off, extent, size int64) {
	if v.remote {
		interp.Raise(op, abi.RemoteBounds, dim, off, extent, size, int64(v.peer))
	}
	interp.Raise(op, abi.LocalBounds, dim, off, extent, size)
}

// overlaps reports whether two views without gaps share bytes.
func (v *view) overlaps(o *view) bool {
	if v == nil || o == nil || v.mem != o.mem {
		return false
	}
	n, k := numel(v.shape)*v.m.size(v.dt), numel(o.shape)*v.m.size(o.dt)
	return n > 0 && k > 0 && v.off < o.off+k && o.off < v.off+n
}

// reaches reports whether the bytes from v's first element to its last, and o's, have some in common.
func (v *view) reaches(o *view) bool {
	a, b := v.end(), o.end()
	return numel(v.shape) > 0 && numel(o.shape) > 0 && v.off < b && o.off < a
}

func (v *view) end() int64 {
	at := v.off + v.m.size(v.dt)
	for i, n := range v.shape {
		at += (n - 1) * v.strides[i]
	}
	return at
}

// drop removes leading extents of 1.
func (v *view) drop(n int64) *view {
	out := *v
	out.shape, out.strides = v.shape[n:], v.strides[n:]
	return &out
}

// reshape views contiguous memory in another shape.
func (v *view) reshape(op *ir.Op, shape []int64) *view {
	if numel(shape) != numel(v.shape) {
		interp.Raise(op, abi.Shape, 0, numel(v.shape), numel(shape))
	}
	out := *v
	out.shape, out.strides = shape, rowMajor(shape, v.m.size(v.dt))
	return &out
}

// of is the peer's copy of a window.
func (v *view) of(op *ir.Op, peer int64) *view {
	devices := v.m.domains[v.domain]
	if peer < 0 || peer >= int64(len(devices)) {
		interp.Raise(op, abi.BadPeer, peer, int64(len(devices)))
	}
	out := *v
	out.mem = v.m.windows[devices[peer]][v.mem.ID]
	out.peer, out.remote = int(peer), true
	return &out
}

// cell is a signal cell of a window.
func (v *view) cell(op *ir.Op, offsets []int64) Cell {
	at := v.off
	for i, o := range offsets {
		if o < 0 || o >= v.shape[i] {
			interp.Raise(op, abi.BadCell, int64(i), o, v.shape[i])
		}
		at += o * v.strides[i]
	}
	return Cell{v.mem, at}
}

func numel(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// ranges are the view's bytes in C order, as few ranges as it takes.
func (v *view) ranges() []Range {
	if numel(v.shape) == 0 {
		return nil
	}
	run, rank := v.m.size(v.dt), len(v.shape)
	for rank > 0 && (v.strides[rank-1] == run || v.shape[rank-1] == 1) {
		run *= v.shape[rank-1]
		rank--
	}
	out := make([]Range, 0, numel(v.shape[:rank]))
	idx := make([]int64, rank)
	for at := v.off; ; {
		out = append(out, Range{at, run})
		d := rank - 1
		for ; d >= 0; d-- {
			idx[d]++
			at += v.strides[d]
			if idx[d] < v.shape[d] {
				break
			}
			at -= v.strides[d] * v.shape[d]
			idx[d] = 0
		}
		if d < 0 {
			return out
		}
	}
}
