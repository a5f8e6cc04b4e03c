package tensor

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptoc/internal/wholefile"
	"ptoc/ir"
)

// npy makes a file of a header and elements.
func npy(header string, data ...byte) []byte {
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	return append(append(b, header...), data...)
}

func dict(descr, fortran, shape string) string {
	return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n"
}

func read(b []byte) (*Tensor, error) { return ReadNPY(bytes.NewReader(b), int64(len(b))) }

func TestReadNPY(t *testing.T) {
	for _, c := range []struct {
		name  string
		file  []byte
		d     ir.DType
		shape []int64
		want  []float64
	}{
		{"float32", npy(dict("<f4", "False", "(2,)"), 0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0), ir.FP32, []int64{2}, []float64{1.5, -2}},
		{"float64", npy(dict("<f8", "False", "(1,)"), 0, 0, 0, 0, 0, 0, 0xf8, 0x3f), ir.FP32, []int64{1}, []float64{1.5}},
		{"float16", npy(dict("<f2", "False", "(2,)"), 0, 0x3e, 1, 0), ir.FP16, []int64{2}, []float64{1.5, math.Ldexp(1, -24)}},
		{"bfloat16", npy(dict("<V2", "False", "(1,)"), 0xc0, 0x3f), ir.BF16, []int64{1}, []float64{1.5}},
		{"uint16", npy(dict("<u2", "False", "(1,)"), 0xc0, 0x3f), ir.BF16, []int64{1}, []float64{1.5}},
		{"bool", npy(dict("|b1", "False", "(3,)"), 0, 1, 7), ir.BOOL, []int64{3}, []float64{0, 1, 1}},
		{"int8", npy(dict("|i1", "False", "(2,)"), 5, 0xff), ir.INT8, []int64{2}, []float64{5, -1}},
		{"int32", npy(dict("<i4", "False", "(1,)"), 0xfe, 0xff, 0xff, 0xff), ir.INT32, []int64{1}, []float64{-2}},
		{"int64", npy(dict("<i8", "False", "()"), 3, 0, 0, 0, 0, 0, 0, 0), ir.INT64, []int64{}, []float64{3}},
		{"fortran", npy(dict("|i1", "True", "(2, 3)"), 0, 3, 1, 4, 2, 5), ir.INT8, []int64{2, 3}, []float64{0, 1, 2, 3, 4, 5}},
		{"empty", npy(dict("<f4", "True", "(0, 9223372036854775807, 2)")), ir.FP32, []int64{0, math.MaxInt64, 2}, []float64{}},
		{"any order of keys", npy("{\"shape\":(1L,),'fortran_order':False,'descr':'|i1'}", 9), ir.INT8, []int64{1}, []float64{9}},
		{"version 3", append([]byte("\x93NUMPY\x03\x00\x3d\x00\x00\x00"), dict("|i1", "False", "(1,)")+"   \x09"...), ir.INT8, []int64{1}, []float64{9}},
	} {
		x, err := read(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if x.DType != c.d || !slices.Equal(x.Shape, c.shape) || !slices.Equal(x.Floats(), c.want) {
			t.Errorf("%s: got %s %v, want %v", c.name, x, x.Floats(), c.want)
		}
	}
}

func TestReadNPYErrors(t *testing.T) {
	f4 := func(shape string, data ...byte) []byte { return npy(dict("<f4", "False", shape), data...) }
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "it ends before its header"},
		{[]byte("PK\x03\x04 is a zip"), "expected it to begin with \"\\x93NUMPY\", found \"PK"},
		{[]byte("\x93NUMPY\x04\x00\x00\x00"), "expected .npy version 1, 2 or 3, found 4.0"},
		{[]byte("\x93NUMPY\x01\x00\x10\x00{"), "truncated header: expected 16 bytes, found 1"},
		{[]byte("\x93NUMPY\x02\x00\x10\x00"), "truncated header"},
		{[]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), "the header claims 4294967295 bytes; expected at most 1048576"},
		{f4("(2,)", 0, 0, 0, 0, 1), "truncated file: expected 8 bytes of elements for shape [2] of float32, found 5"},
		{f4("(1,)", 0, 0, 0, 0, 1), "bytes after the array: expected 4 bytes"},
		{f4("(-1,)"), "expected at most 64 dims from 0 to 2^63-1, found \"-1,)"},
		{f4("(4611686018427387904, 4)"), "shape [4611686018427387904, 4] is too large"},
		{f4("(99999999999999999999,)"), "expected at most 64 dims"},
		{f4("(1, 2"), "expected at most 64 dims from 0 to 2^63-1, found \"}"},
		{f4("(1 2)"), "expected ')', found \"2)"},
		{f4("(" + strings.Repeat("1,", 65) + ")"), "expected at most 64 dims"},
		{npy(dict(">f4", "False", "(1,)"), 0, 0, 0, 0), "the elements (float32) are big-endian; expected little-endian: convert the array with .astype('<f4')"},
		{npy(dict("<c8", "False", "(1,)")), "expected an array of bool, int8,"},
		{npy(dict("<u4", "False", "(1,)")), "found dtype \"<u4\""},
		{npy(dict("", "False", "(1,)")), "expected numbers"},
		{npy(dict("<f4", "false", "(1,)")), "expected True or False, found \"false"},
		{npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"), "found an array of records"},
		{npy("{'descr': '<f4', 'shape': (1,)}"), "expected the keys descr, fortran_order and shape"},
		{npy("{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}"), "expected each key once"},
		{npy("{'desc': '<f4'}"), "expected descr, fortran_order or shape, found \"desc\""},
		{npy("{'descr': '<f4"), "expected a quoted word"},
		{npy(dict("|i1", "False", "(1,)")+"x", 1), "nothing after the closing brace"},
		{npy(dict("<f8", "False", "(1,)"), 0, 0, 0, 0, 0, 0, 0, 0x7f), "element 0, 5.486124068793689e+303, does not fit"},
	} {
		_, err := read(c.file)
		wantError(t, err, c.want)
	}
}

func TestWriteNPYIsWhatNumPyWrites(t *testing.T) {
	var b bytes.Buffer
	if err := WriteNPY(&b, mustFrom(t, ir.INT8, []int64{3}, 1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	// np.save of np.array([1, 2, 3], np.int8), NumPy 2.4
	want := "\x93NUMPY\x01\x00\x76\x00{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }" +
		strings.Repeat(" ", 60) + "\n\x01\x02\x03"
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
}

func TestFilesComeBackEqual(t *testing.T) {
	dir := t.TempDir()
	var all []Named
	for _, d := range []ir.DType{ir.BOOL, ir.INT8, ir.INT32, ir.INT64, ir.FP16, ir.BF16, ir.FP32} {
		x, _ := New(d, 3, 1, 5)
		x.FillDefault("x", 1)
		all = append(all, Named{d.String(), x})
		file := filepath.Join(dir, d.String()+".npy")
		if err := Save(file, x); err != nil {
			t.Fatal(err)
		}
		if y, err := Load(file, ""); err != nil || !Equal(x, y) {
			t.Errorf("%s: %v", d, err)
		}
	}
	file := filepath.Join(dir, "all.npz")
	if err := SaveNPZ(file, all); err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if y, err := Load(file, a.Name); err != nil || !Equal(a.Tensor, y) {
			t.Errorf("%s in .npz: %v", a.Name, err)
		}
	}
	_, err := Load(file, "nope")
	wantError(t, err, "all.npz: expected one of the keys BOOL, INT8, INT32, INT64, FP16, BF16, FP32, found \"nope\"")
	_, err = Load(file, "")
	wantError(t, err, "expected one of the keys BOOL,")
	_, err = Load(filepath.Join(dir, "FP32.npy"), "k")
	wantError(t, err, "a .npy file has one array, without keys; found the key \"k\"")
}

func TestNPZOfOneArrayNeedsNoKeyAndMayBeCompressed(t *testing.T) {
	b := deflated(t, "w.npy", npy(dict("|i1", "False", "(2,)"), 1, 2))
	x, err := ReadNPZ(bytes.NewReader(b), int64(len(b)), "")
	if err != nil || !slices.Equal(x.Ints(), []int64{1, 2}) {
		t.Errorf("%v", err)
	}
	for want, file := range map[string][]byte{
		"not an .npz file":             []byte("\x93NUMPY"),
		"array w.npy: truncated file":  deflated(t, "w.npy", npy(dict("|i1", "False", "(1000000000000,)"), 1)),
		"array w.npy: bytes after":     deflated(t, "w.npy", npy(dict("|i1", "False", "(1,)"), 1, 2)),
		"expected one of the keys , f": deflated(t, "w.txt", nil),
	} {
		_, err := ReadNPZ(bytes.NewReader(file), int64(len(file)), "")
		wantError(t, err, want)
	}
}

func deflated(t testing.TB, name string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err == nil {
		_, err = w.Write(data)
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOutputAppearsWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "y.npy"), filepath.Join(dir, "link.npy")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := wholefile.Write(link, func(w io.Writer) error {
		w.Write(make([]byte, 1<<20))
		return broken
	})
	if b, _ := os.ReadFile(file); !errors.Is(err, broken) || string(b) != "old" {
		t.Errorf("after a failure: %v, %d bytes", err, len(b))
	}
	if err := Save(link, mustFrom(t, ir.INT8, []int64{1}, 1)); err != nil {
		t.Fatal(err)
	}
	if x, err := Load(file, ""); err != nil || x.Int(0) != 1 {
		t.Errorf("through a link: %v", err)
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if names, _ := os.ReadDir(dir); len(names) != 2 {
		t.Errorf("left behind: %v", names)
	}
	wantError(t, Save("y.txt", nil), "expected an output file named .npy, found \"y.txt\"")
	wantError(t, Save(filepath.Join(dir, "no", "y.npy"), mustFrom(t, ir.INT8, nil, 1)), "no such file or directory")
}
