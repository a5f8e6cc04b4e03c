package tensor

import (
	"path/filepath"
	"slices"
	"testing"

	"ptoc/ir"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]Spec{
		"x=@a/f.npy":         {Name: "x", Kind: File, File: "a/f.npy"},
		"x=@f.npz":           {Name: "x", Kind: File, File: "f.npz"},
		"x=@a:b/f.npz:w.0":   {Name: "x", Kind: File, File: "a:b/f.npz", Key: "w.0"},
		"x=randn":            {Name: "x", Kind: Randn},
		"x=randn:9":          {Name: "x", Kind: Randn, Seed: 9},
		"x=seed:0x10":        {Name: "x", Kind: Seeded, Seed: 16},
		"x=iota":             {Name: "x", Kind: Iota},
		"x=zeros":            {Name: "x", Kind: Zeros},
		"x=full:-1.5":        {Name: "x", Kind: Full, Value: -1.5},
		" x =ints:-3..4":     {Name: "x", Kind: Ints, Lo: -3, Hi: 4},
		"x=ints:0..100:1234": {Name: "x", Kind: Ints, Lo: 0, Hi: 100, Seed: 1234},
	} {
		if got, err := ParseSpec(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"x":            "expected NAME=@FILE.npy",
		"=randn":       "found \"=randn\"",
		"x=":           "input x: expected NAME=@FILE.npy",
		"x=rand":       "found \"rand\"",
		"x=full":       "input x: expected full:VALUE with a number, found \"\"",
		"x=full:a":     "found \"a\"",
		"x=seed:-1":    "expected a seed from 0 to 2^64-1, found \"-1\"",
		"x=iota:3":     "iota takes no argument, found \"3\"",
		"x=ints:4..3":  "expected ints:LO..HI with LO <= HI, found \"4..3\"",
		"x=ints:4":     "found \"4\"",
		"x=@f.txt":     "input x: expected a file named .npy or .npz, found \"f.txt\"",
		"x=@f.npy:key": "found \"f.npy:key\"",
	} {
		_, err := ParseSpec(text)
		wantError(t, err, want)
	}
}

func TestSpecsMakeTensors(t *testing.T) {
	for text, want := range map[string][]float64{
		"x=iota":       {0, 1, 2, 3},
		"x=zeros":      {0, 0, 0, 0},
		"x=full:2.5":   {2.5, 2.5, 2.5, 2.5},
		"x=ints:7..7":  {7, 7, 7, 7},
		"x=randn:7":    wantRandn,
		"x=seed:7":     wantRandn,
		"x=ints:-3..3": nil,
	} {
		s, err := ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		x, err := s.Make(ir.FP32, []int64{2, 2})
		if err != nil || want != nil && !slices.Equal(x.Floats(), want) {
			t.Errorf("%s: got %v, %v", text, x.Floats(), err)
		}
	}
	_, err := Spec{Name: "x", Kind: Randn}.Make(ir.INT32, []int64{2})
	wantError(t, err, "x is INT32: use ints:LO..HI")
	for d, lo := range map[ir.DType]int64{ir.INT8: -10, ir.INDEX: 0, ir.BOOL: 0} {
		x, err := Spec{Name: "x"}.Make(d, []int64{1000})
		if err != nil || slices.Min(x.Ints()) != lo {
			t.Errorf("%s: smallest default value %d, want %d; %v", d, slices.Min(x.Ints()), lo, err)
		}
	}
}

func TestInputFileMustFit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.npy")
	if err := Save(file, mustFrom(t, ir.FP32, []int64{2}, 1, 1+1.0/256)); err != nil {
		t.Fatal(err)
	}
	s := Spec{Name: "x", Kind: File, File: file}
	if x, err := s.Make(ir.FP32, []int64{2}); err != nil || !slices.Equal(x.Floats(), []float64{1, 1 + 1.0/256}) {
		t.Errorf("FP32: %v", err)
	}
	if x, err := s.Make(ir.BF16, []int64{2}); err != nil || !slices.Equal(x.Floats(), []float64{1, 1}) {
		t.Errorf("BF16: %v", err)
	}
	_, err := s.Make(ir.FP32, []int64{1, 2})
	wantError(t, err, "input x: expected shape [1, 2], found [2]")
	_, err = s.Make(ir.INT32, []int64{2})
	wantError(t, err, "input x: expected dtype INT32, found FP32; convert the array with .astype(np.int32)")
	s.File += ".missing.npy"
	_, err = s.Make(ir.FP32, []int64{2})
	wantError(t, err, "no such file or directory")
}
