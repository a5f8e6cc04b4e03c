// Package lower holds what code generators have in common whatever they print: the table of sites, the
// refusal of what they cannot compile, the layout of memory and the scratch that a kernel needs.
package lower

import (
	"fmt"

	"ptoc/ir"
	"ptoc/lang/source"
)

// Site is an op that may fail when it runs. The number that a fault carries indexes the generator's table.
type Site struct {
	Span source.Span
	Op   string // "pl.load"
	Func string
}

// Sites is that table.
type Sites []Site

// Add numbers an op of f.
func (s *Sites) Add(f *ir.Func, op *ir.Op) int {
	*s = append(*s, Site{Span: op.Span, Op: op.Kind.Name, Func: f.Name})
	return len(*s) - 1
}

// Error is something that a code generator cannot compile.
type Error struct {
	Span source.Span
	Msg  string
}

func (e *Error) Error() string {
	if e.Span.IsValid() {
		return fmt.Sprintf("%s: %s", e.Span, e.Msg)
	}
	return e.Msg
}

// Fail stops the generation.
func Fail(at source.Span, format string, args ...any) {
	panic(&Error{Span: at, Msg: fmt.Sprintf(format, args...)})
}

// Catch makes an error of what Fail threw: defer it.
func Catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	default:
		panic(e)
	}
}

// Compiles reports whether f becomes a kernel.
func Compiles(f *ir.Func) bool { return f.Kind == ir.Chip || f.Kind == ir.InCore }

// Bind gives a callee's symbols their values at a call, in the order of its DimSyms.
func Bind(op *ir.Op) (bind ir.DimBinding, syms []ir.Dim) {
	bind, err := ir.BindDims(op.Callee(), op.Vals("args"))
	if err != nil {
		Fail(op.Span, "%v", err)
	}
	for _, s := range op.Callee().DimSyms() {
		d, ok := bind[s]
		if !ok {
			d = ir.SymDim(s)
		}
		syms = append(syms, d)
	}
	return bind, syms
}
