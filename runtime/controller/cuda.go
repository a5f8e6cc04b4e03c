package controller

import (
	"context"
	"fmt"
	"time"

	"ptoc/codegen/abi"
	"ptoc/codegen/ptx"
	"ptoc/ir"
	"ptoc/runtime/cuda"
	"ptoc/runtime/cuda/fleet"
	"ptoc/runtime/failure"
)

// GPUObject is the kernels of a module compiled to PTX.
type GPUObject struct {
	PTX     string
	Arch    string // that it is for
	Kernels []ptx.Kernel
	Sites   []failure.Place // what faults number
	Funcs   []string        // the kernel of each
}

// gpuEngine is ranks on GPUs: of this process, or with processes of their own.
type gpuEngine interface {
	Ranks() int
	Alloc(bytes int64) (*cuda.Buffer, error)
	Free(addr int64)
	Domain(devices []int) (int, error)
	AllocWindow(bytes int64) (int64, error)
	ResetWindows()
	Window(rank int, offset, bytes int64) ([]byte, error)
	Submit(rank, kernel int, args []abi.Arg)
	Wait(context.Context) error
	Elapsed() time.Duration
	Recover() error
	Close() error
}

// gpuBackend runs compiled kernels on GPUs.
type gpuBackend struct {
	gpuEngine
	kernels map[string]Kernel
}

// NewCUDA makes a backend of ranks on the GPUs of cfg.Driver.
func NewCUDA(cfg cuda.Config, obj GPUObject) (Backend, error) {
	return newGPU(cfg, obj, func(cfg cuda.Config) (gpuEngine, error) { return cuda.Open(cfg) })
}

// NewFleet makes one of ranks that have a GPU and a process each.
func NewFleet(ctx context.Context, cfg cuda.Config, obj GPUObject) (Backend, error) {
	return newGPU(cfg, obj, func(cfg cuda.Config) (gpuEngine, error) { return fleet.Open(ctx, cfg) })
}

func newGPU(cfg cuda.Config, obj GPUObject, open func(cuda.Config) (gpuEngine, error)) (Backend, error) {
	g := &gpuBackend{kernels: map[string]Kernel{}}
	for i := range obj.Kernels {
		k := &obj.Kernels[i]
		g.kernels[k.Name] = Kernel{i, k.Syms}
		out := cuda.Kernel{Name: k.Name, Symbol: abi.KernelSymbol(k.Name), Threads: k.Threads, Shared: k.Shared, Writes: writes(k.Func), Adds: adds(k.Func)}
		out.Demand = func(args []int64) (cuda.Demand, error) {
			d, err := k.Demand(args, cfg.Ranks)
			return cuda.Demand(d), err
		}
		cfg.Kernels = append(cfg.Kernels, out)
	}
	if len(cfg.Kernels) > 0 {
		cfg.PTX, cfg.Arch = obj.PTX, obj.Arch
	}
	for i, p := range obj.Sites {
		cfg.Sites = append(cfg.Sites, cuda.Site{Place: p, Kernel: obj.Funcs[i]})
	}
	var err error
	g.gpuEngine, err = open(cfg)
	return g, err
}

// writes says of each argument slot whether it is a tensor that f may write.
func writes(f *ir.Func) []bool {
	var out []bool
	for i, p := range f.Params() {
		_, memory := p.Type.(*ir.Tensor)
		for range slotsOf(p) {
			out = append(out, memory && f.Dirs[i] != ir.In)
		}
	}
	return out
}

// adds reports whether f adds to a tensor atomically: one that other ranks may add to. Windows are GPUs' memory.
func adds(f *ir.Func) (yes bool) {
	f.Walk(func(op *ir.Op) {
		if op.Kind == ir.Store && op.Enum("atomic").Is("Add") {
			t, memory := op.Val("tensor").Type.(*ir.Tensor)
			yes = yes || memory && !t.Window
		}
	})
	return yes
}

func (g *gpuBackend) Alloc(_ string, bytes int64) (Buffer, error) {
	b, err := g.gpuEngine.Alloc(bytes)
	if err != nil {
		return Buffer{}, err
	}
	return Buffer{b.Addr, b.Data}, nil
}

func (g *gpuBackend) Free(b Buffer) { g.gpuEngine.Free(b.Addr) }

func (g *gpuBackend) AllocWindow(name string, bytes int64) (int64, error) {
	off, err := g.gpuEngine.AllocWindow(bytes)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return off, nil
}

// Window of a GPU that does not answer any more is empty memory.
func (g *gpuBackend) Window(device int, offset, bytes int64) []byte {
	data, err := g.gpuEngine.Window(device, offset, bytes)
	if err != nil {
		return make([]byte, bytes)
	}
	return data
}

func (g *gpuBackend) Kernel(f *ir.Func) (Kernel, error) {
	k, ok := g.kernels[f.Name]
	if !ok {
		return Kernel{}, fmt.Errorf("the compiled program has no kernel %s", f.Name)
	}
	return k, nil
}

func (g *gpuBackend) Dispatch(device int, k Kernel, args []abi.Arg) error {
	g.Submit(device, k.ID, args)
	return nil
}

// GPUTime is how long the GPU took for the kernels of the last run; 0 if there is none.
func (p *Program) GPUTime() time.Duration {
	if g, ok := p.backend.(*gpuBackend); ok {
		return g.Elapsed()
	}
	return 0
}
