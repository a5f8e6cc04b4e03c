package run

import (
	"context"
	"errors"
	"strings"
	"time"

	"ptoc/codegen/bundle"
	"ptoc/codegen/ptx"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/runtime/controller"
	"ptoc/runtime/cuda"
	"ptoc/runtime/cuda/fleet"
	"ptoc/runtime/failure"
	"ptoc/runtime/native"
)

// openGPU starts ranks on GPUs. The driver is asked first: without one there is no need to compile.
func (u *unit) openGPU(ctx context.Context) (controller.Backend, error) {
	driver := u.o.Driver
	if driver == nil {
		var err error
		if driver, err = cuda.System(); err != nil {
			return nil, u.gpuError(err)
		}
	}
	processes := u.o.Workers == native.Processes
	cfg := cuda.Config{Driver: driver, Ranks: u.o.Ranks, Timeout: u.o.Timeout}
	if processes {
		if err := cfg.EnoughGPUs(); err != nil {
			return nil, u.gpuError(err)
		}
	}
	if !u.bundled {
		if err := u.makePTX(); err != nil {
			return nil, err
		}
	}
	u.o.stage("starting ranks")
	var b controller.Backend
	var err error
	if processes {
		b, err = controller.NewFleet(ctx, cfg, u.gpu)
	} else {
		b, err = controller.NewCUDA(cfg, u.gpu)
	}
	if err != nil {
		return nil, u.gpuError(err)
	}
	return b, nil
}

// makePTX compiles the kernels for this run.
func (u *unit) makePTX() error {
	u.o.stage("compiling kernels")
	start := time.Now()
	code, err := u.compilePTX(true)
	if err == nil {
		err = u.o.interrupted() // LLVM does not look
	}
	if err != nil {
		return err
	}
	u.compileTime = time.Since(start)
	u.gpu = controller.GPUObject{PTX: code.Text, Arch: code.Arch, Kernels: code.Kernels}
	for _, s := range code.Sites {
		u.gpu.Sites = append(u.gpu.Sites, failure.Place{Span: s.Span, Op: s.Op})
		u.gpu.Funcs = append(u.gpu.Funcs, s.Func)
	}
	return nil
}

// gpuError gives the errors of GPUs their codes.
func (u *unit) gpuError(err error) error {
	d := gpuFault(err)
	switch {
	case d == nil:
		return err
	case d.Code == diag.NoGPU && u.bundled: // it has no kernels for a CPU
		d.Helps = []string{"run it on the simulator: --backend sim"}
	}
	return d
}

// gpuFault is what an error says of GPUs, with its code; nil if that is nothing.
func gpuFault(err error) *diag.Diagnostic {
	var full *cuda.TooManyRanks
	var few *cuda.TooFewGPUs
	var lost *fleet.Lost
	var silent *fleet.Silent
	var driver *cuda.Error
	d := diag.New(0, source.Span{}, "%v", err)
	switch {
	case errors.Is(err, cuda.ErrNoGPU):
		d.Code = diag.NoGPU
		return d.Help("run it on the CPU: --target cpu")
	case errors.As(err, &full):
		d.Code = diag.RanksDontFit
		return d.Help("run it on at most %d ranks", full.Holds)
	case errors.As(err, &few):
		d.Code = diag.RanksDontFit
		return d.Help("without --workers process all ranks share one GPU")
	case errors.As(err, &lost), errors.As(err, &silent):
		d.Code = diag.RankDied
	case errors.As(err, &driver) && driver.Stopped():
		d.Code = diag.GPUStopped
	case driver != nil:
		d.Code = diag.GPURefuses
	default:
		return nil
	}
	return d
}

// compilePTX generates the kernels; with text, LLVM makes PTX of them.
func (u *unit) compilePTX(text bool) (*bundle.GPUCode, error) {
	arch := u.o.Arch
	if arch == "" {
		arch = "sm_80"
	}
	out, err := ptx.Generate(u.lowered, u.o.GPU)
	if err != nil {
		return nil, refused(err)
	}
	for _, k := range out.Kernels {
		for _, loop := range k.InTurn {
			u.warnings.Warnf(diag.BlocksInTurn, loop.At, "the blocks run one after the other: %s", loop.Why).
				Help("ptoc explain E0745 says what to write instead")
		}
	}
	g := &bundle.GPUCode{Output: out, Arch: arch}
	if !text || len(out.Kernels) == 0 {
		return g, nil
	}
	g.Text, err = ptx.Compile(out.LLVM, arch)
	switch {
	case err == nil:
		return g, nil
	case errors.Is(err, ptx.ErrNoLLVM):
		return nil, diag.New(diag.NoLLVM, source.Span{}, "%v", err)
	}
	said := strings.TrimSpace(err.Error())
	if inOurText.MatchString(said) { // it does not take our IR
		return nil, diag.New(diag.Internal, source.Span{}, "%s", said)
	}
	return nil, diag.New(diag.NoLLVM, source.Span{}, "%s", said).Help("set PTOC_LLVM to a libLLVM or an llc that works")
}

// takePTX takes the kernels from a bundle.
func (u *unit) takePTX(b *bundle.Bundle) error {
	if u.o.Target == "cpu" && u.o.Backend != "sim" {
		return badOption("%s was compiled for GPUs: --target cuda", u.o.File).Help("or run it on the simulator: --backend sim")
	}
	u.o.Target = "cuda"
	u.gpu.PTX, u.gpu.Arch = b.PTX, b.GPU
	var err error
	u.gpu.Kernels, err = b.GPUKernels(u.checked)
	for _, s := range b.Sites {
		u.gpu.Sites = append(u.gpu.Sites, failure.Place{Text: s.At, Op: s.Op})
		u.gpu.Funcs = append(u.gpu.Funcs, s.Func)
	}
	return err
}
