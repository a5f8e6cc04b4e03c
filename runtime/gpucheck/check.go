package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
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
}

// Outcome is one program on some ranks. Err is "" if it was right.
type Outcome struct {
	Program string
	Ranks   int
	Err     string
}

// Failed counts what was wrong.
func (r *Report) Failed() int {
	n := 0
	for _, o := range append(append([]Outcome{}, r.Runs...), r.Trials...) {
		if o.Err != "" {
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

// first hides all GPUs but the first.
func first(d cuda.Driver) cuda.Driver {
	if c, ok := d.(cuda.Clock); ok {
		return clocked{cuda.Only(d, 0), c}
	}
	return cuda.Only(d, 0)
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
	o.Driver = first(o.Driver)
	// One open context keeps the GPU ready between programs.
	ds, err := o.Driver.Devices()
	if err != nil {
		r.NoGPU = err.Error()
		return r, nil
	}
	defer ds[0].Close()
	r.GPU, r.Driver = ds[0].Info(), o.Driver.Version()
	if o.Ranks == nil {
		o.Ranks = []int{1, 2, 3, 4, 5, 6, 7, 8}
	}
	if o.Budget > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, o.Budget)
		defer cancel()
	}
	if err := examples(ctx, &o, r); err != nil {
		return nil, err
	}
	if err := trials(ctx, &o, r); err != nil {
		return nil, err
	}
	if !o.NoBench {
		if err := measure(ctx, &o, r, ds[0]); err != nil {
			return nil, err
		}
	}
	r.Late = ctx.Err() != nil
	r.Took = time.Since(r.When)
	return r, nil
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

func examples(ctx context.Context, o *Options, r *Report) error {
	dirs, err := bundles(filepath.Join(o.Dir, exampleDir))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		for _, n := range o.Ranks {
			if ctx.Err() != nil {
				return nil
			}
			o.stage("%s on %d ranks", filepath.Base(dir), n)
			res, err := run.Run(ctx, run.Options{File: dir, Ranks: n, Check: true, Driver: o.Driver, Timeout: 10 * time.Second})
			if err == nil {
				err = res.Err()
			}
			r.Runs = append(r.Runs, Outcome{filepath.Base(dir), n, oneLine(err)})
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
func trials(ctx context.Context, o *Options, r *Report) error {
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
	gpu, err := controller.NewCUDA(cuda.Config{Driver: o.Driver, Ranks: 1, Timeout: 10 * time.Second}, controller.GPUObject{PTX: b.PTX, Kernels: kernels})
	if err != nil {
		return err
	}
	defer gpu.Close()
	ref, err := controller.NewSim(sim.Config{Ranks: 1})
	if err != nil {
		return err
	}
	for _, tr := range all {
		if ctx.Err() != nil {
			return nil
		}
		got, err := tr.Run(m, gpu)
		if err == nil {
			want, simErr := tr.Run(m, ref)
			if err = simErr; err == nil {
				err = tr.Compare(got, want)
			}
		}
		r.Trials = append(r.Trials, Outcome{tr.Name, 1, oneLine(err)})
	}
	return nil
}

// WriteFile writes the report.
func (r *Report) WriteFile(name string) error {
	return wholefile.Text(name, r.Markdown())
}
