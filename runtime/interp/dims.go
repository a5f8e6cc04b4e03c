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

// Bind is one extent of a parameter that has symbols: it gives one (Sym >= 0) or is checked.
type Bind struct {
	Param, Dim int
	Sym        int // index in Code.Syms, -1: only a check
	Coef       int64
	rest       ir.Dim // Sym is (extent - rest) / Coef
	want       ir.Dim
}

// bindShapes plans how the symbols follow from the arguments' shapes, as ir.BindDims does.
func (c *Code) bindShapes() {
	at := map[string]int{}
	for i, s := range c.Syms {
		at[s] = i
	}
	bound := map[string]bool{}
	for p, v := range c.Func.Params() {
		for d, dim := range ir.ShapeOf(v.Type) {
			b := Bind{Param: p, Dim: d, Sym: -1, want: dim}
			for _, s := range dim.Syms() {
				coef, rest, ok := dim.Linear(s)
				if !ok || bound[s] || !allBound(rest, bound) {
					continue
				}
				b.Sym, b.Coef, b.rest = at[s], coef, rest
				bound[s] = true
				break
			}
			c.Bind = append(c.Bind, b)
		}
	}
	for i, s := range c.Syms {
		if !bound[s] {
			c.Free = append(c.Free, i)
		}
	}
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
func (c *Code) BindSyms(syms []int64, shapes [][]int64) *Mismatch {
	for i := range c.Bind {
		b := &c.Bind[i]
		got := shapes[b.Param][b.Dim]
		if n, ok := b.want.Const(); ok {
			if n != got {
				return c.mismatch(b, got, n)
			}
			continue
		}
		if b.Sym >= 0 {
			syms[b.Sym] = (got - c.eval(b.rest, syms)) / b.Coef
			if b.Coef == 1 {
				continue // exact
			}
		}
		if n := c.eval(b.want, syms); n != got {
			return c.mismatch(b, got, n)
		}
	}
	return nil
}

func (c *Code) mismatch(b *Bind, got, want int64) *Mismatch {
	return &Mismatch{c.Func.Params()[b.Param], b.Dim, got, want, b.want.String()}
}

// eval is a dim of symbols only; parameter types cannot mention run-time values.
func (c *Code) eval(d ir.Dim, syms []int64) int64 {
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
func (c *Code) ParamShapes(syms []int64) [][]int64 {
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
