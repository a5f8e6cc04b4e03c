package syntax

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// seeds adds every program of testdata.
func seeds(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.pl")
	more, _ := filepath.Glob("testdata/errors/*")
	for _, name := range append(files, more...) {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	archives, _ := filepath.Glob("testdata/format/*.txtar")
	for _, name := range archives {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(ar.Files[0].Data))
	}
	for _, text := range []string{
		"\x00", "(", ")", "if", "def", "@", "x =", "x\n y\n  z\n q\n", "\t x\n\ty\n", "'''", "f'", "\\", "\\\n",
		"if x:\nelse:\n elif y", "@a\n@b\n", "class C(:\n  def", "lambda:lambda", "for x in y: z; w", "x[a:b:c,]", "x[::",
		"{a:b for", "f(a=b, *c, **d", "1.e5.x", "0x", "a if b", "not", "- - -", "x: y = z", "a = b = (c, d) = e", "[[[[[[[",
		"def f(*, a, **b) -> c: ...", "match x:\n case y:\n  z", "import a.b as c, d", "from . import (a as b, c,)", "async", "a\r\rb",
		"if a: b # c\n  # d\nelse: # e\n  f\n # g\n", "x = (a # b\n)\n", "x = [ # a\n]\n", "f(a # b\n, # c\n)\n",
	} {
		f.Add(text)
	}
}

// FuzzParse: any text gives a tree or errors, in both modes; every place is inside the file, and what is
// inside a statement is inside its place.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, mode := range []Mode{Strict, Lenient} {
			src := source.NewFile("fuzz.pl", text)
			var list diag.List
			tree := Parse(src, mode, &list)
			checkPlaces(t, src, tree.Stmts, src.Span(0, len(text)), !list.HasErrors() && mode == Strict)
			for _, d := range list.Sorted() {
				if d.At.File != src || d.At.Start < 0 || d.At.Start > d.At.End || int(d.At.End) > len(text) {
					t.Fatalf("an error is outside the file: %v", d)
				}
				if d.Code == diag.Internal {
					t.Fatalf("%v", d.Error())
				}
			}
			diag.Render(discard{}, &list, diag.Options{})
		}
	})
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// checkPlaces holds statements against the place that they should stand in, one after the other.
func checkPlaces(t *testing.T, src *source.File, list []Stmt, outer source.Span, strict bool) {
	last := outer.Start
	for _, s := range list {
		at := s.Span()
		if at.File != src || at.Start > at.End || int(at.End) > len(src.Text) {
			t.Fatalf("%T stands at %d-%d", s, at.Start, at.End)
		}
		if strict && (at.Start < last || at.End > outer.End) {
			t.Fatalf("%T at %d-%d is not between %d and %d", s, at.Start, at.End, last, outer.End)
		}
		last = at.End
		for _, b := range blocksOf(s) {
			checkPlaces(t, src, b.Stmts, at, strict)
		}
	}
}

func blocksOf(s Stmt) []*Block {
	switch s := s.(type) {
	case *If:
		out := []*Block{&s.Body}
		for _, e := range s.Elifs {
			out = append(out, &e.Body)
		}
		if s.Else != nil {
			out = append(out, s.Else)
		}
		return out
	case *While:
		return []*Block{&s.Body}
	case *For:
		return []*Block{&s.Body}
	case *With:
		return []*Block{&s.Body}
	case *FuncDef:
		return []*Block{&s.Body}
	case *ClassDef:
		return []*Block{&s.Body}
	}
	return nil
}

// FuzzFormat: formatting a program twice is formatting it once, and keeps its tree and its comments.
func FuzzFormat(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		var list diag.List
		out := FormatSource(source.NewFile("fuzz.pl", text), &list)
		if list.HasErrors() {
			return
		}
		checkFormatted(t, text, out)
	})
}
