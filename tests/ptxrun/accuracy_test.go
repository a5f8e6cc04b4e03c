package ptxrun

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/codegen/ptx"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
	"ptoc/passes"
)

const points = 1 << 14

// runKernel runs kernel k of a program, whose first parameter is in, and returns its second, of the same size.
func runKernel(t *testing.T, text string, o ptx.Options, in []byte) []byte {
	t.Helper()
	l := &diag.List{}
	file := source.NewFile("k.pl", text)
	m := check.File(syntax.Parse(file, syntax.ModeFor(file.Name), l), check.Options{}, l)
	l.Merge(passes.Run(m, passes.Options{Target: "cuda"}))
	if l.HasErrors() {
		t.Fatal(l)
	}
	b, err := New(m, 1, Config{Options: o})
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	k, _ := b.Kernel(m.Func("k"))
	x, _ := b.Alloc("x", int64(len(in)))
	y, _ := b.Alloc("y", int64(len(in)))
	copy(x.Data, in)
	b.Dispatch(0, k, []abi.Arg{{Tag: abi.TagHeap, Value: x.Addr}, {Tag: abi.TagHeap, Value: y.Addr}})
	if err := b.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	return y.Data[:len(in)]
}

// apply computes pl.NAME of every x on PTX.
func apply(t *testing.T, name string, o ptx.Options, xs []float32) []float32 {
	t.Helper()
	text := fmt.Sprintf(`
@pl.jit.incore
def k(x: pl.Tensor[[1, %[1]d], pl.FP32], y: pl.Out[pl.Tensor[[1, %[1]d], pl.FP32]]):
    return pl.store(pl.%[2]s(pl.load(x, [0, 0], [1, %[1]d])), [0, 0], y)
`, points, name)
	in := make([]byte, 4*points)
	for i, v := range xs {
		binary.LittleEndian.PutUint32(in[4*i:], math.Float32bits(v))
	}
	y := runKernel(t, text, o, in)
	out := make([]float32, len(xs))
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(y[4*i:]))
	}
	return out
}

// distance is |got - want| in units of the last place of an FP32 number like want.
func distance(got float32, want float64) float64 {
	w := float32(want)
	switch {
	case want != want && got != got, math.IsInf(float64(w), 0) && got == w:
		return 0
	case want != want || got != got || math.IsInf(float64(w), 0) || math.IsInf(float64(got), 0):
		return math.Inf(1)
	}
	_, e := math.Frexp(math.Abs(want))
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

var accuracy = []struct {
	name      string
	f         func(float64) float64
	low, high float64 // of x
	within    float64 // units in the last place
}{
	{"exp", math.Exp, -104, 89, 2}, {"exp", math.Exp, -1, 1, 2},
	{"log", math.Log, 1e-38, 1e38, 2}, {"log", math.Log, 0.5, 2, 2},
	{"tanh", math.Tanh, -10, 10, 2}, {"tanh", math.Tanh, -0.7, 0.7, 2},
	{"sin", math.Sin, 1e-30, math.MaxFloat32, 2}, {"cos", math.Cos, 1e-30, math.MaxFloat32, 2},
	{"sin", math.Sin, -4, 4, 2}, {"sin", math.Sin, -1e5, 1e5, 2}, {"cos", math.Cos, -4, 4, 2}, {"cos", math.Cos, -1e5, 1e5, 2},
	{"sqrt", math.Sqrt, 0, 1e30, 0.5}, {"recip", func(x float64) float64 { return 1 / x }, -100, 100, 0.5},
	{"rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }, 1e-30, 1e30, 2},
}

// The functions are as exact as docs/gpu.md says.
func TestAccuracy(t *testing.T) {
	for _, c := range accuracy {
		xs := make([]float32, points)
		for i := range xs {
			u := (float64(i) + 0.37) / points
			x := c.low + u*(c.high-c.low)
			if c.low > 0 && c.high/c.low > 1e3 {
				x = math.Exp(math.Log(c.low) + u*(math.Log(c.high)-math.Log(c.low)))
			}
			xs[i] = float32(x)
		}
		copy(xs, []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 1, -1})
		worst, at := 0.0, float32(0)
		for i, y := range apply(t, c.name, ptx.Options{}, xs) {
			if d := distance(y, c.f(float64(xs[i]))); d > worst {
				worst, at = d, xs[i]
			}
		}
		t.Logf("%s on [%g, %g]: %.2f units at %v", c.name, c.low, c.high, worst, at)
		if !(worst <= c.within) {
			t.Errorf("%s(%v) is off by %.2f units in the last place", c.name, at, worst)
		}
	}
}

// Fast maths computes the same functions, roughly; how roughly is up to the hardware.
func TestFastMath(t *testing.T) {
	xs := make([]float32, points)
	for i := range xs {
		xs[i] = 0.01 + 3*float32(i)/points
	}
	for _, c := range accuracy {
		for i, y := range apply(t, c.name, ptx.Options{FastMath: true}, xs) {
			if want := c.f(float64(xs[i])); math.Abs(float64(y)-want) > 1e-5*max(1, math.Abs(want)) {
				t.Fatalf("%s(%v) = %v, want %v", c.name, xs[i], y, want)
			}
		}
	}
}
