package ir

import (
	"fmt"
	"strings"
)

// DType is the type of one element.
type DType uint8

const (
	NoDType DType = iota
	BOOL
	INT8
	INT32
	INT64
	INDEX // what sizes, offsets, ranks and loop counters are: 64-bit signed
	FP16
	BF16
	FP32
)

var dtypeNames = [...]string{"?", "BOOL", "INT8", "INT32", "INT64", "INDEX", "FP16", "BF16", "FP32"}
var dtypeSizes = [...]int{0, 1, 1, 4, 8, 8, 2, 2, 4}

// DTypes lists all element types.
var DTypes = []DType{BOOL, INT8, INT32, INT64, INDEX, FP16, BF16, FP32}

func (d DType) String() string { return dtypeNames[d] }

// Size is the size of one element in bytes.
func (d DType) Size() int { return dtypeSizes[d] }

// IsFloat, IsInt: INDEX is an integer, BOOL is neither.
func (d DType) IsFloat() bool { return d >= FP16 }
func (d DType) IsInt() bool   { return d >= INT8 && d <= INDEX }

// WiderInt is the element type of the sum of two integers.
func WiderInt(a, b DType) DType { return max(a, b) }

// ParseDType finds a dtype by its name ("FP32").
func ParseDType(name string) (DType, bool) {
	for i, n := range dtypeNames {
		if i > 0 && n == name {
			return DType(i), true
		}
	}
	return NoDType, false
}

// Type is one of *Tensor, *Tile, *Scalar, *Array, *Tuple, *Buffer, *CommCtx.
type Type interface{ String() string }

// Tensor is memory: an array in a rank's memory or, with Window, a symmetric window that peers may
// address. It is row-major; a view may have strides, which follow from the op that made it.
type Tensor struct {
	Dims   []Dim
	DType  DType
	Window bool
}

// Tile is an immutable value. Dims are its valid extents; Cap, when not nil, is the (larger) shape
// that was asked for, which bounds its storage.
type Tile struct {
	Dims  []Dim
	Cap   []Dim
	DType DType
}

// Scalar is one element.
type Scalar struct{ DType DType }

// Array is a small fixed array of scalars, updated functionally.
type Array struct {
	N     int64
	DType DType
}

// Tuple is what a function with several results returns; never a value in a body.
type Tuple struct{ Elems []Type }

// Buffer is the identity of one symmetric allocation (pld.alloc_window_buffer).
type Buffer struct{ Bytes Dim }

// CommCtx is the handle of a communication domain: it knows rank and nranks.
type CommCtx struct{}

func dimsText(dims []Dim, name func(*Value) string) string {
	parts := make([]string, len(dims))
	for i, d := range dims {
		parts[i] = d.Text(name)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (t *Tensor) String() string { return TypeText(t, idName) }
func (t *Tile) String() string   { return TypeText(t, idName) }
func (t *Scalar) String() string { return TypeText(t, idName) }
func (t *Array) String() string  { return TypeText(t, idName) }
func (t *Tuple) String() string  { return TypeText(t, idName) }
func (t *Buffer) String() string { return "window buffer" }
func (*CommCtx) String() string  { return "pld.CommCtx" }

// TypeText writes a type in the surface syntax; name gives the text of values inside dims.
func TypeText(t Type, name func(*Value) string) string {
	switch t := t.(type) {
	case *Tensor:
		prefix := "pl.Tensor"
		if t.Window {
			prefix = "pld.DistributedTensor"
		}
		return fmt.Sprintf("%s[%s, pl.%s]", prefix, dimsText(t.Dims, name), t.DType)
	case *Tile:
		return fmt.Sprintf("pl.Tile[%s, pl.%s]", dimsText(t.Dims, name), t.DType)
	case *Scalar:
		return fmt.Sprintf("pl.Scalar[pl.%s]", t.DType)
	case *Array:
		return fmt.Sprintf("pl.Array[%d, pl.%s]", t.N, t.DType)
	case *Tuple:
		parts := make([]string, len(t.Elems))
		for i, e := range t.Elems {
			parts[i] = TypeText(e, name)
		}
		return "pl.Tuple[" + strings.Join(parts, ", ") + "]"
	case nil:
		return "nothing"
	default:
		return t.String()
	}
}

// TypesEqual compares structurally, dims by normal form and value identity.
func TypesEqual(a, b Type) bool {
	switch a := a.(type) {
	case *Tensor:
		b, ok := b.(*Tensor)
		return ok && a.DType == b.DType && a.Window == b.Window && DimsEqual(a.Dims, b.Dims)
	case *Tile:
		b, ok := b.(*Tile)
		return ok && a.DType == b.DType && DimsEqual(a.Dims, b.Dims) && DimsEqual(a.Storage(), b.Storage())
	case *Scalar:
		b, ok := b.(*Scalar)
		return ok && *a == *b
	case *Array:
		b, ok := b.(*Array)
		return ok && *a == *b
	case *Tuple:
		b, ok := b.(*Tuple)
		if !ok || len(a.Elems) != len(b.Elems) {
			return false
		}
		for i := range a.Elems {
			if !TypesEqual(a.Elems[i], b.Elems[i]) {
				return false
			}
		}
		return true
	case *Buffer:
		b, ok := b.(*Buffer)
		return ok && a.Bytes.Equal(b.Bytes)
	case *CommCtx:
		_, ok := b.(*CommCtx)
		return ok
	}
	return a == nil && b == nil
}

// Storage is the shape that bounds the tile's memory: Cap, or Dims where there is no Cap.
func (t *Tile) Storage() []Dim {
	if t.Cap != nil {
		return t.Cap
	}
	return t.Dims
}

// Bytes is the size of the tensor's elements.
func (t *Tensor) Bytes() Dim { return Product(t.Dims).Scale(int64(t.DType.Size())) }

// DTypeOf is the element type of a tensor, tile, scalar or array; NoDType otherwise.
func DTypeOf(t Type) DType {
	switch t := t.(type) {
	case *Tensor:
		return t.DType
	case *Tile:
		return t.DType
	case *Scalar:
		return t.DType
	case *Array:
		return t.DType
	}
	return NoDType
}

// ShapeOf is the shape of a tensor or tile; nil for everything else.
func ShapeOf(t Type) []Dim {
	switch t := t.(type) {
	case *Tensor:
		return t.Dims
	case *Tile:
		return t.Dims
	}
	return nil
}

// eachDim calls f for every dim that t is made of.
func eachDim(t Type, f func(Dim)) {
	switch t := t.(type) {
	case *Tensor:
		for _, d := range t.Dims {
			f(d)
		}
	case *Tile:
		for _, d := range t.Dims {
			f(d)
		}
		for _, d := range t.Cap {
			f(d)
		}
	case *Buffer:
		f(t.Bytes)
	case *Tuple:
		for _, e := range t.Elems {
			eachDim(e, f)
		}
	}
}

// SubstType replaces atoms in the dims of a type.
func SubstType(t Type, f func(Atom) (Dim, bool)) Type {
	sub := func(ds []Dim) []Dim {
		if ds == nil {
			return nil
		}
		out := make([]Dim, len(ds))
		for i, d := range ds {
			out[i] = d.Subst(f)
		}
		return out
	}
	switch t := t.(type) {
	case *Tensor:
		return &Tensor{Dims: sub(t.Dims), DType: t.DType, Window: t.Window}
	case *Tile:
		return &Tile{Dims: sub(t.Dims), Cap: sub(t.Cap), DType: t.DType}
	case *Buffer:
		return &Buffer{Bytes: t.Bytes.Subst(f)}
	case *Tuple:
		out := &Tuple{}
		for _, e := range t.Elems {
			out.Elems = append(out.Elems, SubstType(e, f))
		}
		return out
	}
	return t
}
