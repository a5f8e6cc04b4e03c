package controller

import (
	"encoding/binary"
	"math"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/runtime/interp"
	"ptoc/runtime/tensor"
)

// site is one call of the host program that dispatches a kernel.
type site struct {
	op     *ir.Op
	kernel Kernel
	bind   *interp.Binder
	free   []func(*interp.Frame) int64 // values of the symbols that no argument gives
	args   []func(*interp.Frame) interp.Value
	device func(*interp.Frame) int64

	distinct []ir.Pair // parameters that must not overlap
	mems     []*memory // of the last dispatch, by parameter

	words  []abi.Arg // of the last dispatch
	slots  []int     // where each parameter's words begin
	shapes [][]int64
	syms   []int64

	count [abi.MaxRanks]int64 // dispatches of this run, by device
}

func (s *site) callee() *ir.Func { return s.bind.Func }

// call compiles a dispatch. A call of another host function is walked in place.
func (h *host) call(c *interp.Compiler, op *ir.Op) interp.Step {
	if op.Callee().Kind == ir.Host {
		return h.callHost(c, op)
	}
	k, err := h.kernelOf(op.Callee())
	if err != nil {
		interp.Stop(err)
	}
	s := &site{op: op, kernel: k, bind: interp.NewBinder(op.Callee(), k.Syms), device: func(*interp.Frame) int64 { return 0 }}
	if d := op.Val("device"); d != nil {
		s.device = c.Int(d)
	}
	for _, i := range s.bind.Free {
		s.free = append(s.free, c.Dim(ir.SymDim(k.Syms[i])))
	}
	for i, p := range s.callee().Params() {
		v := op.Vals("args")[i]
		s.args = append(s.args, c.Get(v))
		if ir.DTypeOf(p.Type).IsFloat() && !isMemory(p) {
			get := c.Float(v)
			s.args[i] = func(fr *interp.Frame) interp.Value { return interp.Value{F: get(fr)} }
		}
		s.slots = append(s.slots, len(s.words))
		s.words = append(s.words, slotsOf(p)...)
	}
	s.shapes = make([][]int64, len(s.args))
	s.distinct, s.mems = ir.DistinctParams(s.callee()), make([]*memory, len(s.args))
	s.syms = make([]int64, len(k.Syms))
	for range k.Syms {
		s.words = append(s.words, abi.Arg{Tag: abi.TagScalar})
	}
	h.sites = append(h.sites, s)
	return func(fr *interp.Frame) { h.dispatch(s, fr) }
}

func (h *host) kernelOf(f *ir.Func) (Kernel, error) {
	if k, ok := h.kernels[f]; ok {
		return k, nil
	}
	k, err := h.backend.Kernel(f)
	if err == nil {
		if h.kernels == nil {
			h.kernels = map[*ir.Func]Kernel{}
		}
		h.kernels[f] = k
	}
	return k, err
}

func isMemory(v *ir.Value) bool { _, ok := v.Type.(*ir.Tensor); return ok }

// slotsOf are the words of a parameter, with their tags.
func slotsOf(p *ir.Value) []abi.Arg {
	switch t := p.Type.(type) {
	case *ir.Tensor:
		if t.Window {
			return []abi.Arg{{Tag: abi.TagDomain}, {Tag: abi.TagScalar}}
		}
		return []abi.Arg{{Tag: abi.TagHeap}}
	case *ir.CommCtx:
		return []abi.Arg{{Tag: abi.TagDomain}}
	}
	return []abi.Arg{{Tag: abi.TagScalar}}
}

// dispatch fills the words in and hands them to the backend.
func (h *host) dispatch(s *site, fr *interp.Frame) {
	device := s.device(fr)
	h.checkDevice(s.op, device)
	for i := range s.args {
		v := s.args[i](fr)
		w := s.words[s.slots[i]:]
		switch m := v.P.(type) {
		case *memory:
			h.passMemory(s, i, m, device, w)
		case nil:
			w[0].Value = v.I
			if ir.DTypeOf(s.callee().Params()[i].Type).IsFloat() {
				w[0].Value = int64(math.Float64bits(v.F))
			}
		}
	}
	h.checkDistinct(s)
	for i, at := range s.bind.Free {
		s.syms[at] = s.free[i](fr)
	}
	if bad := s.bind.BindSyms(s.syms, s.shapes); bad != nil {
		h.mismatch(s, bad)
	}
	tail := s.words[len(s.words)-len(s.syms):]
	for i, n := range s.syms {
		tail[i].Value = n
	}
	s.count[device]++
	if err := h.backend.Dispatch(int(device), s.kernel, s.words); err != nil {
		interp.Stop(err)
	}
}

func (h *host) passMemory(s *site, i int, m *memory, device int64, w []abi.Arg) {
	s.shapes[i], s.mems[i] = m.shape, m
	if !m.contiguous() {
		e := errorAt(s.op, "argument %s of %s is a strided view: kernels take contiguous memory", s.callee().Params()[i].Name, s.callee().Name)
		e.help = "copy it into a tensor of its own, or pass the whole and slice in the kernel"
		interp.Stop(e)
	}
	if !m.window {
		w[0].Value = m.buf.Addr + m.off
		return
	}
	if h.members[m.domain]>>uint(device)&1 == 0 {
		interp.Stop(errorAt(s.op, "window %s of %s is not shared by rank %d: it belongs to ranks %s", s.callee().Params()[i].Name,
			s.callee().Name, device, deviceList(h.members[m.domain])))
	}
	w[0].Value, w[1].Value = int64(m.domain), m.off
}

// checkDistinct: the checker has seen what is certain; what depends on offsets, and two windows of one buffer,
// show here.
func (h *host) checkDistinct(s *site) {
	for _, p := range s.distinct {
		if h.mayOverlap || !s.mems[p.First].overlaps(s.mems[p.Second]) {
			continue
		}
		params := s.callee().Params()
		e := errorAt(s.op, "%s and %s of %s overlap, and it writes one of them", params[p.First].Name, params[p.Second].Name, s.callee().Name)
		e.code, e.help = diag.OverlapAtRun, "kernels take their parameters to be different memory: pass a copy, or the whole once, with offsets"
		interp.Stop(e)
	}
}

func deviceList(set uint64) string {
	var ds []int64
	for d := range int64(abi.MaxRanks) {
		if set>>uint(d)&1 != 0 {
			ds = append(ds, d)
		}
	}
	return tensor.ShapeString(ds)
}

func (h *host) mismatch(s *site, bad *interp.Mismatch) {
	e := errorAt(s.op, "argument %s of %s: extent %d must be %s, got %d", bad.Param.Name, s.callee().Name, bad.Dim, wanted(bad), bad.Got)
	interp.Stop(e)
}

// wanted is "NR = 4", or "256".
func wanted(bad *interp.Mismatch) string {
	n := tensor.ShapeString([]int64{bad.Want})
	n = n[1 : len(n)-1]
	if bad.Expr == n {
		return n
	}
	return bad.Expr + " = " + n
}

// callHost walks another host function.
func (h *host) callHost(c *interp.Compiler, op *ir.Op) interp.Step {
	callee := c.Callee(op)
	params := callee.Code.Func.Params()
	args := make([]func(*interp.Frame) interp.Value, len(params))
	for i, v := range op.Vals("args") {
		args[i] = c.Get(v)
	}
	return func(fr *interp.Frame) {
		in := callee.Code.NewFrame(fr.Env)
		in.Tick = fr.Tick
		shapes := make([][]int64, len(params))
		for i, p := range params {
			in.Vals[p.ID] = args[i](fr)
			if m, ok := in.Vals[p.ID].P.(*memory); ok {
				shapes[i] = m.shape
			}
		}
		if bad := callee.PassSyms(fr, in.Syms, shapes); bad != nil {
			interp.Stop(errorAt(op, "%s: %v", callee.Code.Func.Name, bad))
		}
		callee.Code.Exec(in)
	}
}

// element is the value at the front of b.
func element(dt ir.DType, b []byte) interp.Value {
	t := tensor.Tensor{DType: dt, Shape: []int64{1}, Data: b[:dt.Size()]}
	switch {
	case dt.IsFloat():
		return interp.Value{F: t.Float(0)}
	case dt == ir.INT64 || dt == ir.INDEX:
		return interp.Value{I: int64(binary.LittleEndian.Uint64(b))}
	}
	return interp.Value{I: t.Int(0)}
}
