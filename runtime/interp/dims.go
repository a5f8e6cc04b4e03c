package interp

import (
	"fmt"

	"ptoc/codegen/abi"
	"ptoc/ir"
)

// Dim compiles a symbolic dim of the function being compiled.
func (c *Compiler) Dim(d ir.Dim) func(*Frame) int64 {
	if n, ok := d.Const(); ok {
		return func(*Frame) int64 { return n }
	}
	if s, ok := d.Sym(); ok {
		i := c.sym(s)
		return func(fr *Frame) int64 { return fr.Syms[i] }
	}
	return c.polynomial(d)
}

func (c *Compiler) polynomial(d ir.Dim) func(*Frame) int64 {
	type product struct {
		coef  int64
		atoms []func(*Frame) int64
	}
	var sum []product
	d.Terms(func(coef int64, atoms []ir.Atom) {
		p := product{coef: coef}
		for _, a := range atoms {
			p.atoms = append(p.atoms, c.atom(a))
		}
		sum = append(sum, p)
	})
	return func(fr *Frame) int64 {
		total := int64(0)
		for _, p := range sum {
			x := p.coef
			for _, a := range p.atoms {
				x *= a(fr)
			}
			total += x
		}
		return total
	}
}

func (c *Compiler) atom(a ir.Atom) func(*Frame) int64 {
	switch a.Op {
	case ir.AtomSym:
		i := c.sym(a.Sym)
		return func(fr *Frame) int64 { return fr.Syms[i] }
	case ir.AtomVal:
		return c.Int(a.Val)
	}
	x, y := c.Dim(a.A), c.Dim(a.B)
	switch a.Op {
	case ir.AtomMin:
		return func(fr *Frame) int64 { return min(x(fr), y(fr)) }
	case ir.AtomMax:
		return func(fr *Frame) int64 { return max(x(fr), y(fr)) }
	}
	divide := ir.FloorDiv
	if a.Op == ir.AtomMod {
		divide = ir.FloorMod
	}
	return func(fr *Frame) int64 {
		p, q := x(fr), y(fr)
		if q == 0 {
			Raise(nil, abi.DivZero, p)
		}
		return divide(p, q)
	}
}

// bind is one extent of a parameter: it gives a symbol (sym >= 0) or is checked.
type bind struct {
	param, dim int
	sym        int // index in Syms, -1: only a check
	coef       int64
	rest       ir.Dim // sym is (extent - rest) / coef
	want       ir.Dim
	direct     bool // want is the symbol alone
	fixed      bool // want is n
	n          int64
}

// Binder gives the symbols of a function their values, from the shapes of its arguments.
type Binder struct {
	Func *ir.Func
	Syms []string // symbols that need values
	Free []int    // indices of those that no shape gives: the caller passes them

	bind []bind
}

// NewBinder plans how the symbols follow from the arguments' shapes, as ir.BindDims does.
func NewBinder(f *ir.Func, syms []string) *Binder {
	c := &Binder{Func: f, Syms: syms}
	at := map[string]int{}
	for i, s := range syms {
		at[s] = i
	}
	bound := map[string]bool{}
	for p, v := range f.Params() {
		for d, dim := range ir.ShapeOf(v.Type) {
			b := bind{param: p, dim: d, sym: -1, want: dim}
			b.n, b.fixed = dim.Const()
			for _, s := range dim.Syms() {
				coef, rest, ok := dim.Linear(s)
				if !ok || bound[s] || !allBound(rest, bound) {
					continue
				}
				b.sym, b.coef, b.rest = at[s], coef, rest
				_, b.direct = dim.Sym()
				bound[s] = true
				break
			}
			c.bind = append(c.bind, b)
		}
	}
	for i, s := range syms {
		if !bound[s] {
			c.Free = append(c.Free, i)
		}
	}
	return c
}

func allBound(d ir.Dim, bound map[string]bool) bool {
	for _, s := range d.Syms() {
		if !bound[s] {
			return false
		}
	}
	return true
}

// Mismatch is an argument whose shape does not fit its parameter.
type Mismatch struct {
	Param *ir.Value
	Dim   int
	Got   int64
	Want  int64  // what the parameter's dim comes to, where Expr has a value
	Expr  string // the parameter's dim
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("parameter %s: extent %d is %d, expected %s = %d", m.Param.Name, m.Dim, m.Got, m.Expr, m.Want)
}

// BindSyms gives syms (parallel to c.Syms, Free ones already set) the values that the arguments'
// shapes (nil for scalars) give, and checks every extent.
func (c *Binder) BindSyms(syms []int64, shapes [][]int64) *Mismatch {
	for i := range c.bind {
		b := &c.bind[i]
		got, want := shapes[b.param][b.dim], b.n
		switch {
		case b.direct:
			syms[b.sym] = got
			continue
		case b.sym >= 0:
			syms[b.sym] = (got - c.eval(b.rest, syms)) / b.coef
			want = c.eval(b.want, syms)
		case !b.fixed:
			want = c.eval(b.want, syms)
		}
		if want != got {
			return &Mismatch{c.Func.Params()[b.param], b.dim, got, want, b.want.String()}
		}
	}
	return nil
}

// eval is a dim of symbols only; parameter types cannot mention run-time values.
func (c *Binder) eval(d ir.Dim, syms []int64) int64 {
	if n, ok := d.Const(); ok {
		return n
	}
	n, err := d.Eval(func(a ir.Atom) (int64, bool) {
		for i, s := range c.Syms {
			if s == a.Sym {
				return syms[i], true
			}
		}
		return 0, false
	})
	if err != nil {
		Stop(err)
	}
	return n
}

// ParamShapes are the shapes of the memory parameters for given symbols, nil for the others.
func (c *Binder) ParamShapes(syms []int64) [][]int64 {
	out := make([][]int64, len(c.Func.Params()))
	for p, v := range c.Func.Params() {
		if _, ok := v.Type.(*ir.Tensor); !ok {
			continue
		}
		out[p] = make([]int64, len(ir.ShapeOf(v.Type)))
		for i, d := range ir.ShapeOf(v.Type) {
			out[p][i] = c.eval(d, syms)
		}
	}
	return out
}
