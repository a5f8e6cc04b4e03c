package controller

import (
	"context"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/interp"
	"ptoc/runtime/tensor"
)

// host is the state of a walk through a host function.
type host struct {
	backend Backend
	ctx     context.Context
	domains map[string]int // comm_domain scopes by name; "": all ranks
	members map[int]uint64 // domain -> set of devices
	sites   []*site
	kernels map[*ir.Func]Kernel
	temps   []Buffer

	mayOverlap bool // see Program.MayOverlap
}

func (h *host) begin(ctx context.Context) {
	h.ctx = ctx
	for _, s := range h.sites {
		s.count = [abi.MaxRanks]int64{}
	}
}

func (h *host) freeTemporaries() {
	for _, b := range h.temps {
		h.backend.Free(b)
	}
	h.temps = nil
}

// enroll notes which devices a domain has.
func (h *host) enroll(id int, devices []int) {
	for _, d := range devices {
		h.members[id] |= 1 << uint(d)
	}
}

// table are the ops of host functions beside scalars and control flow.
func (h *host) table() interp.Table {
	return interp.Table{
		ir.WorldSize: h.worldSize, ir.GetCommCtx: h.commCtx, ir.CommDomain: h.commDomain,
		ir.AllocWindow: h.allocWindow, ir.Window: h.window, ir.CreateTensor: h.createTensor,
		ir.Slice: h.slice, ir.Reshape: h.reshape, ir.Read: h.read, ir.Call: h.call,
	}
}

func (h *host) worldSize(_ *interp.Compiler, op *ir.Op) interp.Step {
	to, n := op.Result().ID, int64(h.backend.Ranks())
	return func(fr *interp.Frame) { fr.Vals[to].I = n }
}

func (h *host) commCtx(_ *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("target").ID, op.Result().ID
	return func(fr *interp.Frame) { fr.Vals[to].I = int64(fr.Vals[from].P.(*memory).domain) }
}

func (h *host) commDomain(c *interp.Compiler, op *ir.Op) interp.Step {
	name, devices := op.Str("name"), c.Ints(op.Vals("devices"))
	all := len(op.Vals("devices")) == 0
	body := c.Block(op.Regions[0])
	return func(fr *interp.Frame) {
		id := h.domains[""]
		if !all {
			id = h.makeDomain(op, devices(fr))
		}
		h.domains[name] = id
		for _, s := range body {
			s(fr)
		}
	}
}

func (h *host) makeDomain(op *ir.Op, devices []int64) int {
	ds := make([]int, len(devices))
	for i, d := range devices {
		h.checkDevice(dispatchTo(op, d), d)
		ds[i] = int(d)
	}
	id, err := h.backend.Domain(ds)
	if err != nil {
		interp.Stop(errorAt(op, "%v", err))
	}
	h.enroll(id, ds)
	return id
}

// dispatchTo is the call in a domain's scope that dispatches to a device: a scope has the place of a window.
func dispatchTo(scope *ir.Op, device int64) *ir.Op {
	var exact, some *ir.Op
	scope.Regions[0].Walk(func(op *ir.Op) {
		if op.Kind != ir.Call || op.Val("device") == nil {
			return
		}
		if d, known := op.Val("device").ConstInt(); !known && some == nil {
			some = op
		} else if known && d == device && exact == nil {
			exact = op
		}
	})
	switch {
	case exact != nil:
		return exact
	case some != nil:
		return some
	}
	return scope
}

func (h *host) checkDevice(op *ir.Op, d int64) {
	if n := h.backend.Ranks(); d < 0 || d >= int64(n) {
		e := errorAt(op, "device %d does not exist: the program runs on %d ranks", d, n)
		e.help = "count devices from 0 to pld.world_size() - 1, or run on more ranks"
		interp.Stop(e)
	}
}

func (h *host) allocWindow(c *interp.Compiler, op *ir.Op) interp.Step {
	to, name, domain := op.Result().ID, op.Result().Name, op.Str("domain")
	shape, dt := c.Ints(op.Vals("shape")), op.DTypeAttr("dtype")
	if dt == ir.NoDType {
		dt = ir.INT8 // the shape counts bytes
	}
	return func(fr *interp.Frame) {
		bytes := bytesOf(op, dt, shape(fr))
		id, known := h.domains[domain]
		if !known {
			interp.Stop(errorAt(op, "there is no communication domain called %q here", domain))
		}
		off, err := h.backend.AllocWindow(name, bytes)
		if err != nil {
			interp.Stop(errorAt(op, "%v", err))
		}
		fr.Vals[to].P = &windowBuffer{off, bytes, id}
	}
}

// bytesOf is the memory that a shape takes. One that cannot be ends the run.
func bytesOf(op *ir.Op, dt ir.DType, dims []int64) int64 {
	for i, d := range dims {
		if d < 0 {
			interp.Stop(errorAt(op, "extent %d is %d: it must not be negative", i, d))
		}
	}
	n, err := tensor.Bytes(dt, dims)
	if err != nil {
		interp.Stop(errorAt(op, "%v", err))
	}
	return n
}

func (h *host) window(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to, dt := op.Val("buffer").ID, op.Result().ID, op.DTypeAttr("dtype")
	shape := c.Ints(op.Vals("shape"))
	return func(fr *interp.Frame) {
		b, dims := fr.Vals[from].P.(*windowBuffer), shape(fr)
		m := newMemory(Buffer{}, dt, dims)
		if need := bytesOf(op, dt, dims); need > b.bytes {
			interp.Stop(errorAt(op, "the window needs %d bytes, its buffer has %d", need, b.bytes))
		}
		m.window, m.domain, m.off = true, b.domain, b.offset
		fr.Vals[to].P = m
	}
}

func (h *host) createTensor(c *interp.Compiler, op *ir.Op) interp.Step {
	to, dt, name := op.Result().ID, op.DTypeAttr("dtype"), op.Result().Name
	shape := c.Ints(op.Vals("shape"))
	return func(fr *interp.Frame) {
		dims := shape(fr)
		buf, err := h.backend.Alloc(name, bytesOf(op, dt, dims))
		if err != nil {
			interp.Stop(errorAt(op, "%v", err))
		}
		h.temps = append(h.temps, buf)
		fr.Vals[to].P = newMemory(buf, dt, dims)
	}
}

func (h *host) slice(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to, drop := op.Val("x").ID, op.Result().ID, op.Int("drop_dims")
	offsets, shape := c.Ints(op.Vals("offsets")), c.Ints(op.Vals("shape"))
	return func(fr *interp.Frame) {
		m, offs, dims := fr.Vals[from].P.(*memory), offsets(fr), shape(fr)
		out := *m
		for i, o := range offs {
			if o < 0 || dims[i] < 0 || o > m.shape[i]-dims[i] {
				interp.Raise(op, abi.LocalBounds, int64(i), o, dims[i], m.shape[i])
			}
			out.off += o * m.strides[i]
		}
		out.shape, out.strides = dims[drop:], m.strides[drop:]
		fr.Vals[to].P = &out
	}
}

func (h *host) reshape(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("x").ID, op.Result().ID
	shape := c.Ints(op.Vals("shape"))
	return func(fr *interp.Frame) {
		out, dims := *fr.Vals[from].P.(*memory), shape(fr)
		if numel(dims) != numel(out.shape) {
			interp.Raise(op, abi.Shape, 0, numel(out.shape), numel(dims))
		}
		if !out.contiguous() {
			interp.Stop(errorAt(op, "a strided view cannot be reshaped"))
		}
		out.shape, out.strides = dims, rowMajor(dims, int64(out.dt.Size()))
		fr.Vals[to].P = &out
	}
}

// read waits for the ranks: any of them may still write the tensor.
func (h *host) read(c *interp.Compiler, op *ir.Op) interp.Step {
	from, to := op.Val("x").ID, op.Result().ID
	indices := c.Ints(op.Vals("indices"))
	return func(fr *interp.Frame) {
		m, at := fr.Vals[from].P.(*memory), int64(0)
		if m.window {
			interp.Stop(errorAt(op, "the host cannot read a window: every rank has its own"))
		}
		at = m.off
		for i, x := range indices(fr) {
			if x < 0 || x >= m.shape[i] {
				interp.Raise(op, abi.LocalBounds, int64(i), x, 1, m.shape[i])
			}
			at += x * m.strides[i]
		}
		if err := h.backend.Wait(h.ctx); err != nil {
			interp.Stop(err)
		}
		fr.Vals[to] = element(m.dt, m.buf.Data[at:])
	}
}
