package interp

import (
	"fmt"

	"ptoc/ir"
)

// Handler compiles one op.
type Handler func(*Compiler, *ir.Op) Step

// Table gives the handlers of an executor. Kinds that are not in it fall back to the control flow and
// scalar ops of this package.
type Table map[*ir.Kind]Handler

// Compiler compiles functions on demand and keeps them.
type Compiler struct {
	Table Table
	Exact bool // floats are float64 and never rounded

	codes map[*ir.Func]*Code
	code  *Code // being compiled
	busy  map[*ir.Func]bool
}

// Compile compiles f and what it calls.
func (c *Compiler) Compile(f *ir.Func) (code *Code, err error) {
	err = Catch(func() { code = c.compile(f) })
	return code, err
}

func (c *Compiler) compile(f *ir.Func) *Code {
	if code := c.codes[f]; code != nil {
		return code
	}
	if c.codes == nil {
		c.codes, c.busy = map[*ir.Func]*Code{}, map[*ir.Func]bool{}
	}
	if c.busy[f] {
		Stop(fmt.Errorf("function %s calls itself", f.Name))
	}
	c.busy[f] = true
	outer := c.code
	code := &Code{Binder: &Binder{Func: f}, slots: slots(f)}
	c.code = code
	// The function's own symbols come first, then those that its callees need from it.
	for _, s := range f.DimSyms() {
		c.sym(s)
	}
	code.body = c.Block(f.Body)
	c.code = outer
	code.Binder = NewBinder(f, code.Syms)
	c.busy[f] = false
	c.codes[f] = code
	return code
}

// slots is one more than the largest value id of f.
func slots(f *ir.Func) int {
	n := 0
	see := func(vs []*ir.Value) {
		for _, v := range vs {
			n = max(n, v.ID)
		}
	}
	see(f.Body.Args)
	f.Body.Walk(func(op *ir.Op) {
		see(op.Results)
		for _, r := range op.Regions {
			see(r.Args)
		}
	})
	return n + 1
}

// sym is the index of a symbol in the frames of the function being compiled.
func (c *Compiler) sym(name string) int {
	for i, s := range c.code.Syms {
		if s == name {
			return i
		}
	}
	c.code.Syms = append(c.code.Syms, name)
	return len(c.code.Syms) - 1
}

// Func is the function being compiled.
func (c *Compiler) Func() *ir.Func { return c.code.Func }

// Block compiles the ops of a block, without its terminator.
func (c *Compiler) Block(b *ir.Block) []Step {
	steps := make([]Step, 0, len(b.Ops))
	for _, op := range b.Ops {
		if s := c.Op(op); s != nil {
			steps = append(steps, s)
		}
	}
	return steps
}

// Op compiles one op; nil if there is nothing to do.
func (c *Compiler) Op(op *ir.Op) Step {
	if h := c.Table[op.Kind]; h != nil {
		return h(c, op)
	}
	switch {
	case op.Kind.Terminator:
		return nil // whoever compiles the region reads it
	case op.Kind == ir.For:
		return c.loop(op)
	case op.Kind == ir.While:
		return c.while(op)
	case op.Kind == ir.If:
		return c.branch(op)
	case op.Kind.Map == ir.Elementwise && op.Kind.Scalar != "":
		return c.Scalar(op)
	}
	Stop(&Unsupported{op, c.code.Func})
	return nil
}

// Handles reports whether the compiler has a handler for k, and never for composite kinds, which
// passes rewrite.
func (c *Compiler) Handles(k *ir.Kind) bool {
	return c.Table[k] != nil || k.Terminator || k == ir.For || k == ir.While || k == ir.If || k == ir.Cond ||
		k.Map == ir.Elementwise && k.Scalar != ""
}

// Get reads any value.
func (c *Compiler) Get(v *ir.Value) func(*Frame) Value {
	switch {
	case !v.IsConst():
		id := v.ID
		return func(fr *Frame) Value { return fr.Vals[id] }
	case ir.DTypeOf(v.Type).IsInt():
		get := c.Int(v)
		return func(fr *Frame) Value { return Value{I: get(fr)} }
	}
	k := Value{F: v.Const.F}
	if v.Const.B {
		k.I = 1
	}
	return func(*Frame) Value { return k }
}

// Int reads an integer or BOOL.
func (c *Compiler) Int(v *ir.Value) func(*Frame) int64 {
	switch {
	case !v.IsConst():
		id := v.ID
		return func(fr *Frame) int64 { return fr.Vals[id].I }
	case ir.DTypeOf(v.Type) == ir.BOOL:
		n := int64(0)
		if v.Const.B {
			n = 1
		}
		return func(*Frame) int64 { return n }
	}
	return c.Dim(v.Const.Dim)
}

// Float reads a number as float64.
func (c *Compiler) Float(v *ir.Value) func(*Frame) float64 {
	if !ir.DTypeOf(v.Type).IsFloat() {
		get := c.Int(v)
		return func(fr *Frame) float64 { return float64(get(fr)) }
	}
	if v.IsConst() {
		x := v.Const.F
		return func(*Frame) float64 { return x }
	}
	id := v.ID
	return func(fr *Frame) float64 { return fr.Vals[id].F }
}

// Ints reads a list of integers into a new slice.
func (c *Compiler) Ints(vs []*ir.Value) func(*Frame) []int64 {
	gets := make([]func(*Frame) int64, len(vs))
	constant := make([]int64, len(vs))
	all := true
	for i, v := range vs {
		gets[i] = c.Int(v)
		n, ok := v.ConstInt()
		constant[i], all = n, all && ok
	}
	if all {
		return func(*Frame) []int64 { return constant }
	}
	return func(fr *Frame) []int64 {
		out := make([]int64, len(gets))
		for i, g := range gets {
			out[i] = g(fr)
		}
		return out
	}
}

// Callee compiles the function that op calls, and makes sure that frames of the function being
// compiled have the symbols that the callee's arguments do not give.
func (c *Compiler) Callee(op *ir.Op) *Callee {
	code := c.compile(op.Callee())
	from := make([]int, len(code.Free))
	for i, at := range code.Free {
		from[i] = c.sym(code.Syms[at])
	}
	return &Callee{Code: code, from: from}
}

// Callee is a function as one call sees it.
type Callee struct {
	Code *Code
	from []int // caller's symbol for each of Code.Free
}

// PassSyms hands the caller's symbols on, then binds the callee's from the shapes of its arguments.
func (c *Callee) PassSyms(from *Frame, syms []int64, shapes [][]int64) *Mismatch {
	for i, at := range c.Code.Free {
		syms[at] = from.Syms[c.from[i]]
	}
	return c.Code.BindSyms(syms, shapes)
}
