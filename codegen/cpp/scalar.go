package cpp

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"ptoc/codegen/lower"
	"ptoc/ir"
)

// scalar is the C++ expression of a scalar value: a variable or a literal.
func (e *fn) scalar(v *ir.Value) string {
	if v.Const == nil {
		return e.name(v)
	}
	return e.literal(v, ir.DTypeOf(v.Type))
}

// scalarAs is scalar converted to dt, as the language converts implicitly.
func (e *fn) scalarAs(v *ir.Value, dt ir.DType) string {
	if v.Const != nil {
		return e.literal(v, dt)
	}
	return e.convert(e.name(v), ir.DTypeOf(v.Type), dt)
}

// literal writes a constant as a value of type dt.
func (e *fn) literal(v *ir.Value, dt ir.DType) string {
	from := ir.DTypeOf(v.Type)
	switch {
	case from == ir.BOOL:
		return e.convert(strconv.FormatBool(v.Const.B), ir.BOOL, dt)
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
	}
	if s := intLit(n); n < 0 {
		return "(" + s + ")"
	}
	return intLit(n)
}

func floatLit(x float64) string {
	switch {
	case math.IsNaN(x):
		return `__builtin_nanf("")`
	case math.IsInf(x, 1):
		return "__builtin_inff()"
	case math.IsInf(x, -1):
		return "-__builtin_inff()"
	}
	s := strconv.FormatFloat(x, 'g', -1, 32)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	if s[0] == '-' {
		return "(" + s + "f)"
	}
	return s + "f"
}

// convert is the implicit conversion between scalar types: integers wrap, floats round.
func (e *fn) convert(x string, from, to ir.DType) string {
	if from == to || regType(from) == regType(to) && !to.IsFloat() {
		return x
	}
	switch {
	case to.IsFloat():
		if from.IsFloat() {
			if to == ir.FP32 {
				return x
			}
			return e.round(x, to)
		}
		return e.round("(f32)"+x, to)
	case to == ir.BOOL:
		return "(" + x + " != 0)"
	}
	return "(" + regType(to) + ")" + x
}

// round rounds an FP32 expression to a narrower float.
func (e *fn) round(x string, dt ir.DType) string {
	switch dt {
	case ir.FP16:
		return e.g.use("ptoc_round_f16") + "(" + x + ")"
	case ir.BF16:
		return e.g.use("ptoc_round_bf16") + "(" + x + ")"
	}
	return x
}

// loadElem and storeElem move an element between memory and a variable.
func (e *fn) loadElem(place string, dt ir.DType) string {
	switch dt {
	case ir.FP16:
		return e.g.use("ptoc_f16_f32") + "(" + place + ")"
	case ir.BF16:
		return e.g.use("ptoc_bf16_f32") + "(" + place + ")"
	case ir.BOOL:
		return place + " != 0"
	}
	return place
}

func (e *fn) storeElem(x string, dt ir.DType) string {
	switch dt {
	case ir.FP16:
		return e.g.use("ptoc_f32_f16") + "(" + x + ")"
	case ir.BF16:
		return e.g.use("ptoc_f32_bf16") + "(" + x + ")"
	}
	return x
}

// compute is the C++ expression of an elementwise op on variables. Checks that it needs are printed
// before. args are in the operands' own types.
func (e *fn) compute(op *ir.Op, args []string) string {
	vals := op.Operands()
	dt := ir.DTypeOf(op.Result().Type)
	switch op.Kind {
	case ir.Cast:
		return e.cast(args[0], ir.DTypeOf(vals[0].Type), dt, op.Enum("mode"))
	case ir.Cmp:
		t := lower.Joined(vals[0], vals[1])
		return fmt.Sprintf("%s %s %s", e.arg(vals[0], args[0], t), cmpOp[op.Enum("cmp_type").Value], e.arg(vals[1], args[1], t))
	case ir.Select:
		return fmt.Sprintf("%s ? %s : %s", e.arg(vals[0], args[0], ir.BOOL), e.arg(vals[1], args[1], dt), e.arg(vals[2], args[2], dt))
	}
	in := make([]string, len(args))
	for i := range args {
		if i < len(vals) {
			in[i] = e.arg(vals[i], args[i], dt)
		}
	}
	if len(in) == 1 || op.Kind == ir.Expand {
		return e.unary(op, in[0], dt)
	}
	return e.binary(op, in[0], in[1], dt)
}

var cmpOp = []string{"==", "!=", "<", "<=", ">", ">="}

// arg converts an argument that was given as x; constants are written in the wanted type at once.
func (e *fn) arg(v *ir.Value, x string, dt ir.DType) string {
	if v.Const != nil {
		return e.literal(v, dt)
	}
	return e.convert(x, ir.DTypeOf(v.Type), dt)
}

func (e *fn) unary(op *ir.Op, x string, dt ir.DType) string {
	helper := func(name string) string { return e.round(e.g.use("ptoc_"+name)+"("+x+")", dt) }
	narrow := func(s string) string {
		if dt == ir.INT8 {
			return "(i8)(" + s + ")"
		}
		return s
	}
	switch op.Kind {
	case ir.Expand:
		return x
	case ir.Neg:
		return narrow("-" + x)
	case ir.Abs:
		if dt.IsFloat() {
			return "__builtin_fabsf(" + x + ")"
		}
		return narrow(fmt.Sprintf("%s < 0 ? -%s : %s", x, x, x))
	case ir.Relu:
		if dt.IsFloat() {
			return fmt.Sprintf("%s <= 0 ? 0.0f : %s", x, x) // NaN stays
		}
		return narrow(fmt.Sprintf("%s < 0 ? 0 : %s", x, x))
	case ir.Not:
		return "!" + x
	case ir.Recip:
		return e.round("1.0f / "+x, dt)
	case ir.Sqrt:
		return e.round("__builtin_sqrtf("+x+")", dt)
	case ir.Rsqrt:
		return e.round("1.0f / __builtin_sqrtf("+x+")", dt)
	case ir.Exp, ir.Log, ir.Sin, ir.Cos, ir.Tanh:
		return helper(op.Kind.Scalar)
	}
	lower.Fail(op.Span, "%s: not in this backend", op.Kind.Name)
	return ""
}

var infix = map[*ir.Kind]string{ir.Add: "+", ir.Sub: "-", ir.Mul: "*", ir.Div: "/", ir.BitAnd: "&", ir.BitOr: "|", ir.BitXor: "^",
	ir.LogicalAnd: "&", ir.LogicalOr: "|", ir.ShiftLeft: "<<", ir.ShiftRight: ">>"}

func (e *fn) binary(op *ir.Op, x, y string, dt ir.DType) string {
	switch op.Kind {
	case ir.FloorDivide, ir.Modulo:
		if s, ok := e.simpleDivision(op, x, y, dt); ok {
			return s
		}
		if n, ok := op.Operands()[1].ConstInt(); !ok || n == 0 {
			e.w.line("if (%s == 0) return ptoc_fail(ctx, PTOC_DIV_ZERO, %d, %s);", y, e.site(op), x)
		}
		name := map[*ir.Kind]string{ir.FloorDivide: "ptoc_floordiv", ir.Modulo: "ptoc_floormod"}[op.Kind]
		t := regType(dt)
		return fmt.Sprintf("%s<%s>(%s, %s)", e.g.use(name), t, x, y)
	case ir.ShiftLeft, ir.ShiftRight:
		bits := dt.Size() * 8
		if n, ok := op.Operands()[1].ConstInt(); !ok || n < 0 || n >= int64(bits) {
			e.w.line("if (%s < 0 || %s >= %d) return ptoc_fail(ctx, PTOC_BAD_VALUE, %d, %s, 0, %d);", y, y, bits, e.site(op), y, bits-1)
		}
		x = "(" + regType(dt) + ")" + x
	case ir.Minimum, ir.Maximum:
		if dt.IsFloat() {
			return fmt.Sprintf("%s(%s, %s)", e.g.use(map[bool]string{true: "ptoc_min", false: "ptoc_max"}[op.Kind == ir.Minimum]), x, y)
		}
		if op.Kind == ir.Minimum {
			return fmt.Sprintf("%s < %s ? %s : %s", x, y, x, y)
		}
		return fmt.Sprintf("%s > %s ? %s : %s", x, y, x, y)
	}
	sign, ok := infix[op.Kind]
	if !ok {
		lower.Fail(op.Span, "%s: not in this backend", op.Kind.Name)
	}
	s := fmt.Sprintf("%s %s %s", x, sign, y)
	if dt == ir.INT8 {
		return "(i8)(" + s + ")"
	}
	return e.round(s, dt)
}

// simpleDivision is C's division, or none at all, where the operands are known not to be negative and the
// divisor not to be zero.
func (e *fn) simpleDivision(op *ir.Op, x, y string, dt ir.DType) (string, bool) {
	if _, tile := op.Result().Type.(*ir.Tile); tile || dt != ir.INDEX {
		return "", false
	}
	how := e.checks.Division(ir.DimOf(op.Operands()[0]), ir.DimOf(op.Operands()[1]))
	switch {
	case how == lower.Floored:
		return "", false
	case op.Kind == ir.FloorDivide:
		return x + " / " + y, true
	case how == lower.Once:
		return fmt.Sprintf("%s < %s ? %s : %s - %s", x, y, x, x, y), true
	}
	return x + " % " + y, true
}

var roundFn = map[string]string{"rint": "__builtin_rintf", "round": "ptoc_roundf", "floor": "__builtin_floorf", "ceil": "__builtin_ceilf"}

func (e *fn) cast(x string, from, to ir.DType, mode ir.Enum) string {
	if !from.IsFloat() || to.IsFloat() || to == ir.BOOL {
		return e.convert(x, from, to)
	}
	if mode.Type != nil {
		if f, ok := roundFn[mode.Type.Values[mode.Value]]; ok {
			if f == "ptoc_roundf" {
				e.g.use(f)
			}
			x = f + "(" + x + ")"
		}
	}
	return fmt.Sprintf("%s(%s)", e.g.use("ptoc_f32_"+regType(to)), x)
}
