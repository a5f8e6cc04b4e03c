// Package interp turns IR functions into closures and runs them. It knows control flow, scalars and
// symbolic dims; an executor adds its own ops with a Table: the simulator those of devices, the
// controller those of host functions.
package interp

import (
	"fmt"

	"ptoc/codegen/abi"
	"ptoc/ir"
)

// Value is one run-time value. Which field counts follows from the IR type: integers and BOOL are in
// I, floats in F, everything else is the executor's, in P.
type Value struct {
	I int64
	F float64
	P any
}

// Frame is one activation of a function.
type Frame struct {
	Code *Code
	Vals []Value // by ir.Value.ID
	Syms []int64 // parallel to Code.Syms
	Env  any     // the executor's: who runs this

	Block, Blocks int64 // of the innermost pl.spmd
	// Fork, if set, is told of the iterations of pl.spmd and pl.parallel, where there are several: that the
	// i-th of n begins or, where i is n, that all have ended. They run one after the other here, but what
	// they may rely on is what threads of their own may.
	Fork func(loop *ir.Op, i, n int64)
	// Tick, if set, is called before each iteration of a loop: executors limit and stop loops there.
	Tick func(loop *ir.Op)
}

// Step runs one op. It raises what goes wrong.
type Step func(*Frame)

// Fault is an op that cannot be carried out: a status of the kernel ABI with its operands.
type Fault struct {
	Code abi.Code
	V    [6]int64
	Op   *ir.Op
}

func (f *Fault) Error() string { return f.Code.String() }

// raised carries an error from a Step to Run. Steps have no error result: nearly all of them cannot
// fail, and a program is mostly steps.
type raised struct{ err error }

// Raise leaves the running function with a Fault.
func Raise(op *ir.Op, code abi.Code, v ...int64) {
	f := &Fault{Code: code, Op: op}
	copy(f.V[:], v)
	Stop(f)
}

// Stop leaves the running function with err.
func Stop(err error) { panic(raised{err}) }

// Catch runs fn and returns what a Step inside it raised.
func Catch(fn func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case raised:
			err = r.err
		default:
			panic(r)
		}
	}()
	fn()
	return nil
}

// Code is a compiled function.
type Code struct {
	*Binder

	body  []Step
	slots int
}

// NewFrame makes a frame with unset values.
func (c *Code) NewFrame(env any) *Frame {
	return &Frame{Code: c, Vals: make([]Value, c.slots), Syms: make([]int64, len(c.Syms)), Env: env, Blocks: 1}
}

// Exec runs the body; what it raises goes on to the Catch around it.
func (c *Code) Exec(fr *Frame) { run(c.body, fr) }

func run(steps []Step, fr *Frame) {
	for _, s := range steps {
		s(fr)
	}
}

// Sym is the value of a symbol; false if the function does not use it.
func (fr *Frame) Sym(name string) (int64, bool) {
	for i, s := range fr.Code.Syms {
		if s == name {
			return fr.Syms[i], true
		}
	}
	return 0, false
}

// Unsupported is an op that the executor has no handler for.
type Unsupported struct {
	Op   *ir.Op
	Func *ir.Func
}

func (u *Unsupported) Error() string {
	return fmt.Sprintf("%s cannot run in %s function %s", u.Op.Kind.Name, u.Func.Kind, u.Func.Name)
}
