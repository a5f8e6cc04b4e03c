package run

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/runtime/bench"
	"ptoc/runtime/native"
	"ptoc/runtime/sim"
	"ptoc/runtime/tensor"
)

// Result is what became of a run.
type Result struct {
	File     string           `json:"file"`
	Entry    string           `json:"entry"`
	Ranks    int              `json:"ranks"`
	Workers  string           `json:"workers"` // "threads", "processes", "simulated", or what they are on GPUs
	Symbols  map[string]int64 `json:"symbols,omitempty"`
	Choices  []Choice         `json:"collectives,omitempty"`
	Outputs  []Output         `json:"outputs"`
	Compile  Cost             `json:"compile"`
	Runs     int              `json:"runs"`
	RunNS    float64          `json:"runNs"`           // the median
	GPUNS    float64          `json:"gpuNs,omitempty"` // of the kernels alone, as the GPU measures it; the median
	Times    []float64        `json:"-"`               // of the runs, in nanoseconds
	Files    []string         `json:"files,omitempty"`
	Printed  []Printed        `json:"-"`
	Warnings *diag.List       `json:"-"`

	ComparedWith string `json:"comparedWith,omitempty"`

	at source.Span
}

// Choice is a collective and the algorithm that was chosen for it.
type Choice struct {
	At     string `json:"at"`
	Op     string `json:"op"`
	Chosen string `json:"algorithm"`
	Why    string `json:"why,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
}

// Cost says how long the program took to make.
type Cost struct {
	FrontNS  int64 `json:"frontNs"`  // text to lowered IR
	KernelNS int64 `json:"kernelNs"` // IR to machine code
	Cached   bool  `json:"cached"`
}

// Output is one tensor that the program wrote.
type Output struct {
	Name   string  `json:"name"`
	Shape  []int64 `json:"shape"`
	DType  string  `json:"dtype"`
	Status string  `json:"status"` // NotChecked, Right or Wrong
	MaxAbs float64 `json:"maxError"`
	MaxRel float64 `json:"maxRelativeError"`
	Detail string  `json:"detail,omitempty"` // of a mismatch
}

// Values of Output.Status.
const (
	NotChecked = "not checked"
	Right      = "right"
	Wrong      = "wrong"
)

// Printed is an output that was asked for.
type Printed struct {
	Name   string
	Tensor *tensor.Tensor
}

func (u *unit) result(args *arguments, times []float64) *Result {
	r := &Result{GPUNS: median(u.gpuTimes),
		File: u.o.File, Entry: u.entry, Ranks: u.o.Ranks, Symbols: args.prog.Syms, Runs: len(times), RunNS: median(times), Times: times,
		Workers:  map[bool]string{true: "simulated", false: u.o.Workers.String() + "s"}[u.o.Backend == "sim"],
		Compile:  Cost{u.frontTime.Nanoseconds(), u.compileTime.Nanoseconds(), u.cached},
		Warnings: u.warnings, at: u.checked.Func(u.entry).Span,
	}
	if u.o.Workers.String() == "process" && u.o.Backend != "sim" {
		r.Workers = "processes"
	}
	if u.o.Target == "cuda" && u.o.Backend != "sim" {
		r.Workers = "blocks on GPUs"
		if u.o.Workers == native.Processes {
			r.Workers = "processes with a GPU each"
		}
	}
	seen := map[Choice]bool{}
	for _, c := range u.choices {
		k := Choice{At: c.At.String(), Op: c.Op, Chosen: c.Chosen, Why: c.Why, Bytes: c.Bytes}
		if !seen[k] {
			seen[k] = true
			r.Choices = append(r.Choices, k)
		}
	}
	for _, name := range args.in.outputs() {
		t := args.tensors[name]
		r.Outputs = append(r.Outputs, Output{Name: name, Shape: t.Shape, DType: t.DType.String(), Status: NotChecked})
	}
	return r
}

// compare fills in how far an output is from what it should be.
func (o *Output) compare(got *tensor.Tensor, want *sim.Array) error {
	tol := tensor.DefaultTolerance(got.DType)
	var d tensor.Diff
	var err error
	if got.DType.IsFloat() {
		tol.Abs *= magnitude(want.F)
		d, err = tensor.CompareFloats(got, want.F, tol)
	} else {
		ref, e := tensor.New(got.DType, got.Shape...)
		if e != nil {
			return e
		}
		ref.SetInts(want.I)
		d, err = tensor.Compare(got, ref, tol)
	}
	if err != nil {
		return err
	}
	o.Status, o.MaxAbs, o.MaxRel = Right, d.MaxAbs, d.MaxRel
	if !d.OK() {
		o.Status = Wrong
		o.Detail = d.String()
		if math.IsNaN(o.MaxAbs) || math.IsInf(o.MaxAbs, 0) { // JSON has neither
			o.MaxAbs = math.MaxFloat64
		}
		if math.IsNaN(o.MaxRel) || math.IsInf(o.MaxRel, 0) {
			o.MaxRel = math.MaxFloat64
		}
	}
	return nil
}

// Err is what is wrong with the outputs; nil if nothing is.
func (r *Result) Err() error {
	list := &diag.List{}
	for _, o := range r.Outputs {
		if o.Status == Wrong {
			list.Add(diag.New(diag.ResultWrong, source.Span{}, "output %s is not what %s gives: %s", o.Name, r.ComparedWith, o.Detail)).
				Note(r.at, "%s ran on %s", r.Entry, plural(r.Ranks, "rank"))
		}
	}
	return list.Err()
}

// WriteText prints the result as a short table.
func (r *Result) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%s: %s on %s (%s)\n", filepath.Base(r.File), r.Entry, plural(r.Ranks, "rank"), r.Workers)
	if len(r.Choices) > 0 {
		t := bench.NewTable("collective", "algorithm", "because", "at")
		for _, c := range r.Choices {
			t.Row(c.Op, c.Chosen, c.Why, c.At)
		}
		indent(w, t)
	}
	if len(r.Outputs) > 0 {
		indent(w, r.outputs())
	}
	fmt.Fprintf(w, "  compiled in %s%s, ran in %s", short(r.Compile.FrontNS+r.Compile.KernelNS), cached(r.Compile.Cached && r.Workers != "simulated"), bench.Nanos(r.RunNS))
	if r.GPUNS > 0 {
		fmt.Fprintf(w, ", kernels in %s", bench.Nanos(r.GPUNS))
	}
	if r.Runs > 1 {
		fmt.Fprintf(w, " (median of %d)", r.Runs)
	}
	fmt.Fprintln(w)
	for _, p := range r.Printed {
		fmt.Fprintf(w, "%s %s\n%s\n", p.Name, p.Tensor, strings.TrimRight(p.Tensor.Format(), "\n"))
	}
}

func (r *Result) outputs() *bench.Table {
	if r.ComparedWith == "" {
		t := bench.NewTable("output", "dtype", "shape")
		for _, o := range r.Outputs {
			t.Row(o.Name, o.DType, tensor.ShapeString(o.Shape))
		}
		return t
	}
	t := bench.NewTable("output", "dtype", "shape", "largest error", "compared with")
	for _, o := range r.Outputs {
		with, worst := r.ComparedWith, strconv.FormatFloat(o.MaxAbs, 'g', 3, 64)
		switch {
		case o.Status == NotChecked:
			with, worst = "nothing", "-"
		case o.Status == Wrong:
			worst += " WRONG"
		case o.DType == ir.BOOL.String() || o.MaxAbs == 0:
			worst = "0"
		}
		t.Row(o.Name, o.DType, tensor.ShapeString(o.Shape), worst, with)
	}
	return t
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func cached(yes bool) string {
	if yes {
		return " (kernels cached)"
	}
	return ""
}

func short(ns int64) string {
	d := time.Duration(ns)
	if d >= time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}

// indent writes a table two columns to the right.
func indent(w io.Writer, t *bench.Table) {
	var b strings.Builder
	t.WriteText(&b)
	for line := range strings.Lines(b.String()) {
		io.WriteString(w, "  "+line)
	}
}
