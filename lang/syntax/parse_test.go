package syntax

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/diag/diagtest"
	"ptoc/lang/source"
)

func parseString(t testing.TB, name, text string) *File {
	t.Helper()
	var list diag.List
	f := Parse(source.NewFile(name, text), ModeFor(name), &list)
	if list.Len() > 0 {
		t.Fatalf("%s\n%s", list.Error(), text)
	}
	return f
}

func TestEveryExampleOfASyntaxCodeFiresIt(t *testing.T) {
	for _, row := range diag.Rows() {
		if row.Code.Family() != "syntax" || row.Example == "" {
			continue
		}
		t.Run(row.Code.String(), func(t *testing.T) {
			f := source.NewFile("example.pl", row.Example)
			var list diag.List
			Parse(f, Strict, &list)
			diagtest.Check(t, f, &list)
			for _, d := range list.Sorted() {
				if d.Code != row.Code {
					t.Errorf("fires %s too", d.Code)
				}
			}
		})
	}
}

func TestErrorsStandWhereTheProgramSays(t *testing.T) {
	files, _ := filepath.Glob("testdata/errors/*")
	if len(files) == 0 {
		t.Fatal("no files")
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f := source.NewFile(name, string(text))
			var list diag.List
			Parse(f, ModeFor(name), &list)
			diagtest.Check(t, f, &list)
		})
	}
}

// sexpr tests look at the shape of expressions: everything is printed with its brackets.
func TestOperatorsBindAsInPython(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"a + b * c", "(a + (b * c))"},
		{"a - b - c", "((a - b) - c)"},
		{"a ** b ** c", "(a ** (b ** c))"},
		{"-a ** b", "(- (a ** b))"},
		{"a ** -b", "(a ** (- b))"},
		{"-a * b", "((- a) * b)"},
		{"not a == b", "(not (a == b))"},
		{"not a and b or c", "(((not a) and b) or c)"},
		{"a or b and c", "(a or (b and c))"},
		{"a < b <= c", "(a < b <= c)"},
		{"a < b == c not in d is not e", "(a < b == c not in d is not e)"},
		{"a | b ^ c & d << e", "(a | (b ^ (c & (d << e))))"},
		{"a if b else c if d else e", "(a if b else (c if d else e))"},
		{"a if b or c else d", "(a if (b or c) else d)"},
		{"a // b % c", "((a // b) % c)"},
		{"a @ b", "(a @ b)"},
		{"~a & b", "((~ a) & b)"},
		{"- - a", "(- (- a))"},
		{"a.b[c](d).e", "(((a.b)[c])(d).e)"},
		{"f(a, b=c + d)", "f(a, b=(c + d))"},
		{"a[1:2, :, ::3, i]", "(a[1:2, :, ::3, i])"},
		{"x[:]", "(x[:])"},
		{"-5", "(- 5)"},
		{"-5 .x", "(- (5.x))"},
		{"not a in b", "(not (a in b))"},
		{"a, b", "(a, b)"},
		{"()", "()"},
		{"(a,)", "(a,)"},
		{"[a, [b]]", "[a, [b]]"},
		{"{a: b, 'c': d}", "{a: b, \"c\": d}"},
		{"-9223372036854775808", "(- -9223372036854775808)"},
		{"0x_ff + 1_000 + 0b11 + 0o17", "(((255 + 1000) + 3) + 15)"},
		{"'a' \"b\" r'\\n'", `"ab\\n"`},
		{"'\\x41\\u00e9\\n\\q'", `"Aé\n\\q"`},
		{"1. + .5 + 1e3 + 1_0.5E-2", "(((1 + 0.5) + 1000) + 0.105)"},
	} {
		f := parseString(t, "x.pl", tc.in+"\n")
		if got := sexpr(f.Stmts[0].(*ExprStmt).X); got != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.in, got, tc.want)
		}
	}
}

func TestSpansCoverExactlyTheirText(t *testing.T) {
	text := `
@pl.jit.incore
def f(x: pl.Tensor[[1, N], pl.FP32] = None,
      *, y: int = 3) -> (a, b):  # c
    "doc"
    for i, (a, b) in pl.range(n, init_values=(x, y)):
        z = w = x[i].foo(a, k=-b ** 2)  # c
        if i == 1: break
        elif j:
            continue
        else:
            pass
    with pl.at(level=1) as tid, pl.scope():
        q: pl.Scalar = a if b else (c)
        q += 1; r, s = s, r
    while not x:
        assert x, "no"
    return a, b

`
	f := parseString(t, "x.pl", text)
	fn := f.Stmts[0].(*FuncDef)
	expectText := func(n Node, want string) {
		t.Helper()
		if got := n.Span().Text(); got != want {
			t.Errorf("%T spans %q, want %q", n, got, want)
		}
	}
	expectText(fn, strings.TrimSpace(text))
	expectText(fn.Decorators[0], "pl.jit.incore")
	expectText(&fn.Name, "f")
	expectText(fn.Params[0], "x: pl.Tensor[[1, N], pl.FP32] = None")
	expectText(fn.Params[2], "y: int = 3")
	expectText(fn.Result, "(a, b)")
	body := fn.Body.Stmts
	loop := body[1].(*For)
	expectText(loop.Target, "i, (a, b)")
	expectText(loop.Iter, "pl.range(n, init_values=(x, y))")
	assign := loop.Body.Stmts[0].(*Assign)
	expectText(assign, "z = w = x[i].foo(a, k=-b ** 2)")
	call := assign.Value.(*Call)
	expectText(call, "x[i].foo(a, k=-b ** 2)")
	expectText(call.Fn, "x[i].foo")
	expectText(call.Keywords[0], "k=-b ** 2")
	expectText(loop.Body.Stmts[1], "if i == 1: break\n        elif j:\n            continue\n        else:\n            pass")
	with := body[2].(*With)
	expectText(with.Items[0], "pl.at(level=1) as tid")
	expectText(with.Items[1], "pl.scope()")
	expectText(with.Body.Stmts[0], "q: pl.Scalar = a if b else (c)")
	expectText(with.Body.Stmts[1], "q += 1")
	expectText(with.Body.Stmts[2], "r, s = s, r")
	expectText(body[4], "return a, b")
	if len(f.Comments) != 2 {
		t.Errorf("%d comments", len(f.Comments))
	}
}

func TestLineEndsAndByteOrderMarkDoNotMatter(t *testing.T) {
	plain := "def f():\n    x = (1 +\n      2)\n\n    # c\n    y = 1 + \\\n  3\n    return x"
	want := dump(parseString(t, "x.pl", plain))
	for _, text := range []string{
		plain + "\n", plain + "\n\n  \n", "\ufeff" + plain, strings.ReplaceAll(plain, "\n", "\r\n"),
		strings.ReplaceAll(plain, "\n", "\r"), plain + "  # end", "\f" + plain,
		strings.ReplaceAll(plain, "    ", "\t"),
	} {
		if got := dump(parseString(t, "x.pl", text)); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestAFileThatCannotBeUnderstoodIsOneError(t *testing.T) {
	deep := ""
	for i := range 200 {
		deep += strings.Repeat(" ", i) + "if x:\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"binary": {"\x7fELF\x02\x01\x00\x00$$$\xff\xfe", "E0109.*zero byte"},
		"latin":  {"x = 1\ny = \xe4 + $\n", "2:5 error E0109: the byte 0xe4 is not UTF-8"},
		"utf-16": {"\xff\xfei\x00m\x00p\x00", "1:1 error E0109(?s:.*)save it as UTF-8"},
		"deep":   {deep + strings.Repeat(" ", 200) + "pass\n", "E0118.*100 deep"},
	} {
		for _, mode := range []Mode{Strict, Lenient} {
			var list diag.List
			Parse(source.NewFile("x.pl", c.text), mode, &list)
			var b strings.Builder
			diag.Render(&b, &list, diag.Options{})
			if ok, _ := regexp.MatchString(c.want, b.String()); !ok || list.Len() != 1 {
				t.Errorf("%s: want one error, %s; got %d:\n%s", name, c.want, list.Len(), b.String())
			}
		}
	}
}

func TestLenientFilesKeepWhatKernelsNeed(t *testing.T) {
	f := parseString(t, "host.py", `
import os, sys
import pypto.language as L
from x import (a as b,
               c)
N = 128
M: int = N * 2
DATA = [i for i in range(N)]
print("x", *N)
assert N == 128
try:
    import torch
except ImportError:
    torch = None
class Helper:
    def f(self): raise ValueError(self)
@dataclass
class D:
    x: int = field(default_factory=lambda: 3)
def host(n):
    return [x for x in n if x := 3]
async def g(): await x
@L.jit.incore
def kernel(x: L.Tensor[[N], L.FP32]):
    return x
def make(n):
    if n < 1:
        raise ValueError(f"bad {n}")
    sizes = [k for k in range(n)]
    try:
        pass
    finally:
        pass
    @pl.program
    class Ring:
        @pl.function
        def main(self):
            pass
    return Ring
if __name__ == "__main__":
    with open("x") as f: f.write(b"x" ** {1, 2})
match N:
    case 1: pass
`)
	var got []string
	for _, s := range f.Stmts {
		switch s := s.(type) {
		case *FuncDef:
			got = append(got, s.Name.Text)
		case *ClassDef:
			got = append(got, s.Name.Text)
		case *Assign:
			got = append(got, Dotted(s.Targets[0]))
		case *AnnAssign:
			got = append(got, Dotted(s.Target))
		default:
			got = append(got, strings.TrimPrefix(strings.TrimPrefix(typeName(s), "*"), "syntax."))
		}
	}
	want := "Import Import FromImport N M kernel make"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("kept %s\nwant %s", s, want)
	}
}
