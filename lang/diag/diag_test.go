package diag_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

func TestExcerptsPointAtTheirText(t *testing.T) {
	f := source.NewFile("k.pl", "a = 1\r\n\t名 = foo(bar,\n  baz)\n")
	at := strings.Index(f.Text, "bar")
	var list diag.List
	list.Errorf(diag.UnexpectedToken, f.Span(at, at+13), "100%").
		Note(f.Span(0, 1), "first %s", "here").
		Note(source.Span{}, "no place").
		Help("do this").
		Fix(f.Span(at, at+3), "qux", "write qux")
	var b bytes.Buffer
	diag.Render(&b, &list, diag.Options{})
	want := `k.pl:2:10 error E0101: 100%
  |
2 |     名 = foo(bar,
  |              ^~~~
k.pl:1:1 note: first here
  |
1 | a = 1
  | ^
  = note: no place
  = help: do this
  = fix: write qux
  |
2 |     名 = foo(qux,
  |              +++
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	diag.Render(&b, &list, diag.Options{Color: true})
	plain := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(b.String(), "")
	if plain != want || plain == b.String() {
		t.Errorf("colours change more than colours:\n%s", b.String())
	}
}

func TestOfALongLineTheMarkedPartIsShown(t *testing.T) {
	long := strings.Repeat("名,", 5000)
	for _, c := range []struct{ line, marked, want, marks string }{
		{"f(bad, " + long + ")", "bad", "f(bad, 名", "  ^~~"},
		{"f(" + long + "bad, " + long + ")", "bad", "...名,", strings.Repeat(" ", 63) + "^~~"},
		{"f(" + long + "bad)", "bad", "...名,", strings.Repeat(" ", 63) + "^~~"},
		{"f(" + long + ")", long, "f(名", "  ^~~~~~"},
	} {
		f := source.NewFile("k.pl", c.line+"\n")
		at := strings.Index(f.Text, c.marked)
		var list diag.List
		list.Errorf(diag.UnexpectedToken, f.Span(at, at+len(c.marked)), "no")
		var b bytes.Buffer
		diag.Render(&b, &list, diag.Options{})
		lines := strings.Split(b.String(), "\n")
		text, marks := strings.TrimPrefix(lines[2], "1 | "), strings.TrimPrefix(lines[3], "  | ")
		if !strings.HasPrefix(text, c.want) || !strings.HasPrefix(marks, c.marks) || b.Len() > 1000 {
			t.Errorf("want %q and %q, got %d bytes:\n%s", c.want, c.marks, b.Len(), b.String())
		}
		if c.marked == "bad" && columnOf(text, "bad") != strings.Index(marks, "^") {
			t.Errorf("the mark misses:\n%s", b.String())
		}
	}
}

// columnOf says where on a terminal a part of a text starts.
func columnOf(text, part string) int {
	before, _, _ := strings.Cut(text, part)
	return uniseg.StringWidth(before)
}

func TestListIsSortedWithoutRepetitionsAndLimited(t *testing.T) {
	f := source.NewFile("k.pl", strings.Repeat("x\n", 50))
	var list diag.List
	for i := 29; i >= 0; i-- {
		list.Errorf(diag.BadCharacter, f.Span(2*i, 2*i+1), "no. %d", i)
		list.Errorf(diag.BadCharacter, f.Span(2*i, 2*i+1), "again")
	}
	list.Warnf(diag.BadNumber, source.Span{}, "nowhere")
	sorted := list.Sorted()
	if len(sorted) != 31 || sorted[0].Message != "nowhere" || sorted[1].Message != "no. 0" || sorted[30].Message != "no. 29" {
		t.Errorf("%d: %s", len(sorted), list.Error())
	}
	var b bytes.Buffer
	diag.Render(&b, &list, diag.Options{})
	if got := b.String(); strings.Count(got, "E0109") != 19 || !strings.HasSuffix(got, "and 11 more\n") {
		t.Errorf("%s", got)
	}
}

func TestWarningsAreNoErrors(t *testing.T) {
	var list diag.List
	list.Warnf(diag.BadNumber, source.Span{}, "x")
	if list.HasErrors() || list.Err() != nil || list.Len() != 1 {
		t.Error("a warning counts as an error")
	}
}

func TestJSONHoldsEverything(t *testing.T) {
	f := source.NewFile("k.pl", "x = é<y\n")
	var list diag.List
	list.Errorf(diag.BadCharacter, f.Span(6, 7), "<").Note(f.Span(0, 1), "n").Help("h").Fix(f.Span(6, 7), ">", "t")
	var b bytes.Buffer
	if err := diag.RenderJSON(&b, &list); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := `map[at:map[col:6 end:7 endCol:7 endLine:1 file:k.pl line:1 start:6] code:E0109 family:syntax fixes:[map[at:map[col:6 end:7 endCol:7 endLine:1 file:k.pl line:1 start:6] replacement:> text:t]] helps:[h] message:< notes:[map[at:map[col:1 end:1 endCol:2 endLine:1 file:k.pl line:1 start:0] text:n]] severity:error]`
	if s := fmt.Sprint(got[0]); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestEveryRowIsComplete(t *testing.T) {
	seen := map[diag.Code]bool{}
	for _, r := range diag.Rows() {
		if seen[r.Code] {
			t.Errorf("%s has two rows", r.Code)
		}
		seen[r.Code] = true
		if r.Title == "" || !strings.HasSuffix(r.Doc, ".") {
			t.Errorf("%s: a title and whole sentences, please", r.Code)
		}
		if r.Example != "" && !strings.Contains(r.Example, "# ERROR \"") && !strings.Contains(r.Example, "# WARNING \"") {
			t.Errorf("%s: the example does not say where its error is", r.Code)
		}
		if got, ok := diag.Lookup(strings.ToLower(r.Code.String())); !ok || got.Code != r.Code {
			t.Errorf("%s is not found", r.Code)
		}
	}
	for _, name := range []string{"", "E", "E9999", "x101"} {
		if _, ok := diag.Lookup(name); ok {
			t.Errorf("%q is found", name)
		}
	}
}

func TestNearest(t *testing.T) {
	ops := []string{"allreduce", "allgather", "add", "load", "store", "sub", "FP32", "range", "n"}
	for name, want := range map[string]string{
		"alreduce": "allreduce", "allgahter": "allgather", "laod": "load", "fp32": "FP32", "ragne": "range",
		"x": "", "N": "n", "ad": "", "addd": "add", "completely": "", "store": "",
	} {
		if got := diag.Nearest(name, ops); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestFixesAreApplied(t *testing.T) {
	f := source.NewFile("k.pl", "abcdef")
	got := diag.Apply(f, []diag.Fix{{At: f.Span(4, 6), New: "X"}, {At: f.Span(1, 2), New: ""}, {At: f.Span(0, 0), New: ">"}, {At: f.Span(5, 6), New: "no"}})
	if got != ">acdX" {
		t.Errorf("got %q", got)
	}
}

func TestThePageOfErrorsIsUpToDate(t *testing.T) {
	text, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != diag.Page() {
		t.Error("docs/errors.md is old: run make generate")
	}
}

func TestNamesAreListedUpToAPoint(t *testing.T) {
	many := make([]string, 2000)
	for i := range many {
		many[i] = string(rune('a' + i%26))
	}
	for want, names := range map[string][]string{"none": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"},
		"a, b, c, d, e, f, g, h, i, j, k and l":         many[:12],
		"a, b, c, d, e, f, g, h, i, j, k and 1989 more": many} {
		if got := diag.Listed(names); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
