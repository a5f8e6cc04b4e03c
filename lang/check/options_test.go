package check

import (
	"context"
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

const optionsProgram = `import pypto.language as pl
N = pl.dynamic("N")
SIZE = 8
SCALE = 0.5
KIND = pl.FP32
NAME = "a"

@pl.jit.incore
def f(x: pl.Tensor[[N, SIZE], KIND], y: pl.Out[pl.Tensor[[N, SIZE], KIND]]):
    y[:] = x * SCALE
`

// What follows from a missing argument is no error of its own.
const derivedProgram = `import pypto.language as pl

def make(n):
    m = n * 2
    @pl.jit.incore
    def f(x: pl.Tensor[[n, m], pl.FP32]):
        pass
`

const factoryProgram = `import pypto.language as pl

def make(n, dtype=pl.FP32, deep: bool = False):
    m = n * 2
    if deep:
        m = m + 1
    @pl.jit.incore
    def f(x: pl.Tensor[[n, m], dtype]):
        pass
    return f

def broken(n):
    return n

def choose(n):
    if n == 1:
        @pl.program
        class One:
            @pl.function(type=pl.FunctionType.InCore)
            def k(self, x: pl.Tensor[[1], pl.FP32]):
                pass
        return One
    @pl.program
    class Many:
        @pl.function(type=pl.FunctionType.InCore)
        def k(self, x: pl.Tensor[[n], pl.FP32]):
            pass
    return Many

def twice(n):
    return again(n * 2)

def again(n):
    return choose(n // 2)

def loops(n):
    if n < 0:
        @pl.jit.incore
        def never(x: pl.Tensor[[1], pl.FP32]):
            pass
    return loops(n)

@pl.program
class A:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[4], pl.FP32]):
        pass

@pl.program
class B:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[5], pl.FP32]):
        pass
`

func TestOptions(t *testing.T) {
	set := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i+1 < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	for _, c := range []struct {
		name, text string
		opts       Options
		want       string // the first parameter's type, or the error
	}{
		{"no options", optionsProgram, Options{}, "pl.Tensor[[N, 8], pl.FP32]"},
		{"constant", optionsProgram, Options{Defines: set("SIZE", "4 * 3")}, "pl.Tensor[[N, 12], pl.FP32]"},
		{"symbol", optionsProgram, Options{Defines: set("N", "5")}, "pl.Tensor[[5, 8], pl.FP32]"},
		{"dtype", optionsProgram, Options{Defines: set("KIND", "pl.FP16")}, "pl.Tensor[[N, 8], pl.FP16]"},
		{"float from int", optionsProgram, Options{Defines: set("SCALE", "2")}, "pl.Tensor[[N, 8], pl.FP32]"},
		{"unknown", optionsProgram, Options{Defines: set("SIZ", "4")}, "E0216: -D SIZ: the program has no constant of that name"},
		{"wrong kind", optionsProgram, Options{Defines: set("SIZE", "pl.FP32")}, "E0217: -D SIZE=pl.FP32 replaces the number 8 by the element type FP32"},
		{"float for int", optionsProgram, Options{Defines: set("SIZE", "1.5")}, "E0217: -D SIZE=1.5 replaces the number 8 by the number 1.5"},
		{"not a constant", optionsProgram, Options{Defines: set("SIZE", "3 +")}, "E0217: -D SIZE=3 +: expected an expression, found the end of the line"},
		{"unknown entry", optionsProgram, Options{Entry: "g"}, "E0218: the program has no function or class g to enter"},
		{"kernel as entry", optionsProgram, Options{Entry: "f"}, "pl.Tensor[[N, 8], pl.FP32]"},
		{"factory", factoryProgram, Options{Entry: "make", Set: set("n", "3")}, "pl.Tensor[[3, 6], pl.FP32]"},
		{"factory with branch", factoryProgram, Options{Entry: "make", Set: set("n", "3", "deep", "True", "dtype", "pl.FP16")}, "pl.Tensor[[3, 7], pl.FP16]"},
		{"factory that returns early", factoryProgram, Options{Entry: "choose", Set: set("n", "1")}, "pl.Tensor[[1], pl.FP32]"},
		{"factory that returns late", factoryProgram, Options{Entry: "choose", Set: set("n", "2")}, "pl.Tensor[[2], pl.FP32]"},
		{"factory that returns another one's", factoryProgram, Options{Entry: "again", Set: set("n", "6")}, "pl.Tensor[[3], pl.FP32]"},
		{"factory that returns what a later one returns", factoryProgram, Options{Entry: "twice", Set: set("n", "6")}, "pl.Tensor[[6], pl.FP32]"},
		{"factory that calls itself", factoryProgram, Options{Entry: "loops", Set: set("n", "6")}, "E0219: loops defines no kernels"},
		{"missing argument", factoryProgram, Options{Entry: "make"}, "E0208: make needs a value for n"},
		{"missing argument, said once", derivedProgram, Options{Entry: "make"}, "E0208: make needs a value for n"},
		{"unknown argument", factoryProgram, Options{Entry: "make", Set: set("n", "3", "depp", "True")}, "E0216: --set depp: make has no parameter of that name"},
		{"class", factoryProgram, Options{Entry: "B"}, "pl.Tensor[[5], pl.FP32]"},
		{"no kernels", "import numpy as np\nX = np.zeros(3)\n", Options{}, "E0219: options.py defines no kernels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _, list := checkText("options.py", c.text, c.opts)
			got := ""
			if list.HasErrors() {
				d := list.Sorted()[0]
				if list.Len() > 1 {
					t.Errorf("%d messages", list.Len())
				}
				got = d.Code.String() + ": " + d.Message
			} else {
				got = m.Funcs[0].Params()[0].Type.String()
				if len(m.Funcs) != 1 && c.text == factoryProgram {
					t.Errorf("%d functions", len(m.Funcs))
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAPanicIsAnInternalError(t *testing.T) {
	var list diag.List
	c := newChecker(&list)
	c.guard(source.Span{}, func() { panic("no such luck") })
	if d := list.Sorted(); len(d) != 1 || d[0].Code != diag.Internal || !strings.Contains(d[0].Message, "no such luck") {
		t.Errorf("%v", list.Err())
	}
}

func TestCheckingEndsWhereItsContextDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var list diag.List
	f := source.NewFile("x.pl", "@pl.jit.incore\ndef f(x: pl.Tensor[[4], pl.FP32]):\n    nonsense\n")
	File(syntax.Parse(f, syntax.Strict, &list), Options{Context: ctx}, &list)
	if d := list.Sorted(); len(d) != 1 || d[0].Code != diag.Interrupted {
		t.Errorf("%v", list.Err())
	}
}

func TestAnInstanceOfALibraryFunctionIsMadeOnce(t *testing.T) {
	const text = `T = pl.dtype_var("T")
N = pl.dynamic("N")

@pl.jit.inline
def inner(x: pl.Tile[[1, N], T], times: pl.Const[int]):
    return x * times

@pl.jit.inline
def outer(x: pl.Tensor[[1, N], T], y: pl.Out[pl.Tensor[[1, N], T]], op: pl.Const[pld.ReduceOp]):
    if op == pld.ReduceOp.Sum:
        y[:] = inner(x, 2)
    else:
        y[:] = inner(x, 3)
`
	var list diag.List
	tree := syntax.Parse(source.NewFile("lib.pl", text), syntax.Strict, &list)
	lib := NewLibrary([]*syntax.File{tree}, &list)
	if list.HasErrors() {
		t.Fatal(list.Err())
	}
	m := &ir.Module{}
	row := &ir.Tensor{Dims: []ir.Dim{ir.ConstDim(1), ir.SymDim("K")}, DType: ir.FP16}
	get := func(m *ir.Module, op string) *ir.Func {
		f, err := lib.Instantiate("outer", []ir.Type{row, row}, map[string]any{"op": ir.ReduceOp.Of(op)}, m)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b, c := get(m, "Sum"), get(m, "Sum"), get(m, "Max")
	if a != b || a == c {
		t.Error("equal bindings share a function, different ones do not")
	}
	var names []string
	for _, f := range m.Funcs {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "inner__FP16_2 outer__FP16_Sum inner__FP16_3 outer__FP16_Max" {
		t.Errorf("callees come first: %s", got)
	}
	if strings.Join(m.Syms, " ") != "N" {
		t.Errorf("symbols %v", m.Syms)
	}
	other := &ir.Module{}
	if get(other, "Sum") == a {
		t.Error("another module gets its own function")
	}
	if _, err := lib.Instantiate("outter", nil, nil, m); err == nil {
		t.Error("unknown functions are an error")
	}
	if _, err := lib.Instantiate("outer", []ir.Type{row, &ir.Tensor{Dims: row.Dims, DType: ir.FP32}}, map[string]any{"op": ir.ReduceOp.Of("Sum")}, m); err == nil {
		t.Error("element types must agree")
	}
}
