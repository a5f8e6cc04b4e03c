package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ptoc/codegen/toolchain"
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/runtime/bench"
	"ptoc/runtime/controller"
	"ptoc/runtime/native"
	"ptoc/runtime/sim"
	"ptoc/runtime/tensor"
)

// Run compiles and runs a program. Its errors are *diag.List and *diag.Diagnostic where the program
// or the command line is at fault. A result that is wrong is no error: see Result.OK.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.ctx = ctx
	u, err := load(&o)
	if err != nil {
		return nil, err
	}
	entry := u.checked.Func(u.entry)
	if err := checkNames(entry, &o); err != nil {
		return nil, err
	}
	in, err := parseInputs(entry, &o)
	if err != nil {
		return nil, err
	}
	syms, err := bind(u, in)
	if err != nil {
		return nil, err
	}
	if err := u.lower(o.Ranks); err != nil {
		return nil, err
	}
	return u.run(ctx, in, syms)
}

// checkNames finds mistakes in --out and --print before anything is run.
func checkNames(entry *ir.Func, o *Options) error {
	has := func(name string) bool {
		return slices.ContainsFunc(entry.Params(), func(p *ir.Value) bool {
			_, memory := p.Type.(*ir.Tensor)
			return p.Name == name && memory
		})
	}
	files := map[string]string{}
	for _, text := range o.Outs {
		name, file, ok := strings.Cut(text, "=")
		if !ok || !strings.HasSuffix(file, ".npy") && !strings.HasSuffix(file, ".npz") {
			return badOption("--out takes NAME=FILE.npy, got %q", text)
		}
		if !has(name) {
			return unknownName("--out", name, entry.Params())
		}
		if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
			return badOption("--out %s: there is no folder %s", text, filepath.Dir(file))
		}
		if other, taken := files[filepath.Clean(file)]; taken && !(strings.HasSuffix(file, ".npz") && name != other) {
			return badOption("--out %s: %s goes into that file", text, other).Help("an .npz file holds several tensors")
		}
		files[filepath.Clean(file)] = name
	}
	for _, name := range o.Print {
		if !has(name) {
			return unknownName("--print", name, entry.Params())
		}
	}
	return nil
}

// bind settles the number of ranks and gives the symbols their values.
func bind(u *unit, in *inputs) (map[string]int64, error) {
	o := u.o
	given := controller.Given{Ranks: o.Ranks, Shapes: in.shapes(), Syms: u.dims}
	if in.entry.Kind != ir.Host {
		if o.Ranks > 1 {
			return nil, badOption("%s function %s runs on one rank, not on %d", in.entry.Kind, in.entry.Name, o.Ranks).
				Help("a function under @pl.jit.host allocates windows and dispatches to many ranks")
		}
		given.Ranks = 1
	}
	if given.Ranks == 0 {
		given.Ranks = controller.RanksOf(in.entry, given, DefaultRanks)
	}
	o.Ranks = given.Ranks
	syms, d := controller.Bind(in.entry, given)
	if d != nil {
		return nil, d
	}
	return syms, nil
}

// run executes the lowered program.
func (u *unit) run(ctx context.Context, in *inputs, syms map[string]int64) (*Result, error) {
	defer u.closeTools()
	b, err := u.open(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	prog, err := controller.Prepare(u.lowered, u.lowered.Func(u.entry), b, syms)
	if err != nil {
		return nil, err
	}
	args, err := in.allocate(prog)
	if err != nil {
		return nil, err
	}
	u.o.stage("running")
	times, err := u.repeat(ctx, prog, args)
	if err != nil {
		return nil, u.explain(ctx, prog, err)
	}
	r := u.result(args, times)
	if u.o.Check {
		u.o.stage("checking")
		if err := u.check(ctx, r, args); err != nil {
			return nil, err
		}
	}
	return r, u.save(r, args)
}

// open starts the ranks.
func (u *unit) open(ctx context.Context) (controller.Backend, error) {
	if u.o.Open != nil {
		return u.o.Open(u.lowered, u.o.Ranks)
	}
	if u.o.Backend == "sim" {
		return controller.NewSim(sim.Config{Ranks: u.o.Ranks, Timeout: u.o.Timeout, Scheduler: &sim.Greedy{}})
	}
	if u.o.Target == "cuda" {
		return u.openGPU(ctx)
	}
	if err := u.compile(ctx); err != nil {
		return nil, err
	}
	u.o.stage("starting ranks")
	cfg := native.Config{Ranks: u.o.Ranks, Mode: u.o.Workers, EnginePath: u.engine, Timeout: u.o.Timeout, Context: ctx}
	if u.o.Sanitize != toolchain.NoSanitizer { // its shadow memory does not like large address spaces
		cfg.WindowBytes, cfg.HeapBytes = 4<<20, 64<<20
	}
	return controller.NewNative(cfg, u.object)
}

func (u *unit) repeat(ctx context.Context, prog *controller.Program, args *arguments) ([]float64, error) {
	times := make([]float64, 0, u.o.Repeat)
	for i := range u.o.WarmUp + u.o.Repeat {
		if i > 0 {
			args.reset()
		}
		start := time.Now()
		if err := prog.Run(ctx, args.vals); err != nil {
			return nil, err
		}
		if i < u.o.WarmUp {
			continue
		}
		times = append(times, float64(time.Since(start).Nanoseconds()))
		if t := prog.GPUTime(); t > 0 {
			u.gpuTimes = append(u.gpuTimes, float64(t.Nanoseconds()))
		}
	}
	return times, nil
}

// explain turns the failure of a run into its report.
func (u *unit) explain(ctx context.Context, prog *controller.Program, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	d := prog.Report(err)
	if d == nil {
		return u.gpuError(err)
	}
	if g := gpuFault(err); g != nil { // at a place in the host program
		d.Code, d.Helps = g.Code, g.Helps
	}
	return d
}

// check compares the outputs with the golden function, or with the simulator.
func (u *unit) check(ctx context.Context, r *Result, args *arguments) error {
	f, err := u.golden()
	if err != nil {
		return err
	}
	if f != nil {
		r.ComparedWith = "golden function " + f.Name
		return u.compareGolden(ctx, f, r, args)
	}
	if u.o.Backend == "sim" {
		return diag.New(diag.BadOption, u.checked.Func(u.entry).Span, "--check has nothing to compare with: the program has no golden function, and the simulator itself runs it").
			Help("write one: @pl.golden(of=%s)", u.entry)
	}
	r.ComparedWith = "the simulator"
	return u.compareSim(ctx, r, args)
}

func (u *unit) compareGolden(ctx context.Context, f *ir.Func, r *Result, args *arguments) error {
	arrays := map[string]*sim.Array{}
	var vals []any
	for i, p := range f.Params() {
		name := p.Name
		if _, _, ok := args.in.param(name); !ok {
			name = args.in.entry.Params()[i].Name
		}
		if args.tensors[name] == nil {
			vals = append(vals, args.in.scalars[name])
			continue
		}
		arrays[name] = sim.FromTensor(args.before(name))
		vals = append(vals, arrays[name])
	}
	if err := sim.Golden(ctx, f, int64(u.o.Ranks), args.prog.Syms, vals); err != nil {
		return goldenFailed(args.prog, f, err)
	}
	for i := range r.Outputs {
		out := &r.Outputs[i]
		want := arrays[out.Name]
		if want == nil {
			continue // the golden function says nothing about it
		}
		if err := out.compare(args.tensors[out.Name].Tensor, want); err != nil {
			return err
		}
	}
	return nil
}

func goldenFailed(prog *controller.Program, f *ir.Func, err error) error {
	if d := prog.Report(err); d != nil {
		return d.Note(f.Span, "while running the golden function")
	}
	return err
}

// compareSim runs the same program on simulated ranks.
func (u *unit) compareSim(ctx context.Context, r *Result, args *arguments) error {
	b, err := controller.NewSim(sim.Config{Ranks: u.o.Ranks, Timeout: u.o.Timeout, Scheduler: &sim.Greedy{}})
	if err != nil {
		return err
	}
	prog, err := controller.Prepare(u.lowered, u.lowered.Func(u.entry), b, args.prog.Syms)
	if err != nil {
		return err
	}
	ref, err := args.in.allocate(prog)
	if err != nil {
		return err
	}
	if err := prog.Run(ctx, ref.vals); err != nil {
		return u.explain(ctx, prog, err)
	}
	for i := range r.Outputs {
		out := &r.Outputs[i]
		if err := out.compare(args.tensors[out.Name].Tensor, sim.FromTensor(ref.tensors[out.Name].Tensor)); err != nil {
			return err
		}
	}
	return nil
}

// save writes and prints the outputs that were asked for.
func (u *unit) save(r *Result, args *arguments) error {
	archives := map[string][]tensor.Named{} // by file
	for _, text := range u.o.Outs {
		name, file, _ := strings.Cut(text, "=")
		t := args.tensors[name].Tensor
		var err error
		if strings.HasSuffix(file, ".npz") {
			key := filepath.Clean(file)
			archives[key] = append(archives[key], tensor.Named{Name: name, Tensor: t})
			err = tensor.SaveNPZ(file, archives[key])
		} else {
			err = tensor.Save(file, t)
		}
		if err != nil {
			return badOption("--out %s: %v", text, err)
		}
		r.Files = append(r.Files, file)
	}
	for _, name := range u.o.Print {
		r.Printed = append(r.Printed, Printed{name, args.tensors[name].Clone()})
	}
	return nil
}

func median(times []float64) float64 { return bench.Summarize(times).Median }
