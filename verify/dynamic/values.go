package dynamic

import (
	"context"
	"fmt"
	"math"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/runtime/sim"
	"ptoc/runtime/tensor"
	"ptoc/verify"
)

// wrong compares what a run computed with the golden function, on the inputs of the run. Other layers prove
// values for all inputs where they can; this works where control flow depends on data.
func wrong(p *verify.Program, s verify.Scope, o *outcome, layer string) []verify.Finding {
	f, entry := goldenOf(p.Source, p.Entry), p.Source.Func(p.Entry)
	if f == nil || len(f.Params()) != len(entry.Params()) {
		return nil
	}
	for k, args := range o.calls {
		want, err := expected(o.t.ctx, f, entry, s, args, o.before[k])
		if err != nil {
			return nil // ptoc run --check reports it
		}
		for i, v := range entry.Params() {
			if entry.Dirs[i] == ir.In || want[i] == nil {
				continue
			}
			if diff := differs(args[v.Name].Tensor.Tensor, want[i]); diff != "" {
				at := entry.Span
				call := ""
				if len(o.calls) > 1 {
					call = fmt.Sprintf(" in repeat %d", k+1)
				}
				d := diag.New(diag.WrongValue, at, "output %s is not what %s gives%s: %s", v.Name, f.Name, call, diff)
				d.Note(f.Span, "the golden function")
				return []verify.Finding{{Diagnostic: d, Layer: layer, Scope: s}}
			}
		}
	}
	return nil
}

func goldenOf(m *ir.Module, entry string) *ir.Func {
	for _, f := range m.Funcs {
		if f.Kind == ir.Golden && f.GoldenOf == entry {
			return f
		}
	}
	return nil
}

// expected runs the golden function; the result is parallel to the parameters.
func expected(ctx context.Context, f, entry *ir.Func, s verify.Scope, args map[string]*argument, before map[string]*tensor.Tensor) ([]*sim.Array, error) {
	arrays := make([]*sim.Array, len(entry.Params()))
	vals := make([]any, len(arrays))
	for i, p := range entry.Params() {
		a := args[p.Name]
		if a.Tensor == nil {
			vals[i] = a.scalar
			continue
		}
		x := a.Tensor.Tensor
		if b := before[p.Name]; b != nil {
			x = b
		}
		arrays[i] = sim.FromTensor(x)
		if entry.Dirs[i] == ir.Out {
			clear(arrays[i].F)
			clear(arrays[i].I)
		}
		vals[i] = arrays[i]
	}
	return arrays, sim.Golden(ctx, f, int64(s.Ranks), s.Syms, vals)
}

// differs says how a tensor is not what it should be, within the tolerance of its type; "" if it is.
func differs(got *tensor.Tensor, want *sim.Array) string {
	tol := tensor.DefaultTolerance(got.DType)
	var d tensor.Diff
	var err error
	if got.DType.IsFloat() {
		scale := 1.0
		for _, x := range want.F {
			if a := math.Abs(x); !math.IsInf(a, 0) {
				scale = max(scale, a)
			}
		}
		tol.Abs *= scale
		d, err = tensor.CompareFloats(got, want.F, tol)
	} else {
		ref, e := tensor.New(got.DType, got.Shape...)
		if e != nil {
			return e.Error()
		}
		ref.SetInts(want.I)
		d, err = tensor.Compare(got, ref, tol)
	}
	if err != nil {
		return err.Error()
	}
	if d.OK() {
		return ""
	}
	return d.String()
}
