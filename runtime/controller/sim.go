package controller

import (
	"context"
	"fmt"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/interp"
	"ptoc/runtime/sim"
	"ptoc/runtime/tensor"
)

// simBackend runs kernels on the simulator. Ranks run only while the host waits.
type simBackend struct {
	cfg   sim.Config
	m     *sim.Machine
	codes []*interp.Code
}

// NewSim makes a backend of simulated ranks.
func NewSim(cfg sim.Config) (Backend, error) {
	m, err := sim.New(cfg)
	return &simBackend{cfg: cfg, m: m}, err
}

func (s *simBackend) Ranks() int { return s.m.Ranks() }

func (s *simBackend) Alloc(name string, bytes int64) (Buffer, error) {
	if bytes < 0 || bytes > sim.MaxAlloc {
		return Buffer{}, fmt.Errorf("a tensor of %d bytes: the simulator takes %d", bytes, int64(sim.MaxAlloc))
	}
	if !tensor.Room(bytes) {
		return Buffer{}, fmt.Errorf("a tensor of %d bytes: there is no memory for it", bytes)
	}
	data := make([]byte, bytes)
	return Buffer{s.m.AddHeap(name, data), data}, nil
}

func (s *simBackend) Free(b Buffer)                     { s.m.DropHeap(b.Addr) }
func (s *simBackend) Domain(devices []int) (int, error) { return s.m.Domain(devices) }

func (s *simBackend) AllocWindow(name string, bytes int64) (int64, error) {
	return s.m.AllocWindow(name, bytes)
}

func (s *simBackend) ResetWindows() { s.m.ResetWindows() }

func (s *simBackend) Window(device int, offset, bytes int64) []byte {
	return s.m.Window(device, offset, bytes)
}

func (s *simBackend) Kernel(f *ir.Func) (Kernel, error) {
	code, err := s.m.Compile(f)
	if err != nil {
		return Kernel{}, err
	}
	s.codes = append(s.codes, code)
	return Kernel{len(s.codes) - 1, code.Syms}, nil
}

func (s *simBackend) Dispatch(device int, k Kernel, args []abi.Arg) error {
	return s.m.Submit(device, s.codes[k.ID], args)
}

func (s *simBackend) Wait(ctx context.Context) error { return s.m.Run(ctx) }
func (s *simBackend) Recover() error                 { return nil }
func (s *simBackend) Close() error                   { return nil }
