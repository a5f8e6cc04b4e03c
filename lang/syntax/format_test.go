package syntax

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

var update = flag.Bool("update", false, "rewrite the expected parts of testdata")

func format(t testing.TB, text string) string {
	t.Helper()
	var list diag.List
	out := FormatSource(source.NewFile("x.pl", text), &list)
	if list.HasErrors() {
		t.Fatalf("%s\n%s", list.Error(), text)
	}
	return out
}

// checkFormatted holds what must be true of any formatted text.
func checkFormatted(t testing.TB, text, out string) {
	t.Helper()
	if again := format(t, out); again != out {
		t.Errorf("formatting twice changes it again:\n%s", cmp.Diff(out, again))
	}
	before, after := parseString(t, "x.pl", text), parseString(t, "x.pl", out)
	if a, b := dump(before), dump(after); a != b {
		t.Errorf("formatting changes the program:\n%s\n%s\n%s", out, a, b)
	}
	if a, b := sortedComments(before), sortedComments(after); a != b {
		t.Errorf("formatting changes the comments:\n%s", cmp.Diff(a, b))
	}
	for _, line := range strings.Split(out, "\n") {
		if strings.TrimRight(line, " ") != line && !strings.Contains(out, `"""`) {
			t.Errorf("space at the end of %q", line)
		}
	}
}

func TestFormat(t *testing.T) {
	files, _ := filepath.Glob("testdata/format/*.txtar")
	if len(files) == 0 {
		t.Fatal("no files")
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in := string(ar.Files[0].Data)
			got := format(t, in)
			checkFormatted(t, in, got)
			if *update {
				ar.Files = append(ar.Files[:1], txtar.File{Name: "out.pl", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(ar.Files[1].Data), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLibraryAndTestKernelsKeepTheirMeaningWhenFormatted(t *testing.T) {
	files, _ := filepath.Glob("../../stdlib/*/*.pl")
	more, _ := filepath.Glob("../../examples/*.pl")
	for _, name := range append(append(files, more...), "testdata/kernels.pl") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		checkFormatted(t, string(text), format(t, string(text)))
	}
}

func TestFormattingLeavesTheTestKernelAlone(t *testing.T) {
	text, err := os.ReadFile("testdata/kernels.pl")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), format(t, string(text))); diff != "" {
		t.Errorf("-file +formatted:\n%s", diff)
	}
}

// Trees made by hand have no text to copy from.
// A formatter that takes quadratic time does not come back from these.
func TestLongLinesAreFormattedInLinearTime(t *testing.T) {
	const n = 20000
	for name, line := range map[string]string{
		"calls":      "x = 1" + strings.Repeat(" + f(y)", n),
		"attributes": "x = y" + strings.Repeat(".a", n),
		"subscripts": "x = y" + strings.Repeat("[0]", n),
		"arguments":  "f(" + strings.Repeat("1, ", n) + "1)",
	} {
		t.Run(name, func(t *testing.T) {
			text := "def g():\n    " + line + "\n"
			start := time.Now()
			out := format(t, text)
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("%d bytes took %v", len(text), d)
			}
			if format(t, out) != out {
				t.Error("formatting twice changes it again")
			}
		})
	}
}

func TestTreesMadeByHandGetTheParenthesesTheyNeed(t *testing.T) {
	a, b := &Name{Text: "a"}, &Name{Text: "b"}
	sum := &Binary{Op: Add, X: a, Y: b}
	for _, tc := range []struct {
		x    Expr
		want string
	}{
		{&Binary{Op: Mul, X: sum, Y: sum}, "(a + b) * (a + b)"},
		{&Binary{Op: Sub, X: sum, Y: sum}, "a + b - (a + b)"},
		{&Binary{Op: Pow, X: &Unary{Op: Neg, X: a}, Y: &Unary{Op: Neg, X: b}}, "(-a) ** -b"},
		{&Attr{X: sum, Sel: Name{Text: "c"}}, "(a + b).c"},
		{&Attr{X: &Int{Value: 5}, Sel: Name{Text: "c"}}, "5 .c"},
		{&Attr{X: &Int{Value: -5}, Sel: Name{Text: "c"}}, "(-5) .c"},
		{&Unary{Op: Not, X: &Compare{X: a, Ops: []Op{NotIn}, Rest: []Expr{b}}}, "not a not in b"},
		{&Unary{Op: Neg, X: sum}, "-(a + b)"},
		{&Call{Fn: a, Args: []Expr{&Tuple{Elts: []Expr{a, b}}, &Cond{Then: a, If: b, Else: a}}}, "a((a, b), a if b else a)"},
		{&Cond{Then: &Cond{Then: a, If: b, Else: a}, If: b, Else: a}, "(a if b else a) if b else a"},
		{&Compare{X: &Compare{X: a, Ops: []Op{Lt}, Rest: []Expr{b}}, Ops: []Op{Eq}, Rest: []Expr{a}}, "(a < b) == a"},
		{&Index{X: a, Items: []Expr{&Slice{Lo: sum}, &Slice{Hi: b}, &Slice{}}}, "a[a + b :, :b, :]"},
		{&Str{Value: "a\"\\\n\x01é"}, `"a\"\\\n\x01é"`},
		{&Float{Value: 1}, "1.0"},
		{&Float{Value: 1e300}, "1e+300"},
		{&Dict{Keys: []Expr{a}, Values: []Expr{sum}}, "{a: a + b}"},
	} {
		got := FormatExpr(tc.x)
		if got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
		parseString(t, "x.pl", got+"\n")
	}
	fn := &FuncDef{Name: Name{Text: "f"}, Decorators: []*Decorator{{X: a}}, Body: Block{Stmts: []Stmt{
		&If{Cond: a, Body: Block{Stmts: []Stmt{&Pass{}}}, Else: &Block{Stmts: []Stmt{&Return{Value: a}}}},
		&While{Cond: a},
	}}}
	want := "@a\ndef f():\n    if a:\n        pass\n    else:\n        return a\n    while a:\n        pass\n"
	if got := FormatStmt(fn); got != want {
		t.Errorf("got\n%s", got)
	}
}
