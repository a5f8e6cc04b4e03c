package interp

import (
	"ptoc/codegen/abi"
	"ptoc/ir"
)

// Scalar compiles an elementwise op on scalars.
func (c *Compiler) Scalar(op *ir.Op) Step {
	to := op.Result().ID
	dt := ir.DTypeOf(op.Result().Type)
	switch op.Kind {
	case ir.Cmp:
		return c.compare(op, to)
	case ir.Select:
		return c.choose(op, to, dt)
	case ir.Cast:
		return c.cast(op, to, dt)
	}
	args := op.Operands()
	name := op.Kind.Scalar
	switch {
	case dt.IsFloat() && len(args) == 2:
		f, a, b := FloatBinary[name], c.floatAs(args[0], dt), c.floatAs(args[1], dt)
		return c.float(to, dt, func(fr *Frame) float64 { return f(a(fr), b(fr)) })
	case dt.IsFloat():
		f, x := FloatUnary[name], c.Float(args[0])
		return c.float(to, dt, func(fr *Frame) float64 { return f(x(fr)) })
	case len(args) == 2:
		return c.intBinary(op, to, dt)
	}
	f, x := IntUnary[name], c.Int(args[0])
	return func(fr *Frame) { fr.Vals[to].I = WrapInt(dt, f(x(fr))) }
}

// floatAs reads an operand of an op on numbers of type dt: a constant of another type becomes one of dt first.
func (c *Compiler) floatAs(v *ir.Value, dt ir.DType) func(*Frame) float64 {
	get := c.Float(v)
	if c.Exact || !v.IsConst() || ir.DTypeOf(v.Type) == dt {
		return get
	}
	return func(fr *Frame) float64 { return RoundFloat(dt, get(fr)) }
}

// float stores a computed float, rounded.
func (c *Compiler) float(to int, dt ir.DType, f func(*Frame) float64) Step {
	if c.Exact {
		return func(fr *Frame) { fr.Vals[to].F = f(fr) }
	}
	return func(fr *Frame) { fr.Vals[to].F = RoundFloat(dt, f(fr)) }
}

func (c *Compiler) intBinary(op *ir.Op, to int, dt ir.DType) Step {
	a, b := c.Int(op.Val("lhs")), c.Int(op.Val("rhs"))
	f := IntBinary[op.Kind.Scalar]
	switch {
	case Divides(op.Kind.Scalar):
		return func(fr *Frame) {
			x, y := a(fr), b(fr)
			if y == 0 {
				Raise(op, abi.DivZero, x)
			}
			fr.Vals[to].I = WrapInt(dt, f(x, y))
		}
	case Shifts(op.Kind.Scalar):
		bits := Bits(dt)
		return func(fr *Frame) {
			x, y := a(fr), b(fr)
			if y < 0 || y >= bits {
				Raise(op, abi.BadValue, y, 0, bits-1)
			}
			fr.Vals[to].I = WrapInt(dt, f(x, y))
		}
	case dt == ir.INDEX && op.Kind == ir.Add: // the inner loop of every host program
		return func(fr *Frame) { fr.Vals[to].I = a(fr) + b(fr) }
	}
	return func(fr *Frame) { fr.Vals[to].I = WrapInt(dt, f(a(fr), b(fr))) }
}

func (c *Compiler) compare(op *ir.Op, to int) Step {
	lhs, rhs := op.Val("lhs"), op.Val("rhs")
	which := op.Enum("cmp_type").Value
	if ir.DTypeOf(lhs.Type).IsFloat() || ir.DTypeOf(rhs.Type).IsFloat() {
		dt := ir.DTypeOf(lhs.Type)
		if lhs.IsConst() {
			dt = ir.DTypeOf(rhs.Type)
		}
		a, b, f := c.floatAs(lhs, dt), c.floatAs(rhs, dt), CompareFloats[which]
		return func(fr *Frame) { fr.Vals[to].I = boolInt(f(a(fr), b(fr))) }
	}
	a, b, f := c.Int(lhs), c.Int(rhs), CompareInts[which]
	return func(fr *Frame) { fr.Vals[to].I = boolInt(f(a(fr), b(fr))) }
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (c *Compiler) choose(op *ir.Op, to int, dt ir.DType) Step {
	mask := c.Int(op.Val("mask"))
	if dt.IsFloat() {
		a, b := c.Float(op.Val("lhs")), c.Float(op.Val("rhs"))
		return c.float(to, dt, func(fr *Frame) float64 {
			if mask(fr) != 0 {
				return a(fr)
			}
			return b(fr)
		})
	}
	a, b := c.Int(op.Val("lhs")), c.Int(op.Val("rhs"))
	return func(fr *Frame) {
		if mask(fr) != 0 {
			fr.Vals[to].I = WrapInt(dt, a(fr))
		} else {
			fr.Vals[to].I = WrapInt(dt, b(fr))
		}
	}
}

func (c *Compiler) cast(op *ir.Op, to int, dt ir.DType) Step {
	x := op.Val("x")
	switch {
	case dt.IsFloat():
		return c.float(to, dt, c.Float(x))
	case ir.DTypeOf(x.Type).IsFloat():
		get, mode := c.Float(x), op.Enum("mode").Value
		return func(fr *Frame) { fr.Vals[to].I = FloatToInt(dt, get(fr), mode) }
	}
	get := c.Int(x)
	return func(fr *Frame) { fr.Vals[to].I = WrapInt(dt, get(fr)) }
}
