package ptx

import (
	"math"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/abi"
	"ptoc/codegen/lower"
	"ptoc/ir"
)

// scalar is a scalar in its own type.
func (e *fn) scalar(v *ir.Value) val { return e.scalarAs(v, ir.DTypeOf(v.Type)) }

// scalarAs is a scalar converted to dt, as the language converts implicitly.
func (e *fn) scalarAs(v *ir.Value, dt ir.DType) val {
	if v.Const != nil {
		return e.literal(v, dt)
	}
	x, ok := e.vals[v]
	if !ok {
		lower.Fail(e.f.Span, "%s: %s has no value here", e.f.Name, v.Name)
	}
	return e.convert(x, ir.DTypeOf(v.Type), dt)
}

// literal is a constant as a value of type dt.
func (e *fn) literal(v *ir.Value, dt ir.DType) val {
	from := ir.DTypeOf(v.Type)
	switch {
	case from == ir.BOOL:
		return e.convert(bit(v.Const.B), ir.BOOL, dt)
	case from.IsFloat() && dt.IsFloat():
		return floatLit(ir.RoundFloat(v.Const.F, dt))
	case from.IsFloat():
		return e.convert(floatLit(v.Const.F), from, dt)
	}
	n, ok := v.Const.Dim.Const()
	switch {
	case !ok:
		return e.convert(e.dim(v.Const.Dim), ir.INDEX, dt)
	case dt.IsFloat():
		return floatLit(ir.RoundFloat(float64(float32(n)), dt))
	case dt == ir.BOOL:
		return bit(n != 0)
	case dt == ir.INT8:
		n = int64(int8(n))
	case dt == ir.INT32:
		n = int64(int32(n))
	}
	return constant.NewInt(regType(dt).(*types.IntType), n)
}

func floatLit(x float64) val {
	if math.IsNaN(x) {
		return &constant.Float{Typ: types.Float, NaN: true}
	}
	return f32(x)
}

func (e *fn) zero(dt ir.DType) val {
	if dt.IsFloat() {
		return f32(0)
	}
	return constant.NewInt(regType(dt).(*types.IntType), 0)
}

// convert is the implicit conversion between scalar types: integers wrap, floats round.
func (e *fn) convert(x val, from, to ir.DType) val {
	switch {
	case from == to:
		return x
	case to.IsFloat() && from.IsFloat():
		return e.round(x, to)
	case to.IsFloat() && from == ir.BOOL:
		return e.b.NewUIToFP(x, types.Float)
	case to.IsFloat():
		return e.round(e.b.NewSIToFP(x, types.Float), to)
	case to == ir.BOOL && from.IsFloat():
		return e.fcmp(enum.FPredUNE, x, f32(0))
	case to == ir.BOOL:
		return e.notZero(x)
	case from.IsFloat():
		return e.toInt(x, to)
	case from == ir.BOOL:
		return e.b.NewZExt(x, regType(to))
	}
	a, b := regType(from).(*types.IntType), regType(to).(*types.IntType)
	switch {
	case a.BitSize < b.BitSize:
		return e.b.NewSExt(x, b)
	case a.BitSize > b.BitSize:
		return e.b.NewTrunc(x, b)
	}
	return x
}

// toInt rounds towards zero and saturates; NaN gives 0.
func (e *fn) toInt(x val, to ir.DType) val {
	if to == ir.INT64 || to == ir.INDEX {
		n := e.b.NewCall(e.g.extern("llvm.nvvm.f2ll.rz", types.I64, types.Float), x)
		return e.sel(e.fcmp(enum.FPredUNO, x, x), i64(0), n)
	}
	n := val(e.b.NewCall(e.g.extern("llvm.nvvm.f2i.rz", types.I32, types.Float), x))
	if to == ir.INT8 {
		n = e.sel(e.icmp(enum.IPredSLT, n, i32(-128)), i32(-128), n)
		n = e.sel(e.icmp(enum.IPredSGT, n, i32(127)), i32(127), n)
		return e.b.NewTrunc(n, types.I8)
	}
	return n
}

// round rounds an FP32 value to a narrower float.
func (e *fn) round(x val, dt ir.DType) val {
	if dt == ir.FP16 || dt == ir.BF16 {
		return e.fromMemory(e.toMemory(x, dt), dt)
	}
	return x
}

func (e *fn) compute(op *ir.Op) val {
	vals := op.Operands()
	dt := ir.DTypeOf(op.Result().Type)
	switch op.Kind {
	case ir.Cast:
		return e.cast(e.scalar(vals[0]), ir.DTypeOf(vals[0].Type), dt, op.Enum("mode"))
	case ir.Cmp:
		return e.compare(op, lower.Joined(vals[0], vals[1]))
	case ir.Select:
		return e.sel(e.scalarAs(vals[0], ir.BOOL), e.scalarAs(vals[1], dt), e.scalarAs(vals[2], dt))
	case ir.Expand:
		return e.scalarAs(vals[0], dt)
	}
	x := e.scalarAs(vals[0], dt)
	if len(vals) == 1 {
		return e.unary(op, x, dt)
	}
	return e.binary(op, x, e.scalarAs(vals[1], dt), dt)
}

var (
	intPreds   = []enum.IPred{enum.IPredEQ, enum.IPredNE, enum.IPredSLT, enum.IPredSLE, enum.IPredSGT, enum.IPredSGE}
	floatPreds = []enum.FPred{enum.FPredOEQ, enum.FPredUNE, enum.FPredOLT, enum.FPredOLE, enum.FPredOGT, enum.FPredOGE}
)

func (e *fn) compare(op *ir.Op, dt ir.DType) val {
	vals, k := op.Operands(), op.Enum("cmp_type").Value
	x, y := e.scalarAs(vals[0], dt), e.scalarAs(vals[1], dt)
	switch {
	case dt.IsFloat():
		return e.fcmp(floatPreds[k], x, y)
	case dt == ir.BOOL:
		return e.icmp(intPreds[k], e.b.NewZExt(x, types.I32), e.b.NewZExt(y, types.I32))
	}
	return e.icmp(intPreds[k], x, y)
}

func (e *fn) unary(op *ir.Op, x val, dt ir.DType) val {
	zero := e.zero(dt)
	switch op.Kind {
	case ir.Neg:
		if dt.IsFloat() {
			return e.b.NewFNeg(x)
		}
		return e.b.NewSub(zero, x)
	case ir.Abs:
		if dt.IsFloat() {
			return e.intrinsic("fabs", x)
		}
		return e.sel(e.icmp(enum.IPredSLT, x, zero), e.b.NewSub(zero, x), x)
	case ir.Relu:
		if dt.IsFloat() {
			return e.sel(e.fcmp(enum.FPredOLE, x, zero), zero, x) // NaN stays
		}
		return e.sel(e.icmp(enum.IPredSLT, x, zero), zero, x)
	case ir.Not:
		return e.b.NewXor(x, bit(true))
	}
	f, ok := functions[op.Kind]
	if e.g.opt.FastMath {
		f, ok = approximations[op.Kind]
	}
	if !ok {
		lower.Fail(op.Span, "%s: not in this backend", op.Kind.Name)
	}
	return e.round(f(e, x), dt)
}

// intrinsic calls one of LLVM's functions on FP32.
func (e *fn) intrinsic(name string, args ...val) val {
	var params []types.Type
	for range args {
		params = append(params, types.Float)
	}
	return e.b.NewCall(e.g.extern("llvm."+name+".f32", types.Float, params...), args...)
}

func (e *fn) binary(op *ir.Op, x, y val, dt ir.DType) val {
	switch op.Kind {
	case ir.Minimum, ir.Maximum:
		return e.extreme(x, y, dt, op.Kind == ir.Minimum)
	case ir.FloorDivide, ir.Modulo:
		return e.quotient(op, x, y, dt)
	case ir.ShiftLeft, ir.ShiftRight:
		return e.shift(op, x, y, dt)
	case ir.BitAnd, ir.LogicalAnd:
		return e.b.NewAnd(x, y)
	case ir.BitOr, ir.LogicalOr:
		return e.b.NewOr(x, y)
	case ir.BitXor:
		return e.b.NewXor(x, y)
	}
	if !dt.IsFloat() {
		switch op.Kind {
		case ir.Add:
			return e.add(x, y)
		case ir.Sub:
			return e.sub(x, y)
		case ir.Mul:
			return e.mul(x, y)
		}
		lower.Fail(op.Span, "%s: not in this backend", op.Kind.Name)
	}
	switch op.Kind {
	case ir.Add:
		return e.round(e.b.NewFAdd(x, y), dt)
	case ir.Sub:
		return e.round(e.b.NewFSub(x, y), dt)
	case ir.Mul:
		return e.round(e.b.NewFMul(x, y), dt)
	case ir.Div:
		return e.round(e.divide(x, y), dt)
	}
	lower.Fail(op.Span, "%s: not in this backend", op.Kind.Name)
	return nil
}

// extreme is the smaller or larger operand; NaN where one is.
func (e *fn) extreme(x, y val, dt ir.DType, least bool) val {
	if dt.IsFloat() {
		p := enum.FPredOGT
		if least {
			p = enum.FPredOLT
		}
		return e.sel(e.b.NewOr(e.fcmp(p, x, y), e.fcmp(enum.FPredUNO, x, x)), x, y)
	}
	p := enum.IPredSGT
	if least {
		p = enum.IPredSLT
	}
	return e.sel(e.icmp(p, x, y), x, y)
}

// quotient is // or %; a zero divisor is a fault.
func (e *fn) quotient(op *ir.Op, x, y val, dt ir.DType) val {
	how := lower.Floored
	if dt == ir.INDEX {
		how = e.checks.Division(ir.DimOf(op.Operands()[0]), ir.DimOf(op.Operands()[1]))
	}
	if n, ok := intOf(y); how == lower.Floored && (!ok || n == 0) {
		bad := e.isZero(y)
		e.fault(op, bad, abi.DivZero, x)
		y = e.sel(bad, constant.NewInt(y.Type().(*types.IntType), 1), y)
	}
	a, b := e.convert(x, dt, ir.INT64), e.convert(y, dt, ir.INT64)
	if op.Kind == ir.FloorDivide {
		return e.convert(e.divided(how, a, b), ir.INT64, dt)
	}
	return e.convert(e.remainder(how, a, b), ir.INT64, dt)
}

// shift checks the count, which must be less than the width.
func (e *fn) shift(op *ir.Op, x, y val, dt ir.DType) val {
	bits := int64(dt.Size() * 8)
	t := y.Type().(*types.IntType)
	if n, ok := intOf(y); !ok || n < 0 || n >= bits {
		bad := e.icmp(enum.IPredUGE, y, constant.NewInt(t, bits))
		e.fault(op, bad, abi.BadValue, y, i64(0), i64(bits-1))
		y = e.sel(bad, constant.NewInt(t, 0), y)
	}
	if op.Kind == ir.ShiftLeft {
		return e.b.NewShl(x, y)
	}
	return e.b.NewAShr(x, y)
}

// cast is pl.cast: floats round to integers as mode says.
func (e *fn) cast(x val, from, to ir.DType, mode ir.Enum) val {
	if !from.IsFloat() || to.IsFloat() || to == ir.BOOL {
		return e.convert(x, from, to)
	}
	switch {
	case mode.Is("rint"), mode.Is("floor"), mode.Is("ceil"):
		x = e.intrinsic(mode.Type.Values[mode.Value], x)
	case mode.Is("round"): // halves away from zero
		x = e.intrinsic("trunc", e.b.NewFAdd(x, e.intrinsic("copysign", f32(0x1.fffffep-2), x)))
	}
	return e.toInt(x, to)
}
