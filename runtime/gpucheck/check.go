package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"ptoc/codegen/bundle"
	"ptoc/internal/wholefile"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/passes"
	"ptoc/runtime/conform"
	"ptoc/runtime/controller"
	"ptoc/runtime/cuda"
	"ptoc/runtime/run"
	"ptoc/runtime/sim"
)

// Options of a check. Dir must be set.
type Options struct {
	Dir     string      // of the bundles that Make made
	Driver  cuda.Driver // nil: the machine's
	Ranks   []int       // nil: 1 to 8
	NoBench bool
	Only    string // measure benchmarks whose name has this in it
	Peers   bool   // measure Triton and PyTorch too, where they are
	Budget  time.Duration
	Stage   func(string)
}

// Report is what came out.
type Report struct {
	NoGPU   string // why nothing was checked
	GPU     cuda.Info
	Driver  int // 12040
	When    time.Time
	Took    time.Duration
	Runs    []Outcome // examples
	Trials  []Outcome // conformance programs
	Copy    float64   // bytes a second, read plus written
	Timings []Timing
	Peers   []Timing
	PeerErr string
	Late    bool // the budget was used up: what is missing was not run
	Stopped bool // the GPU does not work any more in this process: the same
}

// Outcome is one program on some ranks. Err is "" if it was right.
type Outcome struct {
	Program string `json:"program"`
	Ranks   int    `json:"ranks"`
	Err     string `json:"error,omitempty"`
}

// Failed counts what was wrong.
func (r *Report) Failed() int {
	n := 0
	for _, o := range slices.Concat(r.Runs, r.Trials) {
		if o.Err != "" {
			n++
		}
	}
	for _, t := range r.Timings {
		if t.Err != "" {
			n++
		}
	}
	return n
}

// clocked keeps the driver's clock.
type clocked struct {
	cuda.Driver
	cuda.Clock
}

// only hides all GPUs but the i-th.
func only(d cuda.Driver, i int) cuda.Driver {
	if c, ok := d.(cuda.Clock); ok {
		return clocked{cuda.Only(d, i), c}
	}
	return cuda.Only(d, i)
}

// Run checks a GPU. An error says that the check itself could not be done.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &Report{When: time.Now()}
	if o.Driver == nil {
		var err error
		if o.Driver, err = cuda.System(); err != nil {
			r.NoGPU = err.Error()
			return r, nil
		}
	}
	// One open context keeps the GPU ready between programs.
	gpu, err := cuda.First(o.Driver)
	if err != nil {
		r.NoGPU = err.Error()
		return r, nil
	}
	defer gpu.Close()
	o.Driver = only(o.Driver, gpu.Info().Index)
	r.GPU, r.Driver = gpu.Info(), o.Driver.Version()
	if o.Ranks == nil {
		o.Ranks = []int{1, 2, 3, 4, 5, 6, 7, 8}
	}
	if o.Budget > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, o.Budget)
		defer cancel()
	}
	c := &checking{o: &o, r: r, dev: gpu}
	if err := c.examples(ctx); err != nil {
		return nil, err
	}
	if err := c.trials(ctx); err != nil {
		return nil, err
	}
	if !o.NoBench {
		c.measure(ctx)
	}
	if errors.Is(ctx.Err(), context.Canceled) { // nobody wants to know
		return nil, ctx.Err()
	}
	r.Late = ctx.Err() != nil
	r.Took = time.Since(r.When)
	return r, nil
}

// checking is a check that goes on.
type checking struct {
	o   *Options
	r   *Report
	dev cuda.Device
}

// over reports whether nothing more shall be run.
func (c *checking) over(ctx context.Context) bool { return ctx.Err() != nil || c.r.Stopped }

// failed looks, when something went wrong, whether the GPU still works: after some errors of the driver nothing does
// in this process, and what is tried then would only fail in the same way.
func (c *checking) failed(err error) string {
	if err != nil {
		p, broken := c.dev.Malloc(256)
		if broken == nil {
			broken = c.dev.Free(p)
		}
		c.r.Stopped = broken != nil
	}
	return oneLine(err)
}

func (o *Options) stage(format string, args ...any) {
	if o.Stage != nil {
		o.Stage(fmt.Sprintf(format, args...))
	}
}

// bundles are the folders in a folder.
func bundles(dir string) ([]string, error) {
	out, _ := filepath.Glob(filepath.Join(dir, "*", "manifest.json"))
	if len(out) == 0 {
		return nil, fmt.Errorf("no bundles in %s: make gpu-bundles, on a machine with LLVM", dir)
	}
	for i := range out {
		out[i] = filepath.Dir(out[i])
	}
	return out, nil
}

func (c *checking) examples(ctx context.Context) error {
	o, r := c.o, c.r
	dirs, err := bundles(filepath.Join(o.Dir, exampleDir))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		for _, n := range o.Ranks {
			if c.over(ctx) {
				return nil
			}
			o.stage("%s on %d ranks", filepath.Base(dir), n)
			res, err := run.Run(ctx, run.Options{File: dir, Ranks: n, Check: true, Driver: o.Driver, Timeout: 10 * time.Second})
			if err == nil {
				err = res.Err()
			}
			if ctx.Err() == nil { // else the time ended it
				r.Runs = append(r.Runs, Outcome{filepath.Base(dir), n, c.failed(err)})
			}
		}
	}
	return nil
}

// oneLine is an error without its excerpts.
func oneLine(err error) string {
	var d *diag.Diagnostic
	switch {
	case err == nil:
		return ""
	case errors.As(err, &d):
		return fmt.Sprintf("%s: %s", d.Code, d.Message)
	}
	return err.Error()
}

// trials runs every conformance program on the GPU and on the simulator.
func (c *checking) trials(ctx context.Context) error {
	o, r := c.o, c.r
	if c.over(ctx) {
		return nil
	}
	o.stage("every op, compared with the simulator")
	b, err := bundle.Open(filepath.Join(o.Dir, conformDir))
	if err != nil {
		return err
	}
	_, all, err := conform.Module()
	if err != nil {
		return err
	}
	m, err := passes.Reparse(source.NewFile(b.Program.Name, b.Program.Text))
	if err != nil {
		return err
	}
	kernels, err := b.GPUKernels(m)
	if err != nil {
		return err
	}
	gpu, err := controller.NewCUDA(cuda.Config{Driver: o.Driver, Ranks: 1, Timeout: 10 * time.Second}, controller.GPUObject{PTX: b.PTX, Arch: b.GPU, Kernels: kernels})
	if err != nil {
		r.Trials = append(r.Trials, Outcome{"all of them", 1, c.failed(err)})
		return nil
	}
	defer gpu.Close()
	ref, err := controller.NewSim(sim.Config{Ranks: 1})
	if err != nil {
		return err
	}
	for _, tr := range all {
		if c.over(ctx) {
			return nil
		}
		got, err := tr.Run(m, gpu)
		if err == nil {
			want, simErr := tr.Run(m, ref)
			if err = simErr; err == nil {
				err = tr.Compare(got, want)
			}
		}
		r.Trials = append(r.Trials, Outcome{tr.Name, 1, c.failed(err)})
	}
	return nil
}

// WriteFile writes the report.
func (r *Report) WriteFile(name string) error {
	return wholefile.Text(name, r.Markdown())
}
