package tensor

import (
	"encoding/binary"
	"math"

	"ptoc/ir"
)

// Conversion, in words: floats round to nearest even. A float that goes into an
// integer is truncated, saturates at the integer's ends, and NaN becomes 0. An
// integer that goes into a narrower one keeps its low bits, as in C. BOOL is
// true for everything but zero, and reads as 0 or 1.

var le = binary.LittleEndian

// Float is the i-th element in C order.
func (t *Tensor) Float(i int64) float64 {
	var v [1]float64
	loadFloats(t.DType, t.elem(i), v[:])
	return v[0]
}

// SetFloat stores the i-th element in C order.
func (t *Tensor) SetFloat(i int64, x float64) {
	storeFloats(t.DType, t.elem(i), []float64{x})
}

// Int is the i-th element in C order.
func (t *Tensor) Int(i int64) int64 {
	var v [1]int64
	loadInts(t.DType, t.elem(i), v[:])
	return v[0]
}

// SetInt stores the i-th element in C order.
func (t *Tensor) SetInt(i int64, x int64) {
	storeInts(t.DType, t.elem(i), []int64{x})
}

func (t *Tensor) elem(i int64) []byte {
	size := int64(t.DType.Size())
	return t.Data[i*size : (i+1)*size]
}

// Floats copies all elements out.
func (t *Tensor) Floats() []float64 {
	v := make([]float64, t.Len())
	loadFloats(t.DType, t.Data, v)
	return v
}

// SetFloats copies elements in: as many as v and t both have.
func (t *Tensor) SetFloats(v []float64) {
	storeFloats(t.DType, t.Data, v[:min(int64(len(v)), t.Len())])
}

// Ints copies all elements out.
func (t *Tensor) Ints() []int64 {
	v := make([]int64, t.Len())
	loadInts(t.DType, t.Data, v)
	return v
}

// SetInts copies elements in: as many as v and t both have.
func (t *Tensor) SetInts(v []int64) {
	storeInts(t.DType, t.Data, v[:min(int64(len(v)), t.Len())])
}

// loadFloats reads len(dst) elements from the front of b.
func loadFloats(d ir.DType, b []byte, dst []float64) {
	switch d {
	case ir.FP32:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(le.Uint32(b[4*i:])))
		}
	case ir.FP16:
		for i := range dst {
			dst[i] = float64(FP16Value(le.Uint16(b[2*i:])))
		}
	case ir.BF16:
		for i := range dst {
			dst[i] = float64(BF16Value(le.Uint16(b[2*i:])))
		}
	case ir.INT32:
		for i := range dst {
			dst[i] = float64(int32(le.Uint32(b[4*i:])))
		}
	case ir.INT64, ir.INDEX:
		for i := range dst {
			dst[i] = float64(int64(le.Uint64(b[8*i:])))
		}
	case ir.INT8:
		for i := range dst {
			dst[i] = float64(int8(b[i]))
		}
	case ir.BOOL:
		for i := range dst {
			dst[i] = float64(boolByte(b[i] != 0))
		}
	}
}

func storeFloats(d ir.DType, b []byte, src []float64) {
	switch d {
	case ir.FP32:
		for i, x := range src {
			le.PutUint32(b[4*i:], math.Float32bits(float32(x)))
		}
	case ir.FP16:
		for i, x := range src {
			le.PutUint16(b[2*i:], FP16Bits(x))
		}
	case ir.BF16:
		for i, x := range src {
			le.PutUint16(b[2*i:], BF16Bits(x))
		}
	case ir.INT32:
		for i, x := range src {
			le.PutUint32(b[4*i:], uint32(truncate(x, math.MinInt32, math.MaxInt32)))
		}
	case ir.INT64, ir.INDEX:
		for i, x := range src {
			le.PutUint64(b[8*i:], uint64(truncate(x, math.MinInt64, math.MaxInt64)))
		}
	case ir.INT8:
		for i, x := range src {
			b[i] = byte(truncate(x, math.MinInt8, math.MaxInt8))
		}
	case ir.BOOL:
		for i, x := range src {
			b[i] = boolByte(x != 0)
		}
	}
}

// loadInts reads len(dst) elements from the front of b.
func loadInts(d ir.DType, b []byte, dst []int64) {
	switch d {
	case ir.INT32:
		for i := range dst {
			dst[i] = int64(int32(le.Uint32(b[4*i:])))
		}
	case ir.INT64, ir.INDEX:
		for i := range dst {
			dst[i] = int64(le.Uint64(b[8*i:]))
		}
	case ir.INT8:
		for i := range dst {
			dst[i] = int64(int8(b[i]))
		}
	case ir.BOOL:
		for i := range dst {
			dst[i] = int64(boolByte(b[i] != 0))
		}
	default:
		v := make([]float64, len(dst))
		loadFloats(d, b, v)
		for i, x := range v {
			dst[i] = truncate(x, math.MinInt64, math.MaxInt64)
		}
	}
}

func storeInts(d ir.DType, b []byte, src []int64) {
	switch d {
	case ir.FP32: // directly: a way through float64 would round twice
		for i, x := range src {
			le.PutUint32(b[4*i:], math.Float32bits(float32(x)))
		}
	case ir.FP16, ir.BF16:
		for i, x := range src {
			storeFloats(d, b[2*i:], []float64{float64(x)})
		}
	case ir.INT32:
		for i, x := range src {
			le.PutUint32(b[4*i:], uint32(x))
		}
	case ir.INT64, ir.INDEX:
		for i, x := range src {
			le.PutUint64(b[8*i:], uint64(x))
		}
	case ir.INT8:
		for i, x := range src {
			b[i] = byte(x)
		}
	case ir.BOOL:
		for i, x := range src {
			b[i] = boolByte(x != 0)
		}
	}
}

func truncate(x float64, lo, hi int64) int64 {
	switch {
	case x != x:
		return 0
	case x <= float64(lo):
		return lo
	case x >= float64(hi): // float64(MaxInt64) is 2^63: equal is too large already
		return hi
	}
	return int64(x)
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
