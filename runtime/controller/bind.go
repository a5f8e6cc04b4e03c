package controller

import (
	"fmt"
	"slices"
	"strings"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/runtime/tensor"
)

// Given is what is known of a run before it starts.
type Given struct {
	Ranks  int
	Shapes map[string][]int64 // of the inputs that come with one
	Syms   map[string]int64   // -D NAME=VALUE
}

// Bind gives every symbol of the program its value: from the shapes of inputs, from the command line,
// and the number of ranks for the symbol that counts ranks.
func Bind(entry *ir.Func, g Given) (map[string]int64, *diag.Diagnostic) {
	b := &binding{entry: entry, g: g, vals: map[string]int64{}, from: map[string]string{}}
	need := entry.DimSyms()
	for s, n := range g.Syms {
		if slices.Contains(need, s) {
			b.vals[s], b.from[s] = n, fmt.Sprintf("-D %s=%d", s, n)
		}
	}
	for _, p := range entry.Params() {
		if shape, ok := g.Shapes[p.Name]; ok {
			if d := b.shape(p, shape); d != nil {
				return nil, d
			}
		}
	}
	for _, s := range rankSymbols(entry) {
		if d := b.set(entry, s, int64(g.Ranks), fmt.Sprintf("--ranks %d", g.Ranks)); d != nil {
			return nil, d.Help("the program indexes by rank what has %s entries", s)
		}
	}
	return b.rest(need)
}

type binding struct {
	entry *ir.Func
	g     Given
	vals  map[string]int64
	from  map[string]string // where the value came from
}

func (b *binding) set(f *ir.Func, s string, n int64, from string) *diag.Diagnostic {
	if old, ok := b.vals[s]; ok && old != n {
		return diag.New(diag.SymbolConflict, f.Span, "%s is %d (%s), but %d (%s)", s, old, b.from[s], n, from)
	}
	if _, ok := b.vals[s]; !ok {
		b.vals[s], b.from[s] = n, from
	}
	return nil
}

// shape matches an input's shape with its parameter's.
func (b *binding) shape(p *ir.Value, shape []int64) *diag.Diagnostic {
	dims := ir.ShapeOf(p.Type)
	if len(dims) != len(shape) {
		return diag.New(diag.BadInput, b.entry.Span, "%s must have shape %s, got %s", p.Name, dimsText(dims), tensor.ShapeString(shape))
	}
	for i, d := range dims {
		from := fmt.Sprintf("extent %d of %s", i, p.Name)
		if s, ok := d.Sym(); ok {
			if e := b.set(b.entry, s, shape[i], from); e != nil {
				return e
			}
			continue
		}
		for _, s := range d.Syms() {
			coef, rest, ok := d.Linear(s)
			if r, done := b.eval(rest); ok && done && (shape[i]-r)%coef == 0 {
				if e := b.set(b.entry, s, (shape[i]-r)/coef, from); e != nil {
					return e
				}
			}
		}
		if want, ok := b.eval(d); ok && want != shape[i] {
			return diag.New(diag.BadInput, b.entry.Span, "extent %d of %s must be %s, got %d", i, p.Name, value(d, want), shape[i])
		}
	}
	return nil
}

func (b *binding) eval(d ir.Dim) (int64, bool) {
	n, err := d.Eval(func(a ir.Atom) (int64, bool) { v, ok := b.vals[a.Sym]; return v, ok })
	return n, err == nil
}

// value is "2 * NR = 8", or "8".
func value(d ir.Dim, n int64) string {
	if _, ok := d.Const(); ok {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s = %d", d, n)
}

func dimsText(dims []ir.Dim) string {
	parts := make([]string, len(dims))
	for i, d := range dims {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// rest binds a single symbol that is left over to the number of ranks; it is an error if there are more.
func (b *binding) rest(need []string) (map[string]int64, *diag.Diagnostic) {
	var left []string
	for _, s := range need {
		if _, ok := b.vals[s]; !ok {
			left = append(left, s)
		}
	}
	switch {
	case len(left) == 1 && len(rankSymbols(b.entry)) == 0:
		b.vals[left[0]] = int64(b.g.Ranks)
	case len(left) > 0:
		d := diag.New(diag.UnboundSymbol, b.entry.Span, "%s has no value: nothing says how large it is", left[0])
		d.Help("give -D %s=VALUE%s", left[0], b.inputWith(left[0]))
		return nil, d
	}
	for s, n := range b.vals {
		if n < 0 {
			return nil, diag.New(diag.SymbolConflict, b.entry.Span, "%s must not be negative, got %d (%s)", s, n, b.from[s])
		}
	}
	return b.vals, nil
}

// inputWith names an input whose shape would give the symbol.
func (b *binding) inputWith(s string) string {
	for _, p := range b.entry.Params() {
		for _, d := range ir.ShapeOf(p.Type) {
			if slices.Contains(d.Syms(), s) {
				return fmt.Sprintf(", or an input file: --in %s=@FILE.npy with shape %s", p.Name, dimsText(ir.ShapeOf(p.Type)))
			}
		}
	}
	return ""
}

// rankSymbols are the symbols that count ranks: those of extents that a loop over ranks indexes, and
// those that bound such a loop.
func rankSymbols(entry *ir.Func) []string {
	counters := map[*ir.Value]bool{}
	var out []string
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	entry.Body.Walk(func(op *ir.Op) {
		switch {
		case op.Kind == ir.For && op.Val("stop").Def != nil && op.Val("stop").Def.Kind == ir.WorldSize:
			counters[op.Regions[0].Args[0]] = true
		case op.Kind == ir.Call && op.Val("device") != nil:
			if loop := counterOf(op.Val("device")); loop != nil && !isConst(loop.Val("stop")) {
				counters[op.Val("device")] = true
				if s, ok := ir.DimOf(loop.Val("stop")).Sym(); ok {
					add(s)
				}
			}
		}
	})
	entry.Body.Walk(func(op *ir.Op) {
		var offsets []*ir.Value
		switch op.Kind {
		case ir.Slice:
			offsets = op.Vals("offsets")
		case ir.Read:
			offsets = op.Vals("indices")
		}
		for i, o := range offsets {
			if s, ok := ir.ShapeOf(op.Val("x").Type)[i].Sym(); ok && counters[o] {
				add(s)
			}
		}
	})
	return out
}

// isConst: a loop over a constant number of ranks says nothing about how many there are.
func isConst(v *ir.Value) bool { _, ok := v.ConstInt(); return ok }

// counterOf is the loop whose counter v is, or nil.
func counterOf(v *ir.Value) *ir.Op {
	if v.Owner != nil && v.Owner.Parent != nil && v.Owner.Parent.Kind == ir.For && v.Owner.Args[0] == v {
		return v.Owner.Parent
	}
	return nil
}

// RanksOf is the number of ranks that shapes and -D ask for, or otherwise where they ask for none.
func RanksOf(entry *ir.Func, g Given, otherwise int) int {
	b := &binding{entry: entry, g: g, vals: map[string]int64{}, from: map[string]string{}}
	for s, n := range g.Syms {
		b.vals[s] = n
	}
	for _, p := range entry.Params() {
		if shape, ok := g.Shapes[p.Name]; ok {
			b.shape(p, shape) // a mismatch is Bind's to report
		}
	}
	for _, s := range rankSymbols(entry) {
		if n, ok := b.vals[s]; ok && n >= 1 && n <= abi.MaxRanks {
			return int(n)
		}
	}
	return otherwise
}
