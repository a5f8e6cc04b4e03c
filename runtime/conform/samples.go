package conform

import (
	"fmt"
	"strings"

	"ptoc/codegen/cpp"
	"ptoc/codegen/ptx"
	"ptoc/ir"
	"ptoc/lang/source"
	"ptoc/passes"
	"ptoc/runtime/sim"
)

// DTypes are the element types of memory.
var DTypes = []ir.DType{ir.FP32, ir.FP16, ir.BF16, ir.INT64, ir.INT32, ir.INT8, ir.BOOL}

// Sample is the smallest kernel with an op on memory or tiles of one type.
type sample struct {
	f    *ir.Func
	b    *ir.Builder
	dt   ir.DType
	x    *ir.Value // a tensor
	made int       // other parameters
}

const side = 16

// Form is an op, or one with an attribute that makes another of it.
type Form struct {
	Kind   *ir.Kind
	Atomic bool
}

func (f Form) String() string {
	if f.Atomic {
		return f.Kind.Name + ", atomic"
	}
	return f.Kind.Name
}

// Forms are the ops that kernels may contain.
func Forms() []Form {
	var out []Form
	for _, k := range ir.Kinds() {
		if Elsewhere(k) != "" {
			continue
		}
		out = append(out, Form{Kind: k})
		if k.ParamIndex("atomic") >= 0 {
			out = append(out, Form{k, true})
		}
	}
	return out
}

// Sample makes it; the error is the language's: it has no such op on this type.
func (form Form) Sample(dt ir.DType) (*ir.Func, error) {
	k := form.Kind
	f := ir.NewFunc("k", ir.InCore, source.Span{})
	s := &sample{f: f, dt: dt}
	s.x = f.AddParam("x", mat(dt, side, side), ir.InOut)
	s.b = ir.NewBuilder(f, f.Body)
	op := s.b.Add(k)
	for _, p := range k.Params {
		if !p.Optional {
			s.operand(op, k, p)
		}
	}
	if form.Atomic {
		op.SetAttr("atomic", ir.AtomicType.Of("Add"))
	}
	made, err := op.Done()
	if err != nil {
		return nil, err
	}
	if r := made.Result(); r != nil {
		err = s.keep(r)
	}
	return f, err
}

// operand gives a parameter something that fits it.
func (s *sample) operand(op *ir.OpBuilder, k *ir.Kind, p ir.Param) {
	dims := []ir.Dim{ir.ConstDim(side), ir.ConstDim(side)}
	switch p.Kind {
	case ir.PMem, ir.PTensor:
		op.Set(p.Name, s.x)
	case ir.PWindow:
		op.Set(p.Name, s.window())
	case ir.PTile, ir.PData, ir.PAny:
		op.Set(p.Name, s.tile(k, p))
	case ir.PInt:
		op.Set(p.Name, ir.Index(0))
	case ir.PInts:
		if p.Name == "shape" {
			op.Set(p.Name, indices(dims)...)
		} else {
			op.Set(p.Name, zeros(2)...)
		}
	case ir.PScalar:
		op.Set(p.Name, s.b.Add(ir.Read).Set("x", s.x).Set("indices", zeros(2)...).Must().Result())
	case ir.PCtx:
		op.Set(p.Name, s.b.Add(ir.GetCommCtx).Set("target", s.window()).Must().Result())
	case ir.PArray:
		op.Set(p.Name, s.b.Add(ir.ArrayCreate).SetAttr("n", int64(4)).SetAttr("dtype", s.dt).Must().Result())
	case ir.AInt:
		op.SetAttr(p.Name, int64(1))
	case ir.ADType:
		op.SetAttr(p.Name, s.dt)
	case ir.AEnum:
		op.SetAttr(p.Name, p.Enum.Of(p.Enum.Values[0]))
	}
}

// tile loads one: of the wanted type, or of the type that the op accumulates in.
func (s *sample) tile(k *ir.Kind, p ir.Param) *ir.Value {
	dt := s.dt
	switch {
	case p.DTypes != nil:
		dt = p.DTypes[0]
	case k == ir.MatMulAcc && p.Name == "acc" && dt.IsFloat():
		dt = ir.FP32
	case k == ir.MatMulAcc && p.Name == "acc":
		dt = ir.INT32
	}
	from := s.x
	if dt != s.dt {
		from = s.param(dt, side, side)
	}
	return s.b.Add(ir.Load).Set("tensor", from).Set("offsets", zeros(2)...).Set("shape", indices(ir.ShapeOf(from.Type))...).Must().Result()
}

func (s *sample) window() *ir.Value {
	t := mat(s.dt, side, side)
	t.Window = true
	s.made++
	return s.f.AddParam(fmt.Sprintf("w%d", s.made), t, ir.InOut)
}

func (s *sample) param(dt ir.DType, dims ...int64) *ir.Value {
	s.made++
	return s.f.AddParam(fmt.Sprintf("p%d", s.made), mat(dt, dims...), ir.InOut)
}

// keep writes a result to memory, lest it be dropped.
func (s *sample) keep(v *ir.Value) error {
	switch t := v.Type.(type) {
	case *ir.Tile:
		return s.store(v, t)
	case *ir.Tensor:
		load, err := s.b.Add(ir.Load).Set("tensor", v).Set("offsets", zeros(len(t.Dims))...).Set("shape", indices(t.Dims)...).Done()
		if err != nil {
			return err
		}
		return s.keep(load.Result())
	case *ir.Array:
		return s.keep(s.b.Add(ir.ArrayGet).Set("array", v).Set("index", ir.Index(0)).Must().Result())
	case *ir.Scalar:
		_, err := s.b.Add(ir.Write).Set("tensor", s.param(t.DType, 1)).Set("indices", ir.Index(0)).Set("value", v).Done()
		return err
	}
	return nil
}

func (s *sample) store(v *ir.Value, t *ir.Tile) error {
	out := &ir.Tensor{Dims: t.Dims, DType: t.DType}
	to := s.f.AddParam("out", out, ir.Out)
	_, err := s.b.Add(ir.Store).Set("tile", v).Set("offsets", zeros(len(t.Dims))...).Set("tensor", to).Done()
	return err
}

// Cell says what takes an op on one type.
type Cell struct {
	Legal         bool  // in the language
	Sim, CPP, PTX error // why the executor does not take it
}

// Whole: all executors take it.
func (c Cell) Whole() bool { return c.Sim == nil && c.CPP == nil && c.PTX == nil }

var errNoHandler = fmt.Errorf("no handler is registered")

func registered(ok bool) error {
	if ok {
		return nil
	}
	return errNoHandler
}

// Try makes the sample and gives it to the executors: whether the simulator has a handler, and what the
// generators say of it.
func (form Form) Try(dt ir.DType) Cell {
	f, err := form.Sample(dt)
	if err != nil {
		return Cell{}
	}
	c := Cell{Legal: true, Sim: registered(sim.Handles(form.Kind))}
	module := func(target string) (*ir.Module, error) {
		m := ir.CloneModule(&ir.Module{Name: "sample", Funcs: []*ir.Func{f}})
		if l := passes.Run(m, passes.Options{Target: target}); l.HasErrors() {
			return nil, l
		}
		return m, nil
	}
	m, err := module("cpu")
	if err == nil {
		_, err = cpp.Generate(m)
	}
	c.CPP = err
	if m, err = module("cuda"); err == nil {
		_, err = ptx.Generate(m, ptx.Options{})
	}
	c.PTX = err
	return c
}

// Elsewhere reports why kernels never contain an op of this kind; "" if they may.
func Elsewhere(k *ir.Kind) string {
	switch {
	case k.Composite:
		return "library code: LowerCompositeOps replaces it by ops of this table"
	case !k.Where.Allows(ir.InCore):
		return "of host and golden functions: the controller, or the simulator, runs it"
	}
	return ""
}

// sampleTrials run the samples that need no window and that no other trial covers.
func sampleTrials() []*Trial {
	var out []*Trial
	for _, form := range Forms() {
		k := form.Kind
		if !form.Typed() {
			continue
		}
		for _, dt := range DTypes {
			if dt != ir.BOOL && covered(k) {
				continue
			}
			f, err := form.Sample(dt)
			if err != nil || hasWindow(f) {
				continue
			}
			tr := &Trial{Name: strings.NewReplacer(", ", "_", ".", "_").Replace(form.String()) + "_" + dt.String(), f: f, ints: [2]int64{1, 5}, within: 64}
			if len(f.Params()) > 1 && k != ir.Store && k != ir.Write {
				tr.at = len(f.Params()) - 1 // what was kept; other ops write their tensor
			}
			out = append(out, tr)
		}
	}
	return out
}

// covered: other trials have the kind on all types but BOOL.
func covered(k *ir.Kind) bool {
	return k.Flops > 0 && k != ir.Select && k != ir.Prod || k == ir.Transpose || k == ir.Concat
}

func hasWindow(f *ir.Func) bool {
	for _, p := range f.Params() {
		if t, ok := p.Type.(*ir.Tensor); ok && t.Window {
			return true
		}
	}
	return false
}

// Typed reports whether the op works on elements of some type: it is tried with each.
func (form Form) Typed() bool {
	k := form.Kind
	if k.Control || k.Terminator {
		return false
	}
	for _, p := range k.Params {
		switch p.Kind {
		case ir.PMem, ir.PTensor, ir.PTile, ir.PData, ir.PAny, ir.PScalar, ir.PArray, ir.ADType:
			return true
		case ir.PWindow:
			if p.DTypes == nil && k != ir.GetCommCtx {
				return true
			}
		}
	}
	return false
}
