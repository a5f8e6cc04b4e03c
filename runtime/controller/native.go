package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/failure"
	"ptoc/runtime/native"
)

// Object is the compiled kernels of a module.
type Object struct {
	Path  string              // the shared object
	Syms  map[string][]string // kernel -> the symbols that follow its arguments
	Sites []failure.Place     // what faults number
}

// nativeBackend runs compiled kernels on the native engine.
type nativeBackend struct {
	e       *native.Engine
	obj     Object
	module  native.Module
	timeout time.Duration
}

// NewNative starts an engine for the kernels of obj.
func NewNative(cfg native.Config, obj Object) (Backend, error) {
	e, err := native.Open(cfg)
	if err != nil {
		return nil, err
	}
	n := &nativeBackend{e: e, obj: obj, timeout: cfg.Timeout}
	if obj.Path == "" { // a host program without kernels
		return n, nil
	}
	if n.module, err = e.Load(obj.Path); err != nil {
		e.Close()
		return nil, err
	}
	return n, nil
}

func (n *nativeBackend) Ranks() int { return n.e.Ranks() }

func (n *nativeBackend) Alloc(_ string, bytes int64) (Buffer, error) {
	b, err := n.e.Alloc(bytes)
	return Buffer{b.Offset, b.Data}, err
}

func (n *nativeBackend) Free(b Buffer) { n.e.Free(native.Buffer{Offset: b.Addr, Data: b.Data}) }

func (n *nativeBackend) Domain(devices []int) (int, error) {
	d, err := n.e.Domain(devices)
	return int(d), err
}

func (n *nativeBackend) AllocWindow(_ string, bytes int64) (int64, error) {
	return n.e.AllocWindow(bytes)
}

func (n *nativeBackend) ResetWindows() { n.e.ResetWindows() }

func (n *nativeBackend) Window(device int, offset, bytes int64) []byte {
	return n.e.Window(device, offset, bytes)
}

func (n *nativeBackend) Kernel(f *ir.Func) (Kernel, error) {
	syms, ok := n.obj.Syms[f.Name]
	if !ok {
		return Kernel{}, fmt.Errorf("the bundle has no kernel %s", f.Name)
	}
	k, err := n.e.Kernel(n.module, abi.KernelSymbol(f.Name))
	return Kernel{int(k), syms}, err
}

func (n *nativeBackend) Dispatch(device int, k Kernel, args []abi.Arg) error {
	_, err := n.e.Submit(device, native.Kernel(k.ID), args)
	return n.failed(err)
}

func (n *nativeBackend) Wait(ctx context.Context) error { return n.failed(n.e.Wait(ctx)) }
func (n *nativeBackend) Recover() error                 { return n.e.Reset() }
func (n *nativeBackend) Close() error                   { return n.e.Close() }

// failed turns the engine's failure into one with places instead of sites.
func (n *nativeBackend) failed(err error) error {
	var f *native.Failure
	if !errors.As(err, &f) {
		return err
	}
	out := &failure.Failure{Cause: failure.Fault, First: f.First, After: n.timeout.String()}
	switch {
	case f.TimedOut:
		out.Cause = failure.Timeout
	case f.Cancelled:
		out.Cause = failure.Cancelled
	}
	for _, s := range f.Ranks {
		out.Ranks = append(out.Ranks, n.rank(s))
	}
	return out
}

func (n *nativeBackend) place(site int32) failure.Place {
	if site < 0 || int(site) >= len(n.obj.Sites) {
		return failure.Place{}
	}
	return n.obj.Sites[site]
}

func (n *nativeBackend) rank(s native.RankStatus) failure.Rank {
	r := failure.Rank{Rank: s.Rank, Kernel: s.Name, Submitted: s.Submitted, Completed: s.Completed, Code: s.Code, V: s.Operands, Output: s.Output}
	switch {
	case s.Code == abi.Stuck:
		r.State, r.At = failure.Stuck, n.place(s.Site)
	case s.Exited:
		r.State, r.Code = failure.Dead, abi.Died
	case s.Wait != nil && (s.Code == abi.Aborted || s.Code == abi.OK):
		r.State = failure.Waiting
		r.Wait = &failure.Wait{At: n.place(s.Wait.Site), Domain: int(s.Wait.Domain), Offset: s.Wait.Offset,
			Cmp: s.Wait.Cmp, Want: int64(s.Wait.Want), Seen: int64(s.Wait.Seen)}
	case s.Code == abi.Aborted:
		r.State, r.At = failure.Running, n.place(s.Site)
	case s.Code != abi.OK:
		r.State, r.At = failure.Failed, n.place(s.Site)
	}
	return r
}
