package run

import (
	"errors"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/runtime/controller"
	"ptoc/runtime/interp"
	"ptoc/runtime/tensor"
)

// inputs are the values of an entry function's parameters before they are put into the memory of a
// backend.
type inputs struct {
	entry   *ir.Func
	specs   map[string]tensor.Spec
	files   map[string]*tensor.Tensor
	scalars map[string]interp.Value
	seed    uint64
}

// CheckInputs reports what is wrong with the texts of --in for a program that begins at entry.
func CheckInputs(entry *ir.Func, texts []string) error {
	_, err := readInputs(entry, texts)
	return err
}

func readInputs(entry *ir.Func, texts []string) (*inputs, error) {
	in := &inputs{entry: entry, specs: map[string]tensor.Spec{}, files: map[string]*tensor.Tensor{}, scalars: map[string]interp.Value{}}
	for _, text := range texts {
		if err := in.add(text); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func parseInputs(entry *ir.Func, o *Options) (*inputs, error) {
	in, err := readInputs(entry, o.Ins)
	if err != nil {
		return nil, err
	}
	in.seed = o.Seed
	for i, p := range entry.Params() {
		_, memory := p.Type.(*ir.Tensor)
		_, given := in.scalars[p.Name]
		switch {
		case memory && entry.Dirs[i] != ir.Out:
			if _, ok := in.specs[p.Name]; !ok {
				in.specs[p.Name] = tensor.Spec{Name: p.Name, Seed: o.Seed}
			}
		case !memory && !given:
			return nil, diag.New(diag.BadInput, source.Span{}, "parameter %s is a %s: it needs a value", p.Name, p.Type).
				Note(entry.Span, "%s takes it", entry.Name).
				Help("give --in %s=VALUE", p.Name)
		}
	}
	return in, nil
}

func (in *inputs) param(name string) (*ir.Value, ir.Dir, bool) {
	for i, p := range in.entry.Params() {
		if p.Name == name {
			return p, in.entry.Dirs[i], true
		}
	}
	return nil, 0, false
}

func (in *inputs) add(text string) error {
	name, rest, _ := strings.Cut(text, "=")
	p, dir, ok := in.param(strings.TrimSpace(name))
	if !ok {
		if !strings.Contains(text, "=") {
			return badOption("--in takes NAME=SPEC, got %q", text)
		}
		return unknownName("--in", name, in.entry.Params())
	}
	_, scalar := in.scalars[p.Name]
	if _, tensor := in.specs[p.Name]; tensor || scalar {
		return badInput("--in %s is given twice", p.Name)
	}
	if _, memory := p.Type.(*ir.Tensor); !memory {
		return in.addScalar(p, rest)
	}
	if dir == ir.Out {
		return badInput("%s is an output: it takes no input", name)
	}
	s, err := tensor.ParseSpec(text)
	if err != nil {
		return badInput("%v", err)
	}
	in.specs[p.Name] = s
	if s.Kind != tensor.File {
		return nil
	}
	t, err := s.Load()
	if err != nil {
		if errors.As(err, new(*fs.PathError)) {
			return diag.Unreadable(err)
		}
		return badInput("%v", err)
	}
	in.files[p.Name] = t
	return nil
}

func badInput(format string, args ...any) *diag.Diagnostic {
	return diag.New(diag.BadInput, source.Span{}, format, args...)
}

func (in *inputs) addScalar(p *ir.Value, text string) error {
	dt := ir.DTypeOf(p.Type)
	switch {
	case dt.IsFloat():
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return badInput("%s must be a number (%s), got %q", p.Name, dt, text)
		}
		in.scalars[p.Name] = interp.Value{F: interp.RoundFloat(dt, x)}
	case dt == ir.BOOL:
		b, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return badInput("%s must be True or False, got %q", p.Name, text)
		}
		v := interp.Value{}
		if b {
			v.I = 1
		}
		in.scalars[p.Name] = v
	default:
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil || interp.WrapInt(dt, n) != n {
			return badInput("%s must be a whole number (%s), got %q", p.Name, dt, text)
		}
		in.scalars[p.Name] = interp.Value{I: n}
	}
	return nil
}

// shapes are those that input files have.
func (in *inputs) shapes() map[string][]int64 {
	out := map[string][]int64{}
	for name, t := range in.files {
		out[name] = t.Shape
	}
	return out
}

// arguments are a program's arguments in the memory of its backend.
type arguments struct {
	in      *inputs
	prog    *controller.Program
	vals    []any
	tensors map[string]*controller.Tensor
	origin  map[string]*tensor.Tensor // inputs as they were
}

// allocate makes the arguments of a run and fills the inputs.
func (in *inputs) allocate(prog *controller.Program) (*arguments, error) {
	a := &arguments{in: in, prog: prog, tensors: map[string]*controller.Tensor{}, origin: map[string]*tensor.Tensor{}}
	for i, p := range in.entry.Params() {
		t, memory := p.Type.(*ir.Tensor)
		if !memory {
			a.vals = append(a.vals, in.scalars[p.Name])
			continue
		}
		shape, err := concrete(t.Dims, prog.Syms)
		if err != nil {
			return nil, diag.New(diag.BadInput, in.entry.Span, "%s: %v", p.Name, err)
		}
		mem, err := prog.NewTensor(p.Name, t.DType, shape)
		if err != nil {
			d := diag.New(diag.BadInput, in.entry.Span, "%s: %v", p.Name, err)
			if g := gpuFault(err); g != nil {
				d.Code = g.Code
			}
			return nil, d
		}
		a.tensors[p.Name] = mem
		a.vals = append(a.vals, mem)
		if in.entry.Dirs[i] == ir.Out {
			continue
		}
		if err := in.fill(mem.Tensor, in.specs[p.Name]); err != nil {
			return nil, err
		}
		if in.entry.Dirs[i] == ir.InOut {
			a.origin[p.Name] = mem.Clone()
		}
	}
	return a, nil
}

func (in *inputs) fill(t *tensor.Tensor, s tensor.Spec) error {
	if s.Kind != tensor.File {
		if err := s.Fill(t); err != nil {
			return badInput("input %s: %v", s.Name, err)
		}
		return nil
	}
	fit, err := tensor.Fit(s.Name, in.files[s.Name], t.DType, t.Shape)
	if err != nil {
		return badInput("%v", err)
	}
	copy(t.Data, fit.Data)
	return nil
}

func concrete(dims []ir.Dim, syms map[string]int64) ([]int64, error) {
	out := make([]int64, len(dims))
	for i, d := range dims {
		n, err := d.Eval(func(a ir.Atom) (int64, bool) { v, ok := syms[a.Sym]; return v, ok })
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// reset makes the arguments what they were before the first run.
func (a *arguments) reset() {
	for i, p := range a.in.entry.Params() {
		t := a.tensors[p.Name]
		switch {
		case t == nil:
		case a.in.entry.Dirs[i] == ir.Out:
			clear(t.Data)
		case a.in.entry.Dirs[i] == ir.InOut:
			copy(t.Data, a.origin[p.Name].Data)
		}
	}
}

// before is a parameter's content before the run: zeros for outputs.
func (a *arguments) before(name string) *tensor.Tensor {
	if t := a.origin[name]; t != nil {
		return t
	}
	t := a.tensors[name].Tensor
	if _, dir, _ := a.in.param(name); dir == ir.Out {
		z, _ := tensor.New(t.DType, t.Shape...) // the same size was there before
		return z
	}
	return t
}

// outputs are the names of the parameters that the program writes.
func (in *inputs) outputs() []string {
	var out []string
	for i, p := range in.entry.Params() {
		if _, memory := p.Type.(*ir.Tensor); memory && in.entry.Dirs[i] != ir.In {
			out = append(out, p.Name)
		}
	}
	return out
}

// magnitude is the largest finite absolute value, at least 1: errors of long sums grow with it.
func magnitude(xs []float64) float64 {
	m := 1.0
	for _, x := range xs {
		if a := math.Abs(x); a > m && !math.IsInf(a, 0) {
			m = a
		}
	}
	return m
}
