package tensor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ptoc/ir"
)

// A Spec says where the values of one input come from.
type Spec struct {
	Name   string
	Kind   SpecKind
	File   string // of Kind File
	Key    string // of Kind File: the array inside an .npz
	Value  float64
	Lo, Hi int64
	Seed   uint64
}

type SpecKind uint8

const (
	Seeded SpecKind = iota // what suits the dtype; the zero Spec is Seeded with seed 0
	Randn
	Ints
	Iota
	Zeros
	Full
	File
)

const specForms = "NAME=@FILE.npy, @FILE.npz:KEY, randn[:SEED], seed:SEED, ints:LO..HI[:SEED], iota, zeros or full:VALUE"

// ParseSpec reads "x=randn" and the like.
func ParseSpec(text string) (Spec, error) {
	name, rest, ok := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return Spec{}, fmt.Errorf("expected %s, found %q", specForms, text)
	}
	s := Spec{Name: name}
	if file, ok := strings.CutPrefix(rest, "@"); ok {
		return s, s.parseFile(file)
	}
	word, arg, hasArg := strings.Cut(rest, ":")
	err := s.parseGenerator(word, arg, hasArg)
	if err != nil {
		err = fmt.Errorf("input %s: %w", name, err)
	}
	return s, err
}

func (s *Spec) parseFile(file string) error {
	s.Kind, s.File = File, file
	// A key follows the last ".npz:", so that a folder may have colons in its name.
	if i := strings.LastIndex(file, ".npz:"); i >= 0 {
		s.File, s.Key = file[:i+len(".npz")], file[i+len(".npz:"):]
	}
	if !strings.HasSuffix(s.File, ".npy") && !strings.HasSuffix(s.File, ".npz") {
		return fmt.Errorf("input %s: expected a file named .npy or .npz, found %q", s.Name, file)
	}
	return nil
}

func (s *Spec) parseGenerator(word, arg string, hasArg bool) (err error) {
	switch word {
	case "iota", "zeros":
		if hasArg {
			return fmt.Errorf("%s takes no argument, found %q", word, arg)
		}
		s.Kind = map[string]SpecKind{"iota": Iota, "zeros": Zeros}[word]
	case "full":
		s.Kind = Full
		if s.Value, err = strconv.ParseFloat(arg, 64); err != nil {
			return fmt.Errorf("expected full:VALUE with a number, found %q", arg)
		}
	case "ints":
		s.Kind = Ints
		return s.parseInts(arg)
	case "randn":
		s.Kind = Randn
		if hasArg {
			return s.parseSeed(arg)
		}
	case "seed":
		return s.parseSeed(arg)
	default:
		return fmt.Errorf("expected %s, found %q", specForms, word)
	}
	return nil
}

func (s *Spec) parseSeed(arg string) (err error) {
	if s.Seed, err = strconv.ParseUint(arg, 0, 64); err != nil {
		return fmt.Errorf("expected a seed from 0 to 2^64-1, found %q", arg)
	}
	return nil
}

func (s *Spec) parseInts(arg string) error {
	span, seed, hasSeed := strings.Cut(arg, ":")
	lo, hi, ok := strings.Cut(span, "..")
	var err1, err2 error
	s.Lo, err1 = strconv.ParseInt(lo, 0, 64)
	s.Hi, err2 = strconv.ParseInt(hi, 0, 64)
	if !ok || err1 != nil || err2 != nil || s.Lo > s.Hi {
		return fmt.Errorf("expected ints:LO..HI with LO <= HI, found %q", span)
	}
	if hasSeed {
		return s.parseSeed(seed)
	}
	return nil
}

// Load reads the file of a File spec as it is: its shape may still have to bind
// the program's free dims.
func (s Spec) Load() (*Tensor, error) {
	t, err := Load(s.File, s.Key)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", s.Name, err)
	}
	return t, nil
}

// Make returns the input of the dtype and shape that the program wants.
func (s Spec) Make(d ir.DType, shape []int64) (*Tensor, error) {
	if s.Kind == File {
		t, err := s.Load()
		if err != nil {
			return nil, err
		}
		return Fit(s.Name, t, d, shape)
	}
	t, err := New(d, shape...)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", s.Name, err)
	}
	return t, s.Fill(t)
}

// Fill writes the values of any spec but File into t, which may lie in memory of the caller.
func (s Spec) Fill(t *Tensor) error {
	switch s.Kind {
	case Seeded:
		t.FillDefault(s.Name, s.Seed)
	case Randn:
		return t.FillRandn(s.Name, s.Seed)
	case Ints:
		t.FillInts(s.Name, s.Seed, s.Lo, s.Hi)
	case Iota:
		t.FillIota()
	case Zeros:
		clear(t.Data)
	case Full:
		t.Fill(s.Value)
	default:
		return fmt.Errorf("input %s comes from the file %s and cannot be generated", s.Name, s.File)
	}
	return nil
}

// Fit checks that t is what the program wants of the input name. It relabels
// INT64 as INDEX and raw 16-bit values as BF16, and rounds FP32 to BF16, which
// NumPy has no name for; any other dtype is an error.
func Fit(name string, t *Tensor, d ir.DType, shape []int64) (*Tensor, error) {
	if !slices.Equal(t.Shape, shape) {
		return nil, fmt.Errorf("input %s: expected shape %s, found %s", name, ShapeString(shape), ShapeString(t.Shape))
	}
	switch {
	case t.DType == d:
		return t, nil
	case t.DType == ir.INT64 && d == ir.INDEX, t.DType == ir.INDEX && d == ir.INT64:
		return &Tensor{d, t.Shape, t.Data}, nil
	case t.DType == ir.FP32 && d == ir.BF16:
		return t.Convert(d)
	}
	return nil, fmt.Errorf("input %s: expected dtype %s, found %s; convert the array with %s", name, d, t.DType, numpyCast(d))
}
