// Package run is `ptoc run` as a library: it compiles a program, makes its inputs, runs it on many
// ranks, and compares what comes out with what the program says should.
package run

import (
	"context"
	"slices"
	"strings"
	"time"

	"ptoc/codegen/abi"
	"ptoc/codegen/ptx"
	"ptoc/codegen/toolchain"
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/runtime/controller"
	"ptoc/runtime/cuda"
	"ptoc/runtime/native"
)

// Options of a run. File must be set.
type Options struct {
	File    string
	Entry   string            // the function to run, or a factory or class that defines it
	Defines map[string]string // -D NAME=VALUE
	Set     map[string]string // arguments of the factory

	Ranks   int // 0: what the inputs say, or DefaultRanks
	Workers native.Mode
	Backend string // "native" or "sim"
	Target  string // "cpu" or "cuda"; "": what a bundle was compiled for, else "cpu"
	Arch    string // oldest GPU architecture; "": "sm_80"
	GPU     ptx.Options
	Repeat  int // runs, each on fresh windows; 0: 1
	WarmUp  int // runs before those, which are not timed
	Timeout time.Duration

	Ins   []string // NAME=SPEC, see tensor.ParseSpec; NAME=VALUE for scalars
	Outs  []string // NAME=FILE.npy
	Print []string // NAME
	Seed  uint64   // of inputs that are not given
	Check bool

	// For tests: stop after this pass, instrument native code, and run on ranks of another kind.
	Until    string
	Sanitize toolchain.Sanitizer
	Open     func(lowered *ir.Module, ranks int) (controller.Backend, error)
	Driver   cuda.Driver // nil: the machine's

	// Stage, if set, is told what is being done, for a progress line.
	Stage func(string)

	ctx context.Context // of the call that got these options; nil: nothing interrupts it
}

// interrupted is why the work on the program should end; nil if it should not.
func (o *Options) interrupted() error {
	if o.ctx == nil {
		return nil
	}
	return o.ctx.Err()
}

// DefaultRanks is how many ranks a program runs on where nothing says otherwise.
const DefaultRanks = 4

// Backends are the values of Options.Backend, Targets those of Options.Target.
var (
	Backends = []string{"native", "sim"}
	Targets  = []string{"cpu", "cuda"}
)

func (o *Options) check() error {
	if o.Backend == "" {
		o.Backend = "native"
	}
	if !slices.Contains(Backends, o.Backend) {
		return badOption("--backend must be native or sim, got %q", o.Backend)
	}
	if o.Target != "" && !slices.Contains(Targets, o.Target) {
		return badOption("--target must be cpu or cuda, got %q", o.Target)
	}
	if o.Ranks < 0 || o.Ranks > abi.MaxRanks {
		return badOption("--ranks must be between 1 and %d, got %d", abi.MaxRanks, o.Ranks)
	}
	if o.Repeat < 0 {
		return badOption("--repeat must not be negative, got %d", o.Repeat)
	}
	o.Repeat = max(o.Repeat, 1)
	if o.Timeout < 0 {
		return badOption("--timeout must not be negative, got %v", o.Timeout)
	}
	if archs := ptx.Architectures(); o.Arch != "" && !slices.Contains(archs, o.Arch) {
		return badOption("--arch must be %s, got %q", strings.Join(archs, ", "), o.Arch)
	}
	return nil
}

// forGPUs is a flag that says how kernels are compiled for GPUs, if one is given; else "".
func (o *Options) forGPUs() string {
	switch {
	case o.Arch != "":
		return "--arch"
	case o.GPU.TF32:
		return "--tf32"
	case o.GPU.FastMath:
		return "--fast-math"
	}
	return ""
}

func badOption(format string, args ...any) *diag.Diagnostic {
	return diag.New(diag.BadOption, source.Span{}, format, args...)
}

func (o *Options) stage(text string) {
	if o.Stage != nil {
		o.Stage(text)
	}
}

// unknownName says that a flag names no parameter.
func unknownName(flag, name string, params []*ir.Value) *diag.Diagnostic {
	var names []string
	for _, p := range params {
		names = append(names, p.Name)
	}
	d := diag.New(diag.UnknownInput, source.Span{}, "%s %s: the program has no parameter %s", flag, name, name)
	if near := diag.Nearest(name, names); near != "" {
		return d.Help("did you mean %s?", near)
	}
	return d.Help("its parameters are %s", diag.Listed(names))
}
