package run

import (
	"context"
	"errors"
	"os"
	"regexp"
	"sync"
	"time"

	"ptoc/codegen/cpp"
	"ptoc/codegen/lower"
	"ptoc/codegen/target"
	"ptoc/codegen/toolchain"
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/entry"
	"ptoc/lang/source"
	"ptoc/passes"
	"ptoc/runtime/controller"
	"ptoc/runtime/failure"
	"ptoc/runtime/native"
	"ptoc/verify"
)

// unit is a program on its way from text to something that runs.
type unit struct {
	o        *Options
	file     *source.File
	checked  *ir.Module // as the checker made it
	lowered  *ir.Module // after all passes
	entry    string     // name of the function that is run
	warnings *diag.List

	dims map[string]int64 // that -D gives

	choices []passes.Choice

	code     *cpp.Output
	gpu      controller.GPUObject
	gpuTimes []float64 // of each run's kernels
	bundled  bool      // compiled before: nothing to lower or compile
	object   controller.Object
	engine   string
	tools    *toolchain.Toolchain // nil if nothing was compiled

	frontTime, compileTime time.Duration
	cached                 bool
}

// load reads and checks the program.
func load(o *Options) (*unit, error) {
	if info, err := os.Stat(o.File); err == nil && info.IsDir() {
		return loadBundle(o)
	}
	if flag := o.forGPUs(); flag != "" && o.Target != "cuda" {
		return nil, badOption("%s needs --target cuda", flag)
	}
	o.stage("reading " + o.File)
	start := time.Now()
	text, err := os.ReadFile(o.File)
	if err != nil {
		return nil, diag.Unreadable(err)
	}
	u := &unit{o: o, file: source.NewFile(o.File, string(text)), warnings: &diag.List{}}
	if err := u.checkFile(o.Entry); err != nil {
		return nil, err
	}
	u.frontTime = time.Since(start)
	return u, nil
}

// checkFile fills checked and entry.
func (u *unit) checkFile(name string) error {
	l := u.warnings
	u.checked, u.dims = check.Read(u.file, check.Options{Defines: u.o.Defines, Entry: u.o.Entry, Set: u.o.Set, Context: u.o.ctx}, l)
	if u.o.interrupted() != nil {
		return u.o.interrupted()
	}
	if l.HasErrors() {
		return l
	}
	f, d := entry.Find(u.checked, u.file, name, true)
	if d != nil {
		return d
	}
	u.entry = f.Name
	verify.Warn(u.checked, l)
	return nil
}

// lower runs the passes for a number of ranks.
func (u *unit) lower(ranks int) error {
	if u.bundled {
		u.lowered = u.checked
		return nil
	}
	start := time.Now()
	u.lowered = ir.CloneModule(u.checked)
	l := passes.Run(u.lowered, passes.Options{Target: u.o.Target, Ranks: ranks, Cache: target.LastLevelCache(), Choices: &u.choices, Until: u.o.Until,
		Watch: verify.WatchSync(u.entry, verify.StepsInCompile), Context: u.o.ctx})
	u.frontTime += time.Since(start)
	if err := u.o.interrupted(); err != nil {
		return err
	}
	if l.HasErrors() {
		return l
	}
	u.warnings.Merge(l)
	return nil
}

// compile makes machine code of the kernels, and of the engine beside them.
func (u *unit) compile(ctx context.Context) error {
	if u.bundled {
		return nil
	}
	u.o.stage("compiling kernels")
	start := time.Now()
	tc, err := toolchain.Open()
	if err != nil {
		return err
	}
	u.tools = tc
	var wg sync.WaitGroup
	var engineErr error
	wg.Go(func() { u.engine, engineErr = native.Build(ctx, tc, u.o.Sanitize) })
	err = u.compileKernels(ctx, tc)
	wg.Wait()
	u.compileTime = time.Since(start)
	if err == nil {
		err = engineErr
	}
	return explainCompiler(ctx, err)
}

// closeTools removes compiled objects that no cache keeps.
func (u *unit) closeTools() {
	if u.tools != nil {
		u.tools.Close()
	}
}

// inOurText finds an error with a place in what we wrote; what the compiler lacks (memory, a linker, room on a
// disk) it calls fatal, or gives no place.
var inOurText = regexp.MustCompile(`:\d+: error: `)

// explainCompiler says what to do where the C++ compiler is missing or fails.
func explainCompiler(ctx context.Context, err error) error {
	var failed *toolchain.Error
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, toolchain.ErrNoCompiler):
		return badOption("%v", err).Help("or run it on the simulator: --backend sim")
	case !errors.As(err, &failed):
	case inOurText.MatchString(failed.Output): // it does not take our C++
		return diag.New(diag.Internal, source.Span{}, "%v", err)
	default:
		return badOption("the C++ compiler fails: %v", err).
			Help("set PTOC_CXX to one that works, or run it on the simulator: --backend sim")
	}
	return err
}

func (u *unit) compileKernels(ctx context.Context, tc *toolchain.Toolchain) error {
	gen, err := u.generate()
	if err != nil {
		return err
	}
	u.object = controller.Object{Syms: map[string][]string{}}
	for _, s := range gen.Sites {
		u.object.Sites = append(u.object.Sites, failure.Place{Span: s.Span, Op: s.Op})
	}
	if len(gen.Kernels) == 0 {
		u.cached = true
		return nil
	}
	for _, k := range gen.Kernels {
		u.object.Syms[k.Name] = k.Syms
	}
	res, err := tc.Compile(ctx, toolchain.Unit{Name: u.lowered.Name + ".cpp", Parts: gen.Parts}, toolchain.Options{Sanitize: u.o.Sanitize})
	u.object.Path, u.cached = res.Path, res.Cached
	return err
}

// generate prints the kernels as C++.
func (u *unit) generate() (*cpp.Output, error) {
	var err error
	u.code, err = cpp.Generate(u.lowered)
	return u.code, refused(err)
}

// refused gives its code to what a code generator cannot compile.
func refused(err error) error {
	var e *lower.Error
	if errors.As(err, &e) {
		return diag.New(diag.NotInKernel, e.Span, "%s", e.Msg)
	}
	return err
}

// golden is the specification of the entry, in a module that no lowering pass has touched.
func (u *unit) golden() (*ir.Func, error) {
	var name string
	for _, f := range u.checked.Funcs {
		if f.Kind == ir.Golden && f.GoldenOf == u.entry {
			name = f.Name
		}
	}
	if name == "" {
		return nil, nil
	}
	m := ir.CloneModule(u.checked)
	if l := passes.Run(m, passes.Options{Passes: []string{"InlineFunctions", "Simplify"}}); l.HasErrors() {
		return nil, l
	}
	return m.Func(name), nil
}
