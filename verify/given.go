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

// given knows the inputs as numbers.
type given struct {
	r       *run
	tensors map[string]func() *tensor.Tensor
	made    map[string]*tensor.Tensor
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
		FillGiven(t, name, repeat)
		return t
	}
}

func (g *given) input(label string, i int64) (float64, bool) {
	make := g.tensors[label]
	if make == nil {
		return 0, false
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
