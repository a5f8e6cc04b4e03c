// Package tensor holds the host side's arrays: what goes into a program, what
// comes out of it, and how the two get from and to files, are compared and
// printed.
package tensor

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"ptoc/ir"
)

// A Tensor is an array in C order, little endian. Data may belong to somebody
// else: a heap shared with the ranks, or another tensor.
type Tensor struct {
	DType ir.DType
	Shape []int64
	Data  []byte
}

// Elems is the number of elements of a shape; a negative dim or a size beyond
// int64 is an error.
func Elems(shape []int64) (int64, error) { return product(1, shape) }

// Bytes is the size of a tensor.
func Bytes(d ir.DType, shape []int64) (int64, error) { return product(int64(d.Size()), shape) }

func product(n int64, shape []int64) (int64, error) {
	if slices.Contains(shape, 0) {
		n = 0 // [0, 1<<62, 1<<62] is small
	}
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %s has a negative dim", ShapeString(shape))
		}
		hi, lo := bits.Mul64(uint64(n), uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, fmt.Errorf("shape %s is too large", ShapeString(shape))
		}
		n = int64(lo)
	}
	return n, nil
}

// New makes a tensor of zeros, aligned to a cache line.
func New(d ir.DType, shape ...int64) (*Tensor, error) {
	n, err := Bytes(d, shape)
	if err != nil {
		return nil, err
	}
	if n > maxAlloc || !Room(n) {
		return nil, fmt.Errorf("a tensor of shape %s and dtype %s would take %d bytes", ShapeString(shape), d, n)
	}
	return &Tensor{d, slices.Clone(shape), alignedBytes(n)}, nil
}

// maxAlloc keeps a mistyped shape from ending the process: 1 TiB.
const maxAlloc = 1 << 40

const cacheLine = 64

func alignedBytes(n int64) []byte {
	b := make([]byte, n+cacheLine)
	skip := -int64(uintptr(unsafe.Pointer(&b[0]))) & (cacheLine - 1)
	return b[skip : skip+n : skip+n]
}

// Wrap makes a tensor of memory that is there already.
func Wrap(d ir.DType, shape []int64, data []byte) (*Tensor, error) {
	n, err := Bytes(d, shape)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != n {
		return nil, fmt.Errorf("expected %d bytes for shape %s of %s, found %d", n, ShapeString(shape), d, len(data))
	}
	return &Tensor{d, slices.Clone(shape), data}, nil
}

// From makes a tensor of values, rounded to its dtype.
func From(d ir.DType, shape []int64, values []float64) (*Tensor, error) {
	n, err := Elems(shape)
	if err != nil {
		return nil, err
	}
	if int64(len(values)) != n {
		return nil, fmt.Errorf("expected %d values for shape %s, found %d", n, ShapeString(shape), len(values))
	}
	t, err := New(d, shape...)
	if err != nil {
		return nil, err
	}
	t.SetFloats(values)
	return t, nil
}

// Len is the number of elements.
func (t *Tensor) Len() int64 {
	if t.DType.Size() == 0 {
		return 0
	}
	return int64(len(t.Data) / t.DType.Size())
}

func (t *Tensor) String() string { return fmt.Sprintf("%s %s", t.DType, ShapeString(t.Shape)) }

// Offset is the position in C order of the element at idx.
func (t *Tensor) Offset(idx ...int64) (int64, error) {
	if len(idx) != len(t.Shape) {
		return 0, fmt.Errorf("expected %d indices for shape %s, found %d", len(t.Shape), ShapeString(t.Shape), len(idx))
	}
	at := int64(0)
	for i, x := range idx {
		if x < 0 || x >= t.Shape[i] {
			return 0, fmt.Errorf("index %s is outside of shape %s", ShapeString(idx), ShapeString(t.Shape))
		}
		at = at*t.Shape[i] + x
	}
	return at, nil
}

// Index is the inverse of Offset.
func (t *Tensor) Index(at int64) []int64 {
	idx := make([]int64, len(t.Shape))
	for i := len(idx) - 1; i >= 0; i-- {
		idx[i], at = at%t.Shape[i], at/t.Shape[i]
	}
	return idx
}

// Row is the i-th part along the leading dim, without that dim; it shares t's memory.
func (t *Tensor) Row(i int64) (*Tensor, error) {
	s, err := t.Slice(i, i+1)
	if err != nil {
		return nil, err
	}
	s.Shape = s.Shape[1:]
	return s, nil
}

// Slice is t[lo:hi] along the leading dim; it shares t's memory.
func (t *Tensor) Slice(lo, hi int64) (*Tensor, error) {
	if len(t.Shape) == 0 {
		return nil, fmt.Errorf("a tensor of shape [] has no leading dim to slice")
	}
	if lo < 0 || hi < lo || hi > t.Shape[0] {
		return nil, fmt.Errorf("slice [%d:%d] is outside of the leading dim of shape %s", lo, hi, ShapeString(t.Shape))
	}
	row, err := Bytes(t.DType, t.Shape[1:])
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(t.Shape)
	shape[0] = hi - lo
	return &Tensor{t.DType, shape, t.Data[lo*row : hi*row : hi*row]}, nil
}

// Clone copies t into memory of its own.
func (t *Tensor) Clone() *Tensor {
	data := alignedBytes(int64(len(t.Data)))
	copy(data, t.Data)
	return &Tensor{t.DType, slices.Clone(t.Shape), data}
}

// Convert copies t into another dtype, value by value.
func (t *Tensor) Convert(d ir.DType) (*Tensor, error) {
	c, err := New(d, t.Shape...)
	if err != nil {
		return nil, err
	}
	if t.DType.IsFloat() || d.IsFloat() {
		c.SetFloats(t.Floats())
	} else {
		c.SetInts(t.Ints())
	}
	return c, nil
}

// ShapeString writes a shape as the language does: [2, 3].
func ShapeString(shape []int64) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = strconv.FormatInt(d, 10)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
