package ir

import (
	"math"
	"strings"
	"testing"

	"ptoc/lang/source"
)

var none = source.Span{}

// kernel makes a function to build in: x, y memory, n a size.
func kernel(kind FuncKind) (*Func, *Builder) {
	f := NewFunc("step", kind, none)
	dims := []Dim{SymDim("NR"), ConstDim(64)}
	f.AddParam("x", &Tensor{Dims: dims, DType: FP32}, In)
	f.AddParam("y", &Tensor{Dims: dims, DType: FP32}, Out)
	f.AddParam("n", &Scalar{INDEX}, In)
	return f, NewBuilder(f, f.Body)
}

func val(t *testing.T) func(v *Value, err error) *Value {
	return func(v *Value, err error) *Value {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestPrintShowsEveryConstructInTheSurfaceSyntax(t *testing.T) {
	f, b := kernel(InCore)
	v := val(t)
	x, y, n := f.Params()[0], f.Params()[1], f.Params()[2]
	tile := b.Add(Load).Set("tensor", x).Set("offsets", Index(0), Index(0)).Set("shape", Index(1), Index(64)).
		Set("valid_shape", Index(1), n).Name("t").Must().Result()
	sum := v(b.Binary(Add, n, DimValue(SymDim("NR").Scale(2).Add(ConstDim(1)))))
	c := v(b.Compare("LE", sum, Index(-3)))
	op, then, els := b.If(c)
	then.Yield(tile)
	els.Yield(v(els.Binary(Mul, tile, FloatValue(0.1, FP32))))
	if err := b.Finish(op, "u"); err != nil {
		t.Fatal(err)
	}
	loop, body := b.For("pipeline", Index(0), n, Index(1), op.Result())
	loop.SetAttr("stage", int64(2))
	body.Yield(v(body.Binary(Sub, body.Block.Args[1], FloatValue(math.Inf(-1), FP32))))
	w, wb := b.While()
	_ = w
	wb.Cond(BoolValue(true))
	b.For("spmd", Index(0), n, Index(1))
	fu, fb := b.Fused([]*Value{loop.Result()}, []*Value{y}, []*Value{Index(1), Index(64)})
	s := v(fb.Binary(Maximum, fb.Block.Args[0], FloatValue(-2, FP32)))
	fb.Yield(s, s)
	if err := b.Finish(fu, "r"); err != nil {
		t.Fatal(err)
	}
	b.Add(Write).Set("tensor", y).Set("indices", Index(0), n).Set("value", TypedInt(3, INT32)).Must()
	b.Return(y)
	want := `@pl.jit.incore
def step(x: pl.Tensor[[NR, 64], pl.FP32], y: pl.Out[pl.Tensor[[NR, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    t = pl.load(x, [0, 0], [1, 64], valid_shape=[1, n])
    v = n + (NR * 2 + 1)
    v_1 = v <= (-3)
    if v_1:
        u = pl.yield_(t)
    else:
        v_2 = t * 0.1
        u = pl.yield_(v_2)
    for i, (u_1,) in pl.pipeline(n, init_values=(u,), stage=2):
        v_3 = u_1 - pl.const("-inf", pl.FP32)
        u_2 = pl.yield_(v_3)
    for _ in pl.while_():
        pl.cond(True)
    for i_1 in pl.spmd(n):
        pass
    for (u_3,) in pl.fused(ins=(u_2,), outs=(y,), shape=[1, 64]):
        v_4 = pl.max(u_3, -2.0)
        r = pl.yield_(v_4, v_4)
    pl.write(y, [0, n], pl.const(3, pl.INT32))
    return y
`
	if got := PrintFunc(f); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestNamesAreValidUniqueAndStable(t *testing.T) {
	f, b := kernel(InCore)
	for _, hint := range []string{"t", "t", "for", "a b", "x", "NR", "step", "t_1", "", "9"} {
		b.Add(Rank0).Name(hint).Must()
	}
	lines := strings.Split(PrintFunc(f), "\n")
	var names []string
	for _, l := range lines[2 : len(lines)-1] {
		name, _, _ := strings.Cut(strings.TrimSpace(l), " = ")
		names = append(names, name)
	}
	if got, want := strings.Join(names, " "), "t t_1 for_1 a_b x_1 NR_1 step_1 t_2 v _9"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Rank0 is an op without operands, for tests.
var Rank0 = BlockIdx

func TestFloatConstantsPrintShortAndExact(t *testing.T) {
	for f, want := range map[float64]string{0.1: "0.1", 1: "1.0", 1e30: "1e+30", 16777216: "1.6777216e+07", math.Copysign(0, -1): "-0.0", math.MaxFloat32: "3.4028235e+38"} {
		c := FloatValue(f, FP32)
		if got := floatText(c.Const.F); got != want {
			t.Errorf("%v prints as %s, want %s", f, got, want)
		}
	}
}
