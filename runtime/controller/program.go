package controller

import (
	"context"
	"fmt"
	"slices"

	"ptoc/ir"
	"ptoc/runtime/interp"
	"ptoc/runtime/tensor"
)

// Program is a module made ready to run on a backend.
type Program struct {
	Module *ir.Module
	Entry  *ir.Func
	Syms   map[string]int64 // what Bind found

	backend Backend
	code    *interp.Code
	host    *host
	domain  int // of all ranks
}

// Prepare compiles the host program and makes all kernels known to the backend. An entry that is a
// chip or incore function is a program for one rank.
func Prepare(m *ir.Module, entry *ir.Func, b Backend, syms map[string]int64) (*Program, error) {
	p := &Program{Module: m, Entry: entry, Syms: syms, backend: b}
	all := make([]int, b.Ranks())
	for d := range all {
		all[d] = d
	}
	var err error
	if p.domain, err = b.Domain(all); err != nil {
		return nil, err
	}
	p.host = &host{backend: b, domains: map[string]int{"": p.domain}, members: map[int]uint64{}}
	p.host.enroll(p.domain, all)
	walked := entry
	if entry.Kind != ir.Host {
		if walked, err = solo(entry); err != nil {
			return nil, err
		}
	}
	c := &interp.Compiler{Table: p.host.table()}
	if p.code, err = c.Compile(walked); err != nil {
		return nil, err
	}
	return p, nil
}

// solo is a host function that calls entry on rank 0.
func solo(entry *ir.Func) (*ir.Func, error) {
	h := ir.NewFunc(entry.Name, ir.Host, entry.Span)
	var args []*ir.Value
	for i, v := range entry.Params() {
		if t, ok := v.Type.(*ir.Tensor); ok && t.Window {
			return nil, fmt.Errorf("%s has no host function to allocate window %s", entry.Name, v.Name)
		}
		args = append(args, h.AddParam(v.Name, v.Type, entry.Dirs[i]))
	}
	call := ir.NewOp(ir.Call, entry.Span).SetAttr("callee", entry).Set("args", args...).Set("device", ir.Index(0))
	h.Body.Ops = append(h.Body.Ops, call)
	return h, nil
}

// Tensor is a host tensor in memory that the ranks reach.
type Tensor struct {
	*tensor.Tensor
	buf Buffer
}

// MayOverlap lets dispatches pass overlapping memory: a backend that runs kernels access by access gives that
// a meaning, and a verifier wants to see what it does.
func (p *Program) MayOverlap() { p.host.mayOverlap = true }

// NewTensor makes a zeroed tensor that can be an argument.
func (p *Program) NewTensor(name string, dt ir.DType, shape []int64) (*Tensor, error) {
	n, err := tensor.Bytes(dt, shape)
	if err != nil {
		return nil, err
	}
	buf, err := p.backend.Alloc(name, n)
	if err != nil {
		return nil, err
	}
	t, err := tensor.Wrap(dt, shape, buf.Data)
	return &Tensor{t, buf}, err
}

// Free gives a tensor's memory back.
func (p *Program) Free(t *Tensor) { p.backend.Free(t.buf) }

// Run runs the program once, on fresh windows. args are parallel to the entry's parameters: *Tensor
// for memory, interp.Value for scalars. A *failure.Failure says which rank did what.
func (p *Program) Run(ctx context.Context, args []any) error {
	p.backend.ResetWindows()
	defer p.host.freeTemporaries()
	if err := p.Submit(ctx, args); err != nil {
		return err
	}
	return p.backend.Wait(ctx)
}

// Submit walks the host program as Run does, but on whatever windows the backend gives it, and without
// waiting for the ranks at the end.
func (p *Program) Submit(ctx context.Context, args []any) error {
	fr := p.code.NewFrame(p.host)
	p.host.begin(ctx)
	shapes := make([][]int64, len(args))
	for i, v := range p.code.Func.Params() {
		slot := &fr.Vals[v.ID]
		switch a := args[i].(type) {
		case *Tensor:
			slot.P, shapes[i] = newMemory(a.buf, a.DType, a.Shape), a.Shape
		case interp.Value:
			*slot = a
		}
	}
	for i, s := range p.code.Syms {
		fr.Syms[i] = p.Syms[s]
	}
	if bad := p.code.BindSyms(fr.Syms, shapes); bad != nil {
		return fmt.Errorf("%s: %w", p.Entry.Name, bad)
	}
	fr.Tick = p.host.tick
	if err := interp.Catch(func() { p.code.Exec(fr) }); err != nil {
		// The ranks may wait for what will never be dispatched now.
		stop, cancel := context.WithCancel(ctx)
		cancel()
		p.backend.Wait(stop)
		return err
	}
	return nil
}

// sites lists where the host program dispatches, for reports.
func (p *Program) sites() []*site { return slices.Clone(p.host.sites) }

// tick ends a host program that was cancelled.
func (h *host) tick(*ir.Op) {
	if h.ctx.Err() != nil {
		interp.Stop(h.ctx.Err())
	}
}
