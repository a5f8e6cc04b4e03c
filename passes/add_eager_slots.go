package passes

import "ptoc/ir"

// addEagerSlots gives small allreduces of kernels the memory that allreduce_eager needs (eager.pl).
//
// Before:                                        After:
//
//	sig_buf = alloc_window_buffer([n, 1], INT32)   sig_buf = alloc_window_buffer([n, 1], INT32)
//	sig = window(sig_buf, [n, 1], INT32)           sig_slots_buf = alloc_window_buffer([2, 1536], FP32)
//	step(x, data, sig, device=r)                   sig_slots = window(sig_slots_buf, [2, 1536], FP32)
//	def step(x, data, sig):                        sig_turns_buf = ...
//	    allreduce(data, sig)                       sig = window(sig_buf, [n, 1], INT32)
//	                                               step(x, data, sig, sig_slots, sig_turns, device=r)
//	                                               def step(x, data, sig, sig_slots, sig_turns):
//	                                                   allreduce(data, sig, slots=sig_slots, turns=sig_turns)
//
// Calls that share a signal share the slots too, for each element type: whoever shares a signal is shared by the same
// ranks, which make the same calls in the same order. An allreduce stays as it is if not every way to it starts
// at the allocation of its signal: in a kernel that nothing calls, or if a call would hand the same slots
// over twice. Idempotent.
func addEagerSlots(m *ir.Module, c *Context) {
	s := &eagerSlots{m: m, wants: map[slotKey][]*ir.Op{}, bad: map[slotKey]bool{}}
	for _, f := range m.Funcs {
		f.Walk(func(op *ir.Op) {
			if op.Kind == ir.AllReduce && wantsSlots(op, c) {
				s.want(f, op)
			}
			if op.Kind == ir.Call {
				s.calls = append(s.calls, call{f, op})
			}
		})
	}
	if len(s.wants) == 0 {
		return
	}
	s.spread()
	s.condemn()
	s.add()
}

// wantsSlots reports whether LowerCompositeOps would choose eager for op if it had slots. The choice of mode="auto" is
// measured on CPUs.
func wantsSlots(op *ir.Op, c *Context) bool {
	mode := op.Str("mode")
	if op.Val("slots") != nil || op.Val("signal") == nil || mode != "eager" && (mode != "auto" || c.Target != "cpu") {
		return false
	}
	t := op.Val("target").Type.(*ir.Tensor)
	bytes, known := t.Bytes().Const()
	return !known || eagerPays(bytes, int64(max(c.Ranks, 2)))
}

// A slotKey is the signal that slots belong to, and their element type: in a kernel a parameter, in a host function
// the allocation's result.
type slotKey struct {
	f      *ir.Func
	signal *ir.Value
	dtype  ir.DType
}

type call struct {
	in *ir.Func
	op *ir.Op
}

type eagerSlots struct {
	m     *ir.Module
	calls []call
	wants map[slotKey][]*ir.Op // the allreduces below a key
	order []slotKey
	bad   map[slotKey]bool
}

// keyOf is the key of a signal in f. A signal that comes from nowhere has none.
func keyOf(f *ir.Func, signal *ir.Value, dtype ir.DType) (slotKey, bool) {
	if f.Kind == ir.Host {
		a := allocOf(signal)
		if a == nil {
			return slotKey{}, false
		}
		return slotKey{f, a.Result(), dtype}, true
	}
	root, _ := ir.Root(signal)
	return slotKey{f, root, dtype}, root != nil && paramIndex(f, root) >= 0
}

func paramIndex(f *ir.Func, v *ir.Value) int {
	for i, p := range f.Params() {
		if p == v {
			return i
		}
	}
	return -1
}

// want notes an allreduce whose signal is a parameter.
func (s *eagerSlots) want(f *ir.Func, op *ir.Op) {
	if k, ok := keyOf(f, op.Val("signal"), ir.DTypeOf(op.Val("target").Type)); ok && f.Kind != ir.Host {
		s.note(k)
		s.wants[k] = append(s.wants[k], op)
	}
}

func (s *eagerSlots) note(k slotKey) {
	if _, seen := s.wants[k]; !seen {
		s.wants[k] = nil
		s.order = append(s.order, k)
	}
}

// callers are the keys that k's callers know the signal by, one for each call; false: one of them does not know it.
func (s *eagerSlots) callers(k slotKey) (keys []slotKey, calls []call, ok bool) {
	at := paramIndex(k.f, k.signal)
	for _, c := range s.calls {
		if c.op.Callee() != k.f {
			continue
		}
		up, known := keyOf(c.in, c.op.Vals("args")[at], k.dtype)
		if !known {
			return nil, nil, false
		}
		keys, calls = append(keys, up), append(calls, c)
	}
	return keys, calls, len(keys) > 0
}

// spread follows the signals up to where they are allocated.
func (s *eagerSlots) spread() {
	for i := 0; i < len(s.order); i++ { // grows
		k := s.order[i]
		if k.f.Kind == ir.Host {
			continue
		}
		keys, _, ok := s.callers(k)
		s.bad[k] = !ok
		for _, up := range keys {
			s.note(up)
		}
	}
}

// condemn marks what cannot get slots because a caller cannot, or because a call would hand the same ones over twice.
func (s *eagerSlots) condemn() {
	for changed := true; changed; {
		changed = false
		given := map[*ir.Op]map[slotKey]slotKey{} // by call: caller's key to callee's
		for _, k := range s.order {
			if k.f.Kind == ir.Host || s.bad[k] {
				continue
			}
			keys, calls, _ := s.callers(k)
			for i, up := range keys {
				op := calls[i].op
				if given[op] == nil {
					given[op] = map[slotKey]slotKey{}
				}
				other, twice := given[op][up]
				given[op][up] = k
				if twice {
					s.bad[other] = true
				}
				if twice || s.bad[up] {
					s.bad[k], changed = true, true
				}
			}
		}
	}
}

// A slotPair is the memory of a key in its function.
type slotPair struct{ slots, turns *ir.Value }

// add gives each allreduce its slots, through the calls on the way from where they are allocated.
func (s *eagerSlots) add() {
	made := map[slotKey]slotPair{}
	var give func(k slotKey) slotPair
	give = func(k slotKey) slotPair {
		if p, ok := made[k]; ok {
			return p
		}
		if k.f.Kind == ir.Host {
			made[k] = allocate(k)
			return made[k]
		}
		made[k] = slotPair{k.f.AddParam(k.signal.Name+"_slots", slotsType(k.dtype), ir.InOut), k.f.AddParam(k.signal.Name+"_turns", turnsType(), ir.InOut)}
		keys, calls, _ := s.callers(k)
		for i, up := range keys {
			p, op := give(up), calls[i].op
			op.Set("args", append(op.Vals("args"), p.slots, p.turns)...)
		}
		return made[k]
	}
	for _, k := range s.order {
		for _, op := range s.wants[k] {
			if !s.bad[k] {
				p := give(k)
				op.Set("slots", p.slots)
				op.Set("turns", p.turns)
			}
		}
	}
}

// slotsType has room for a message of every rank in each half.
func slotsType(dt ir.DType) *ir.Tensor {
	return &ir.Tensor{Dims: []ir.Dim{ir.ConstDim(2), ir.ConstDim(eagerLines * lineBytes / int64(dt.Size()))}, DType: dt, Window: true}
}

// turnsType has the rank's turn and two marks of every rank, a line each.
func turnsType() *ir.Tensor {
	return &ir.Tensor{Dims: []ir.Dim{ir.ConstDim(1 + 2*eagerRanks), ir.ConstDim(cellsPerLine)}, DType: ir.INT32, Window: true}
}

// allocate makes both behind the allocation of the signal, for the same ranks.
func allocate(k slotKey) slotPair {
	alloc := k.signal.Def
	block, at := find(k.f.Body, alloc)
	b := ir.Before(k.f, block, at+1).At(alloc.Span)
	window := func(what string, t *ir.Tensor) *ir.Value {
		dims := b.Dims(t.Dims)
		name := k.signal.Name + "_" + what
		buf := b.Add(ir.AllocWindow).Set("shape", dims...).SetAttr("dtype", t.DType).Name(name + "_buf").Must()
		if d := alloc.Str("domain"); d != "" {
			buf.SetAttr("domain", d)
		}
		return b.Add(ir.Window).Set("buffer", buf.Result()).Set("shape", dims...).SetAttr("dtype", t.DType).Name(name).Must().Result()
	}
	return slotPair{window("slots", slotsType(k.dtype)), window("turns", turnsType())}
}
