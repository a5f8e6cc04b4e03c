package sim

import (
	"context"
	"fmt"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/interp"
	"ptoc/runtime/tensor"
)

// world is the number of ranks that a golden function speaks of.
func (m *Machine) world() int64 {
	if m.cfg.World > 0 {
		return m.cfg.World
	}
	return int64(m.cfg.Ranks)
}

// Array is what a golden function takes and gives: floats as float64, never rounded.
type Array struct {
	DType ir.DType
	Shape []int64
	F     []float64 // floats
	I     []int64   // integers and BOOL
}

// FromTensor copies a host tensor.
func FromTensor(t *tensor.Tensor) *Array {
	a := &Array{DType: t.DType, Shape: t.Shape}
	if t.DType.IsFloat() {
		a.F = t.Floats()
	} else {
		a.I = t.Ints()
	}
	return a
}

// Golden runs a golden function on one device, in float64 without rounding. args are parallel to its
// parameters: arrays for memory, which it writes in place, and values for scalars.
func Golden(ctx context.Context, f *ir.Func, world int64, syms map[string]int64, args []any) error {
	m, err := New(Config{Ranks: 1, World: world, Exact: true})
	if err != nil {
		return err
	}
	code, err := m.Compile(f)
	if err != nil {
		return err
	}
	words := make([]abi.Arg, 0, len(args)+len(code.Syms))
	mems := make([][]byte, len(args))
	shapes := make([][]int64, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case *Array:
			t := &tile{a.DType, a.Shape, a.F, a.I}
			mems[i], shapes[i] = make([]byte, t.len()*m.size(a.DType)), a.Shape
			t.encode(mems[i], true)
			words = append(words, abi.Arg{Tag: abi.TagHeap, Value: m.AddHeap(f.Params()[i].Name, mems[i])})
		case interp.Value:
			words = append(words, scalarArg(f.Params()[i], a))
		}
	}
	vals := make([]int64, len(code.Syms))
	for i, s := range code.Syms {
		vals[i] = syms[s]
	}
	if bad := code.BindSyms(vals, shapes); bad != nil {
		return fmt.Errorf("golden function %s: %w", f.Name, bad)
	}
	for _, v := range vals {
		words = append(words, abi.Arg{Value: v})
	}
	if err := m.Submit(0, code, words); err != nil {
		return err
	}
	if err := m.Run(ctx); err != nil {
		return err
	}
	for i, a := range args {
		if a, ok := a.(*Array); ok {
			(&tile{a.DType, a.Shape, a.F, a.I}).decode(mems[i], true)
		}
	}
	return nil
}
