package tensor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"ptoc/ir"
)

// The .npy format: 6 bytes of magic, a version, the length of a header, the
// header (a Python dict in text), the elements. What NumPy calls float16, bool,
// int8, int32, int64 and float32 are our dtypes; float64 is read as FP32 where
// it fits. BF16, which NumPy does not know, is written as uint16, its raw bits:
// in Python, `a.view(ml_dtypes.bfloat16)`. Read back, uint16 is BF16, and so is
// the void type V2 that np.save makes of an ml_dtypes array.

var magic = []byte("\x93NUMPY")

// maxHeader is far above what any array of numbers needs.
const maxHeader = 1 << 20

// format is one element type of a file.
type format struct {
	code  string // without the byte order: "f4"
	numpy string
	dtype ir.DType
}

var formats = []format{
	{"b1", "bool", ir.BOOL},
	{"i1", "int8", ir.INT8},
	{"i4", "int32", ir.INT32},
	{"i8", "int64", ir.INT64},
	{"f2", "float16", ir.FP16},
	{"f4", "float32", ir.FP32},
	{"u2", "uint16", ir.BF16},
	{"V2", "bfloat16", ir.BF16},
	{"f8", "float64", ir.FP32}, // narrowed by readElements
}

func numpyCast(d ir.DType) string {
	if d == ir.BF16 {
		return ".astype(np.float32)"
	}
	return ".astype(np." + formatOf(d).numpy + ")"
}

func formatOf(d ir.DType) format {
	if d == ir.INDEX {
		d = ir.INT64
	}
	i := slices.IndexFunc(formats, func(f format) bool { return f.dtype == d })
	return formats[max(i, 0)]
}

// ReadNPY reads one array. size is the number of bytes that r holds, or -1
// where that is not known for certain.
func ReadNPY(r io.Reader, size int64) (*Tensor, error) {
	head, used, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	f, err := findFormat(head.descr)
	if err != nil {
		return nil, err
	}
	width := int64(f.code[1] - '0')
	want, err := product(width, head.shape)
	if err != nil {
		return nil, err
	}
	if size >= 0 && size-used != want {
		return nil, sizeError(head, f, want, size-used)
	}
	data, err := readExactly(r, want, size >= 0)
	if err != nil {
		return nil, fmt.Errorf("the elements cannot be read: %w", err)
	}
	if int64(len(data)) != want {
		return nil, sizeError(head, f, want, int64(len(data)))
	}
	if head.fortran {
		data = fromFortran(data, head.shape, width)
	}
	if data, err = toElements(f, data); err != nil {
		return nil, err
	}
	return Wrap(f.dtype, head.shape, data)
}

func sizeError(h header, f format, want, found int64) error {
	what := "truncated file"
	if found > want {
		what = "bytes after the array"
	}
	return fmt.Errorf("%s: expected %d bytes of elements for shape %s of %s, found %d", what, want, ShapeString(h.shape), f.numpy, found)
}

func findFormat(descr string) (format, error) {
	if descr == "" {
		return format{}, errors.New("an array of records or of empty type; expected numbers")
	}
	order, code := descr[0], descr[1:]
	if !strings.ContainsRune("<>|=", rune(order)) {
		order, code = '=', descr
	}
	for _, f := range formats {
		if f.code != code {
			continue
		}
		if order == '>' && !strings.HasSuffix(code, "1") {
			return format{}, fmt.Errorf("the elements (%s) are big-endian; expected little-endian: convert the array with .astype('<%s')", f.numpy, code)
		}
		return f, nil
	}
	return format{}, fmt.Errorf("expected an array of bool, int8, int32, int64, float16, float32, float64 or uint16 (the bits of BF16), found dtype %q", descr)
}

// readExactly reads up to n bytes. Memory grows with what arrives, unless n is
// known to be there: a header is no reason to allocate what it claims.
func readExactly(r io.Reader, n int64, known bool) ([]byte, error) {
	if known && n <= maxAlloc {
		data := alignedBytes(n)
		got, err := io.ReadFull(r, data)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = nil // the caller compares lengths
		}
		return data[:got], err
	}
	var b bytes.Buffer
	_, err := io.CopyN(&b, r, n)
	if err == io.EOF {
		err = nil
	}
	data := alignedBytes(int64(b.Len()))
	copy(data, b.Bytes())
	return data, err
}

// toElements turns what a file holds into what a tensor holds.
func toElements(f format, data []byte) ([]byte, error) {
	switch f.code {
	case "f8":
		return narrow(data)
	case "b1":
		for i, b := range data {
			data[i] = boolByte(b != 0)
		}
	}
	return data, nil
}

func narrow(data []byte) ([]byte, error) {
	out := alignedBytes(int64(len(data) / 2))
	for i := range len(data) / 8 {
		x := math.Float64frombits(le.Uint64(data[8*i:]))
		y := float32(x)
		if math.IsInf(float64(y), 0) && !math.IsInf(x, 0) {
			return nil, fmt.Errorf("float64 is read as FP32, and element %d, %g, does not fit", i, x)
		}
		le.PutUint32(out[4*i:], math.Float32bits(y))
	}
	return out, nil
}

// fromFortran brings elements, first index fastest, into C order.
func fromFortran(data []byte, shape []int64, width int64) []byte {
	if len(data) == 0 || len(shape) < 2 {
		return data
	}
	stride := make([]int64, len(shape)) // in the file, in bytes
	step := width
	for i, d := range shape {
		stride[i], step = step, step*d
	}
	out := alignedBytes(int64(len(data)))
	idx := make([]int64, len(shape))
	from, last := int64(0), len(shape)-1
	for to := int64(0); to < int64(len(out)); to += width {
		copy(out[to:to+width], data[from:from+width])
		for k := last; k >= 0; k-- { // next index, last dim fastest
			from += stride[k]
			if idx[k]++; idx[k] < shape[k] {
				break
			}
			from -= stride[k] * shape[k]
			idx[k] = 0
		}
	}
	return out
}

// WriteNPY writes t, in C order.
func WriteNPY(w io.Writer, t *Tensor) error {
	order := "<"
	if t.DType.Size() == 1 {
		order = "|"
	}
	dims := strings.Trim(ShapeString(t.Shape), "[]")
	if len(t.Shape) == 1 {
		dims += ","
	}
	text := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, formatOf(t.DType).code, dims)
	head := append(slices.Clone(magic), 1, 0, 0, 0)
	// Spaces and a newline bring the elements to a multiple of 64 bytes.
	pad := -(len(head) + len(text) + 1) & 63
	text += strings.Repeat(" ", pad) + "\n"
	if len(text) > math.MaxUint16 {
		return fmt.Errorf("a shape of %d dims does not fit into a .npy header", len(t.Shape))
	}
	binary.LittleEndian.PutUint16(head[8:], uint16(len(text)))
	if _, err := w.Write(append(head, text...)); err != nil {
		return err
	}
	_, err := w.Write(t.Data)
	return err
}
