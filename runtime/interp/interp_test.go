package interp

import (
	"errors"
	"math"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/lang/source"
)

// eval builds a function of scalar parameters, runs it, and gives the value that build returned.
func eval(t *testing.T, params []ir.DType, args []Value, build func(b *ir.Builder, ps []*ir.Value) *ir.Value) (Value, error) {
	t.Helper()
	f := ir.NewFunc("f", ir.InCore, source.Span{})
	for _, dt := range params {
		f.AddParam("p", &ir.Scalar{DType: dt}, ir.In)
	}
	v := build(ir.NewBuilder(f, f.Body), f.Params())
	c := &Compiler{}
	code, err := c.Compile(f)
	if err != nil {
		t.Fatal(err)
	}
	fr := code.NewFrame(nil)
	for i, p := range f.Params() {
		fr.Vals[p.ID] = args[i]
	}
	err = Catch(func() { code.Exec(fr) })
	return fr.Vals[v.ID], err
}

func must(t *testing.T) func(v *ir.Value, err error) *ir.Value {
	return func(v *ir.Value, err error) *ir.Value {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestIntegersArePythons(t *testing.T) {
	for _, c := range []struct {
		k       *ir.Kind
		dt      ir.DType
		a, b, w int64
	}{
		{ir.FloorDivide, ir.INDEX, -7, 2, -4}, {ir.FloorDivide, ir.INDEX, 7, -2, -4}, {ir.Modulo, ir.INDEX, -7, 3, 2}, {ir.Modulo, ir.INDEX, 7, -3, -2},
		{ir.Add, ir.INT32, math.MaxInt32, 1, math.MinInt32}, {ir.Mul, ir.INT8, 100, 2, -56}, {ir.Sub, ir.INT64, math.MinInt64, 1, math.MaxInt64},
		{ir.FloorDivide, ir.INT32, math.MinInt32, -1, math.MinInt32}, {ir.ShiftLeft, ir.INT32, 1, 31, math.MinInt32}, {ir.ShiftRight, ir.INT32, -8, 1, -4},
		{ir.Minimum, ir.INT32, -3, 2, -3}, {ir.BitXor, ir.INT32, 6, 3, 5},
	} {
		got, err := eval(t, []ir.DType{c.dt, c.dt}, []Value{{I: c.a}, {I: c.b}}, func(b *ir.Builder, ps []*ir.Value) *ir.Value {
			return must(t)(b.Binary(c.k, ps[0], ps[1]))
		})
		if err != nil || got.I != c.w {
			t.Errorf("%s(%d, %d) on %s is %d, want %d (%v)", c.k.Name, c.a, c.b, c.dt, got.I, c.w, err)
		}
	}
}

func TestLoopsEndAtTheEndOfTheIntegers(t *testing.T) {
	const far = math.MaxInt64
	for _, c := range []struct{ start, stop, step, trips int64 }{
		{0, 7, 3, 3}, {7, 0, -3, 3}, {3, 3, 1, 0}, {4, 3, 1, 0}, {0, far, far/2 + 1, 2}, {far, -far, -far, 2}, {-far - 1, far, far, 3},
		{far - 1, far, 2, 1}, {0, -far - 1, -far - 1, 1},
	} {
		bounds := []Value{{I: c.start}, {I: c.stop}, {I: c.step}, {I: 0}}
		got, err := eval(t, []ir.DType{ir.INDEX, ir.INDEX, ir.INDEX, ir.INDEX}, bounds, func(b *ir.Builder, ps []*ir.Value) *ir.Value {
			loop, body := b.For("range", ps[0], ps[1], ps[2], ps[3])
			body.Yield(must(t)(body.Binary(ir.Add, body.Block.Args[1], ir.Index(1))))
			return loop.Results[0]
		})
		if err != nil || got.I != c.trips {
			t.Errorf("range(%d, %d, %d) has %d rounds, want %d (%v)", c.start, c.stop, c.step, got.I, c.trips, err)
		}
	}
}

func TestFloatsAreRoundedAtEachOp(t *testing.T) {
	third := float64(float32(1) / float32(3))
	got, _ := eval(t, []ir.DType{ir.FP32, ir.FP32}, []Value{{F: 1}, {F: 3}}, func(b *ir.Builder, ps []*ir.Value) *ir.Value {
		return must(t)(b.Binary(ir.Div, ps[0], ps[1]))
	})
	if got.F != third {
		t.Errorf("1/3 is %v, want %v", got.F, third)
	}
	got, _ = eval(t, []ir.DType{ir.FP16, ir.FP16}, []Value{{F: 2048}, {F: 1}}, func(b *ir.Builder, ps []*ir.Value) *ir.Value {
		return must(t)(b.Binary(ir.Add, ps[0], ps[1]))
	})
	if got.F != 2048 {
		t.Errorf("2048 + 1 in FP16 is %v", got.F)
	}
}

func TestFaultsNameTheOp(t *testing.T) {
	_, err := eval(t, []ir.DType{ir.INDEX, ir.INDEX}, []Value{{I: 5}, {I: 0}}, func(b *ir.Builder, ps []*ir.Value) *ir.Value {
		return must(t)(b.Binary(ir.Modulo, ps[0], ps[1]))
	})
	var f *Fault
	if !errors.As(err, &f) || f.Code != abi.DivZero || f.V[0] != 5 || f.Op.Kind != ir.Modulo {
		t.Errorf("got %v", err)
	}
}

// TestLoopsCarryValuesAllAtOnce computes a Fibonacci number: a, b = b, a + b.
func TestLoopsCarryValuesAllAtOnce(t *testing.T) {
	got, err := eval(t, []ir.DType{ir.INDEX}, []Value{{I: 30}}, func(b *ir.Builder, ps []*ir.Value) *ir.Value {
		op, body := b.For("range", ir.Index(0), ps[0], ir.Index(1), ir.Index(0), ir.Index(1))
		x, y := op.Regions[0].Args[1], op.Regions[0].Args[2]
		body.Yield(y, must(t)(body.Binary(ir.Add, x, y)))
		if err := b.Finish(op); err != nil {
			t.Fatal(err)
		}
		return op.Results[0]
	})
	if err != nil || got.I != 832040 {
		t.Errorf("got %d, %v", got.I, err)
	}
}

func TestLoopsCountDownAndNotAtAll(t *testing.T) {
	for _, c := range []struct{ start, stop, step, trips int64 }{{10, 0, -3, 4}, {0, 10, 3, 4}, {5, 5, 1, 0}, {0, 5, -1, 0}} {
		got, err := eval(t, []ir.DType{ir.INDEX, ir.INDEX, ir.INDEX}, []Value{{I: c.start}, {I: c.stop}, {I: c.step}}, func(b *ir.Builder, ps []*ir.Value) *ir.Value {
			op, body := b.For("range", ps[0], ps[1], ps[2], ir.Index(0))
			body.Yield(must(t)(body.Binary(ir.Add, op.Regions[0].Args[1], ir.Index(1))))
			if err := b.Finish(op); err != nil {
				t.Fatal(err)
			}
			return op.Results[0]
		})
		if err != nil || got.I != c.trips {
			t.Errorf("range(%d, %d, %d) runs %d times, want %d (%v)", c.start, c.stop, c.step, got.I, c.trips, err)
		}
	}
}

// TestWhileStopsAtItsCondition: the smallest power of two that is at least n.
func TestWhileStopsAtItsCondition(t *testing.T) {
	got, err := eval(t, []ir.DType{ir.INDEX}, []Value{{I: 1000}}, func(b *ir.Builder, ps []*ir.Value) *ir.Value {
		op, body := b.While(ir.Index(1))
		x := op.Regions[0].Args[0]
		body.Cond(must(t)(body.Compare("LT", x, ps[0])))
		body.Yield(must(t)(body.Binary(ir.Mul, x, ir.Index(2))))
		if err := b.Finish(op); err != nil {
			t.Fatal(err)
		}
		return op.Results[0]
	})
	if err != nil || got.I != 1024 {
		t.Errorf("got %d, %v", got.I, err)
	}
}

func TestSymbolsFollowFromShapes(t *testing.T) {
	f := ir.NewFunc("f", ir.InCore, source.Span{})
	n := ir.SymDim("N")
	f.AddParam("a", &ir.Tensor{Dims: []ir.Dim{n.Scale(2).Add(ir.ConstDim(1)), ir.ConstDim(3)}, DType: ir.FP32}, ir.In)
	f.AddParam("b", &ir.Tensor{Dims: []ir.Dim{n}, DType: ir.FP32}, ir.In)
	bind := NewBinder(f, []string{"M", "N"})
	if len(bind.Free) != 1 || bind.Free[0] != 0 {
		t.Fatalf("free: %v", bind.Free)
	}
	syms := []int64{7, 0}
	if bad := bind.BindSyms(syms, [][]int64{{9, 3}, {4}}); bad != nil || syms[1] != 4 {
		t.Errorf("got %v, %v", syms, bad)
	}
	if bad := bind.BindSyms(syms, [][]int64{{9, 3}, {5}}); bad == nil || bad.Param.Name != "b" || bad.Want != 4 {
		t.Errorf("got %v", bad)
	}
	if bad := bind.BindSyms(syms, [][]int64{{8, 3}, {3}}); bad == nil {
		t.Error("8 is not 2*N + 1")
	}
}

// A constant beside an FP16 is an FP16, as it is in generated code, where 0.1 is 0.0999755859375.
func TestConstantsTakeTheTypeOfTheOtherOperand(t *testing.T) {
	const tenth = 0.0999755859375
	tenthOf := func() *ir.Value { return ir.FloatValue(0.1, ir.FP32) }
	got, err := eval(t, []ir.DType{ir.FP16}, []Value{{F: 0.0001}}, func(b *ir.Builder, ps []*ir.Value) *ir.Value {
		return must(t)(b.Binary(ir.Sub, tenthOf(), ps[0]))
	})
	if want := RoundFloat(ir.FP16, tenth-0.0001); err != nil || got.F != want {
		t.Errorf("0.1 - 0.0001 on FP16 is %v, want %v (%v)", got.F, want, err)
	}
	got, err = eval(t, []ir.DType{ir.FP16}, []Value{{F: tenth}}, func(b *ir.Builder, ps []*ir.Value) *ir.Value {
		return must(t)(b.Compare("GE", ps[0], tenthOf()))
	})
	if err != nil || got.I != 1 {
		t.Errorf("FP16(0.1) >= 0.1 is %d, want 1 (%v)", got.I, err)
	}
}
