package verify

import (
	"math"

	"ptoc/ir"
	"ptoc/runtime/tensor"
	"ptoc/verify/term"
)

// Where a branch, an offset or a peer depends on data, the run follows the inputs that the dynamic layers
// give the program too, and its verdicts say that they hold for these inputs only. Everything else stays
// symbolic.

// FillGiven fills an input as ptoc verify gives it to programs: small whole numbers, whose sums are exact in
// any order, others in each repeat.
func FillGiven(t *tensor.Tensor, name string, repeat int) {
	if t.DType.IsFloat() {
		t.FillInts(name, uint64(repeat), -4, 4)
		return
	}
	t.FillDefault(name, uint64(repeat))
}

// GivenScalar is what ptoc verify gives a program for a parameter that is a number, unless the user says otherwise:
// 0 for integers, which may be a rank or an offset; 3 for floating point, so that a factor does not hide what it
// multiplies, and products of small whole numbers are exact.
func GivenScalar(inputs []string, name string, dt ir.DType) float64 {
	for _, text := range inputs {
		if sp, err := tensor.ParseSpec(text); err == nil && sp.Name == name {
			return sp.Value
		}
	}
	if dt.IsFloat() {
		return 3
	}
	return 0
}

// fill takes what the user says, if that names the input.
func (s Scope) fill(t *tensor.Tensor, name string, repeat int) error {
	for _, text := range s.Inputs {
		sp, err := tensor.ParseSpec(text)
		if err != nil || sp.Name != name {
			continue
		}
		if sp.Kind != tensor.File {
			sp.Seed += uint64(repeat)
			return sp.Fill(t)
		}
		v, err := sp.Load()
		if err == nil {
			v, err = tensor.Fit(name, v, t.DType, t.Shape)
		}
		if err == nil {
			copy(t.Data, v.Data)
		}
		return err
	}
	FillGiven(t, name, repeat)
	return nil
}

// given knows the inputs as numbers.
type given struct {
	r       *run
	tensors map[string]func() *tensor.Tensor
	made    map[string]*tensor.Tensor
	scalars map[string]ir.DType
	vals    *term.Values
	used    bool // something depended on data
}

func (g *given) tensor(label, name string, repeat int, dims []int64, dt ir.DType) {
	if g.tensors == nil {
		g.tensors, g.made = map[string]func() *tensor.Tensor{}, map[string]*tensor.Tensor{}
	}
	g.tensors[label] = func() *tensor.Tensor {
		t, err := tensor.New(dt, dims...)
		if err != nil {
			return nil
		}
		if g.r.scope.fill(t, name, repeat) != nil {
			return nil
		}
		return t
	}
}

func (g *given) input(label string, i int64) (float64, bool) {
	make := g.tensors[label]
	if make == nil {
		dt, scalar := g.scalars[label]
		if !scalar {
			return 0, false
		}
		return GivenScalar(g.r.scope.Inputs, label, dt), true
	}
	if g.made[label] == nil {
		g.made[label] = make()
	}
	t := g.made[label]
	if t == nil || i >= t.Len() {
		return 0, false
	}
	return t.Float(i), true
}

// integer is the number that an unknown integer is for the given inputs.
func (g *given) integer(x value) (int64, bool) {
	if !g.r.values || x.why == nil {
		return 0, false
	}
	if g.vals == nil {
		g.vals = term.NewValues(g.r.space, 0)
		g.vals.Input = g.input
	}
	n, ok := g.vals.Of(x.t)
	if !ok || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return 0, false
	}
	g.used = true
	return int64(n), true
}
