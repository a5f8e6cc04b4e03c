package passes

import "ptoc/ir"

// synthesizeAllreduceSignals gives every host allreduce without a signal one of its own.
//
// Before:                                        After:
//
//	data_buf = alloc_window_buffer(...)            data_buf = alloc_window_buffer(...)
//	data = window(data_buf, ...)                   n = world_size()
//	for i in pl.range(3):                          data_buf_signal = alloc_window_buffer([n, 1], dtype=INT32)
//	    allreduce(data)                            signal = window(data_buf_signal, [n, 1], dtype=INT32)
//	                                               data = window(data_buf, ...)
//	                                               for i in pl.range(3):
//	                                                   allreduce(data, signal)
//
// All calls on one allocation share one signal, which stands beside that allocation: signals clear
// themselves, and calls on one rank follow each other. mode="ring" signals by another shape, so it
// has another signal. Afterwards every allreduce on a window of a host function has a signal. Idempotent.
func synthesizeAllreduceSignals(m *ir.Module, c *Context) {
	for _, f := range m.Funcs {
		if f.Kind == ir.Host {
			(&signalMaker{f: f, made: map[signalKey]*ir.Value{}}).run()
		}
	}
}

type signalKey struct {
	alloc *ir.Op
	ring  bool
}

type signalMaker struct {
	f    *ir.Func
	made map[signalKey]*ir.Value
}

func (s *signalMaker) run() {
	var todo []*ir.Op
	s.f.Body.Walk(func(op *ir.Op) {
		if op.Kind == ir.AllReduce && !op.Arg("signal").Given() {
			todo = append(todo, op)
		}
	})
	for _, op := range todo {
		alloc := allocOf(op.Val("target"))
		if alloc == nil {
			continue // LowerHostTensorCollectives says what is wrong with such a target
		}
		key := signalKey{alloc, op.Str("mode") == "ring"}
		if s.made[key] == nil {
			s.made[key] = s.make(key)
		}
		op.Set("signal", s.made[key])
	}
}

// make allocates a signal behind the allocation of the data.
func (s *signalMaker) make(key signalKey) *ir.Value {
	block, at := find(s.f.Body, key.alloc)
	b := ir.Before(s.f, block, at+1).At(key.alloc.Span)
	n := b.Add(ir.WorldSize).Name("n").Must().Result()
	shape := []ir.Dim{ir.DimOf(n), ir.ConstDim(1)}
	if key.ring {
		shape = []ir.Dim{ir.DimOf(n).Sub(ir.ConstDim(1)).Scale(2), ir.DimOf(n)}
	}
	dims := b.Dims(shape)
	buf := b.Add(ir.AllocWindow).Set("shape", dims...).SetAttr("dtype", ir.INT32).
		Name(key.alloc.Result().Name + "_signal").Must()
	if d := key.alloc.Str("domain"); d != "" {
		buf.SetAttr("domain", d)
	}
	return b.Add(ir.Window).Set("buffer", buf.Result()).Set("shape", dims...).SetAttr("dtype", ir.INT32).
		Name("signal").Must().Result()
}

// find is the block below b that holds op, and op's index in it.
func find(b *ir.Block, op *ir.Op) (*ir.Block, int) {
	for i, o := range b.Ops {
		if o == op {
			return b, i
		}
		for _, r := range o.Regions {
			if in, at := find(r, op); in != nil {
				return in, at
			}
		}
	}
	return nil, -1
}
