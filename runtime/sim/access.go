package sim

import (
	"ptoc/ir"
	"ptoc/runtime/interp"
)

// How kernels reach memory: every function here makes one Access.

func rankOf(fr *interp.Frame) *rank { return fr.Env.(*rank) }

// visible lets other ranks run before an access that they can see.
func (r *rank) visible(op *ir.Op, v *view) {
	if v.window {
		r.point(Point{Op: op, Mem: v.mem})
	}
}

func (r *rank) access(op *ir.Op, v *view) *Access {
	return &Access{Device: r.device, Mem: v.mem, Ranges: v.ranges(), Op: op}
}

// read loads a view.
func (r *rank) read(op *ir.Op, v *view) *tile {
	r.visible(op, v)
	t := newTile(v.dt, v.shape)
	b := make([]byte, t.len()*r.m.size(v.dt))
	r.m.cfg.Memory.Read(r.access(op, v), b)
	t.decode(b, r.m.cfg.Exact)
	return t
}

// write stores a tile of as many elements as the view has.
func (r *rank) write(op *ir.Op, v *view, t *tile) {
	r.visible(op, v)
	b := make([]byte, t.len()*r.m.size(v.dt))
	t.encode(b, r.m.cfg.Exact)
	r.m.cfg.Memory.Write(r.access(op, v), b)
}

// accumulate adds a tile to a view, each element atomically.
func (r *rank) accumulate(op *ir.Op, v *view, t *tile) {
	r.visible(op, v)
	size := r.m.size(v.dt)
	r.m.cfg.Memory.Update(r.access(op, v), func(at int64, b []byte) {
		n := int64(len(b)) / size
		old := newTile(v.dt, []int64{n})
		old.decode(b, r.m.cfg.Exact)
		first := at / size
		for k := range old.f {
			old.f[k] += t.f[first+int64(k)]
		}
		for k := range old.i {
			old.i[k] = interp.WrapInt(v.dt, old.i[k]+t.i[first+int64(k)])
		}
		if !r.m.cfg.Exact {
			round(v.dt, old.f)
		}
		old.encode(b, r.m.cfg.Exact)
	})
}

// save stores or accumulates, as op's atomic attribute says.
func (r *rank) save(op *ir.Op, v *view, t *tile) {
	if op.Enum("atomic").Is("Add") {
		r.accumulate(op, v, t)
	} else {
		r.write(op, v, t)
	}
}
