package tensor

import (
	"bytes"
	"testing"

	"ptoc/ir"
)

func FuzzReadNPY(f *testing.F) {
	for _, d := range []ir.DType{ir.BOOL, ir.FP16, ir.FP32, ir.INT64} {
		x, _ := New(d, 2, 3)
		x.FillDefault("x", 1)
		var b bytes.Buffer
		WriteNPY(&b, x)
		f.Add(b.Bytes())
	}
	f.Add(npy(dict("<f8", "True", "(1, 2)"), make([]byte, 16)...))
	f.Add(npy(dict(">i4", "False", "()"), 0, 0, 0, 0))
	f.Add(npy(dict("|i1", "True", "(0, 9223372036854775807)")))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ReadNPY(bytes.NewReader(b), int64(len(b)))
		y, err2 := ReadNPY(bytes.NewReader(b), -1)
		if err != nil {
			return
		}
		if err2 != nil || !Equal(x, y) {
			t.Fatalf("%s with a known size, %v without", x, err2)
		}
		checkReadable(t, x)
	})
}

func FuzzReadNPZ(f *testing.F) {
	f.Add(deflated(f, "w.npy", npy(dict("<f4", "False", "(1,)"), 0, 0, 0, 0)), "w")
	f.Add(deflated(f, "w.npy", npy(dict("|i1", "False", "(1000000000000,)"), 1)), "")
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		if x, err := ReadNPZ(bytes.NewReader(b), int64(len(b)), key); err == nil {
			checkReadable(t, x)
		}
	})
}

// checkReadable holds what was read against what a second round gives.
func checkReadable(t *testing.T, x *Tensor) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteNPY(&b, x); err != nil {
		t.Fatal(err)
	}
	y, err := ReadNPY(&b, int64(b.Len()))
	if err != nil || !Equal(x, y) {
		t.Fatalf("%s does not come back: %v", x, err)
	}
	if d, err := Compare(x, y, Tolerance{}); err != nil || !d.OK() || d.Elems != x.Len() {
		t.Fatalf("%s is not equal to itself: %v, %v", x, d, err)
	}
	x.Format()
}

func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"x=@f.npz:k", "x=randn:3", "x=ints:-1..1:2", "x=full:nan", "x=iota", "=", "x=ints:-9223372036854775808..9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSpec(text)
		if err != nil || s.Kind == File {
			return
		}
		if x, err := s.Make(ir.FP32, []int64{3}); err != nil || x.Len() != 3 {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
