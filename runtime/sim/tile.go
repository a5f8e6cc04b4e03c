package sim

import (
	"encoding/binary"
	"math"

	"ptoc/ir"
	"ptoc/runtime/interp"
	"ptoc/runtime/tensor"
)

// tile is an immutable array value in C order: floats in f, integers and BOOL in i.
type tile struct {
	dt    ir.DType
	shape []int64
	f     []float64
	i     []int64
}

func newTile(dt ir.DType, shape []int64) *tile {
	t := &tile{dt: dt, shape: shape}
	if dt.IsFloat() {
		t.f = make([]float64, numel(shape))
	} else {
		t.i = make([]int64, numel(shape))
	}
	return t
}

func (t *tile) len() int64 { return int64(len(t.f) + len(t.i)) }

// reshaped shares the elements.
func (t *tile) reshaped(shape []int64) *tile { return &tile{t.dt, shape, t.f, t.i} }

// at is one element.
func (t *tile) at(k int64) interp.Value {
	if t.dt.IsFloat() {
		return interp.Value{F: t.f[k]}
	}
	return interp.Value{I: t.i[k]}
}

// gather makes a tile of shape whose element k is t's element index(k).
func (t *tile) gather(shape []int64, index func(k int64) int64) *tile {
	out := newTile(t.dt, shape)
	for k := range out.f {
		out.f[k] = t.f[index(int64(k))]
	}
	for k := range out.i {
		out.i[k] = t.i[index(int64(k))]
	}
	return out
}

// strided picks elements by strides per dim of shape, from a start.
func (t *tile) strided(shape, strides []int64, start int64) *tile {
	idx := make([]int64, len(shape))
	at := start
	return t.gather(shape, func(int64) int64 {
		now := at
		for d := len(shape) - 1; d >= 0; d-- {
			idx[d]++
			at += strides[d]
			if idx[d] < shape[d] {
				break
			}
			at -= strides[d] * shape[d]
			idx[d] = 0
		}
		return now
	})
}

// stretched is t broadcast to shape; t itself if it has that many elements.
func (t *tile) stretched(shape []int64) *tile {
	if t.len() == numel(shape) {
		return t.reshaped(shape)
	}
	own := rowMajor(t.shape, 1)
	strides := make([]int64, len(shape))
	for d := range shape {
		if k := d - (len(shape) - len(t.shape)); k >= 0 && t.shape[k] != 1 {
			strides[d] = own[k]
		}
	}
	return t.strided(shape, strides, 0)
}

// decode fills t with elements as memory holds them.
func (t *tile) decode(b []byte, exact bool) {
	le := binary.LittleEndian
	switch {
	case exact && t.dt.IsFloat():
		for k := range t.f {
			t.f[k] = math.Float64frombits(le.Uint64(b[8*k:]))
		}
	case t.dt == ir.FP32:
		for k := range t.f {
			t.f[k] = float64(math.Float32frombits(le.Uint32(b[4*k:])))
		}
	case t.dt == ir.FP16:
		for k := range t.f {
			t.f[k] = float64(tensor.FP16Value(le.Uint16(b[2*k:])))
		}
	case t.dt == ir.BF16:
		for k := range t.f {
			t.f[k] = float64(tensor.BF16Value(le.Uint16(b[2*k:])))
		}
	case t.dt == ir.INT32:
		for k := range t.i {
			t.i[k] = int64(int32(le.Uint32(b[4*k:])))
		}
	case t.dt == ir.INT8:
		for k := range t.i {
			t.i[k] = int64(int8(b[k]))
		}
	case t.dt == ir.BOOL:
		for k := range t.i {
			t.i[k] = interp.WrapInt(ir.BOOL, int64(b[k]))
		}
	default:
		for k := range t.i {
			t.i[k] = int64(le.Uint64(b[8*k:]))
		}
	}
}

// encode is the inverse of decode.
func (t *tile) encode(b []byte, exact bool) {
	le := binary.LittleEndian
	switch {
	case exact && t.dt.IsFloat():
		for k, x := range t.f {
			le.PutUint64(b[8*k:], math.Float64bits(x))
		}
	case t.dt == ir.FP32:
		for k, x := range t.f {
			le.PutUint32(b[4*k:], math.Float32bits(float32(x)))
		}
	case t.dt == ir.FP16:
		for k, x := range t.f {
			le.PutUint16(b[2*k:], tensor.FP16Bits(x))
		}
	case t.dt == ir.BF16:
		for k, x := range t.f {
			le.PutUint16(b[2*k:], tensor.BF16Bits(x))
		}
	case t.dt == ir.INT32:
		for k, x := range t.i {
			le.PutUint32(b[4*k:], uint32(x))
		}
	case t.dt == ir.INT8, t.dt == ir.BOOL:
		for k, x := range t.i {
			b[k] = byte(x)
		}
	default:
		for k, x := range t.i {
			le.PutUint64(b[8*k:], uint64(x))
		}
	}
}

// floatFrom is a float argument of the kernel ABI: the bits of a double.
func floatFrom(bits int64) float64 { return math.Float64frombits(uint64(bits)) }
