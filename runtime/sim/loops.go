package sim

import (
	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/interp"
)

// Loops over whole slices. The common operations have loops of their own; the others call a function
// for each element.

func floatBinary(name string) func(dst, a, b []float64) {
	switch name {
	case "add":
		return func(dst, a, b []float64) {
			for k := range dst {
				dst[k] = a[k] + b[k]
			}
		}
	case "sub":
		return func(dst, a, b []float64) {
			for k := range dst {
				dst[k] = a[k] - b[k]
			}
		}
	case "mul":
		return func(dst, a, b []float64) {
			for k := range dst {
				dst[k] = a[k] * b[k]
			}
		}
	case "div":
		return func(dst, a, b []float64) {
			for k := range dst {
				dst[k] = a[k] / b[k]
			}
		}
	case "min":
		return func(dst, a, b []float64) {
			for k := range dst {
				dst[k] = min(a[k], b[k])
			}
		}
	case "max":
		return func(dst, a, b []float64) {
			for k := range dst {
				dst[k] = max(a[k], b[k])
			}
		}
	}
	return nil
}

func floatUnary(name string) func(dst, x []float64) {
	f := interp.FloatUnary[name]
	return func(dst, x []float64) {
		for k := range dst {
			dst[k] = f(x[k])
		}
	}
}

// intBinary wraps to dt and raises what op may fail with.
func intBinary(op *ir.Op, dt ir.DType) func(dst, a, b []int64) {
	name := op.Kind.Scalar
	f := interp.IntBinary[name]
	switch {
	case name == "add":
		return func(dst, a, b []int64) {
			for k := range dst {
				dst[k] = a[k] + b[k]
			}
			wrap(dt, dst)
		}
	case interp.Divides(name):
		return func(dst, a, b []int64) {
			for k := range dst {
				if b[k] == 0 {
					interp.Raise(op, abi.DivZero, a[k])
				}
				dst[k] = interp.WrapInt(dt, f(a[k], b[k]))
			}
		}
	case interp.Shifts(name):
		bits := interp.Bits(dt)
		return func(dst, a, b []int64) {
			for k := range dst {
				if b[k] < 0 || b[k] >= bits {
					interp.Raise(op, abi.BadValue, b[k], 0, bits-1)
				}
				dst[k] = interp.WrapInt(dt, f(a[k], b[k]))
			}
		}
	}
	return func(dst, a, b []int64) {
		for k := range dst {
			dst[k] = f(a[k], b[k])
		}
		wrap(dt, dst)
	}
}

func wrap(dt ir.DType, xs []int64) {
	switch dt {
	case ir.INT32:
		for k, x := range xs {
			xs[k] = int64(int32(x))
		}
	case ir.INT8:
		for k, x := range xs {
			xs[k] = int64(int8(x))
		}
	}
}

// round rounds floats to dt in place.
func round(dt ir.DType, xs []float64) {
	if dt == ir.FP32 {
		for k, x := range xs {
			xs[k] = float64(float32(x))
		}
		return
	}
	for k, x := range xs {
		xs[k] = interp.RoundFloat(dt, x)
	}
}
