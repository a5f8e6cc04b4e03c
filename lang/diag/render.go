package diag

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/fatih/color"
	"github.com/mattn/go-isatty"
	"github.com/rivo/uniseg"

	"ptoc/lang/source"
)

// DefaultLimit is how many diagnostics are printed before "and N more".
const DefaultLimit = 20

// Options say how diagnostics are printed.
type Options struct {
	Color bool
	Limit int // 0 means DefaultLimit, a negative one no limit
}

// Print writes a list for people, in colour where w is a terminal and NO_COLOR is not set.
func Print(w io.Writer, l *List) {
	f, ok := w.(*os.File)
	_, noColor := os.LookupEnv("NO_COLOR")
	Render(w, l, Options{Color: ok && !noColor && isatty.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"})
}

// Render writes a list for people:
//
//	kernel.pl:3:9 error E0106: "(" is never closed
//	  |
//	3 |     x = (1 + 2
//	  |         ^
//	  = note: the statement seems to end here
//	  = fix: close it
//	  |
//	3 |     x = (1 + 2)
//	  |               +
func Render(w io.Writer, l *List, opt Options) {
	limit := opt.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	all := l.Sorted()
	r := newRenderer(opt.Color)
	for i, d := range all {
		if i == limit {
			r.bold.Fprintf(&r.out, "and %d more\n", len(all)-limit)
			break
		}
		if i > 0 {
			r.out.WriteByte('\n')
		}
		r.diagnostic(d)
	}
	io.WriteString(w, r.out.String())
}

// RenderOne writes one diagnostic for people.
func RenderOne(w io.Writer, d *Diagnostic, opt Options) {
	r := newRenderer(opt.Color)
	r.diagnostic(d)
	io.WriteString(w, r.out.String())
}

type renderer struct {
	out                               strings.Builder
	bold, red, yellow, blue, cyan, ok *color.Color
}

func newRenderer(colored bool) *renderer {
	paint := func(attrs ...color.Attribute) *color.Color {
		c := color.New(attrs...)
		if colored {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c
	}
	return &renderer{
		bold: paint(color.Bold), red: paint(color.FgRed, color.Bold), yellow: paint(color.FgYellow, color.Bold),
		blue: paint(color.FgBlue, color.Bold), cyan: paint(color.FgCyan, color.Bold), ok: paint(color.FgGreen, color.Bold),
	}
}

func (r *renderer) diagnostic(d *Diagnostic) {
	paint := r.red
	if d.Severity == Warning {
		paint = r.yellow
	}
	r.head(d.At, paint.Sprintf("%s %s", d.Severity, d.Code), d.Message)
	gutter := r.excerpt(d.At, paint)
	for _, n := range d.Notes {
		if n.At.IsValid() {
			r.head(n.At, r.cyan.Sprint("note"), n.Text)
			r.excerpt(n.At, r.cyan)
		} else {
			r.line(gutter, r.cyan.Sprint("note"), n.Text)
		}
	}
	for _, h := range d.Helps {
		r.line(gutter, r.ok.Sprint("help"), h)
	}
	if len(d.Fixes) > 0 {
		f := d.Fixes[0]
		text := f.Text
		if n := len(d.Fixes) - 1; n > 0 {
			text += fmt.Sprintf(" (and %d more like it)", n)
		}
		r.line(gutter, r.ok.Sprint("fix"), text)
		r.fixed(f)
	}
}

// head writes the line that editors jump from.
func (r *renderer) head(at source.Span, kind, text string) {
	if at.IsValid() {
		r.out.WriteString(r.bold.Sprint(at.String()) + " ")
	}
	r.out.WriteString(kind + ": " + r.bold.Sprint(text) + "\n")
}

func (r *renderer) line(gutter int, kind, text string) {
	r.out.WriteString(strings.Repeat(" ", gutter) + r.blue.Sprint("=") + " " + kind + ": " + text + "\n")
}

// excerpt writes the line that a span starts on, and marks what the span covers of it. It returns the
// width of the gutter.
func (r *renderer) excerpt(at source.Span, paint *color.Color) int {
	if !at.IsValid() {
		return 0
	}
	n := at.Pos().Line
	start, end := at.File.LineBounds(n)
	before := at.File.Text[start:max(start, int(at.Start))]
	within := at.File.Text[min(int(at.Start), end):max(int(at.Start), min(int(at.End), end))]
	column := width(before, 0)
	mark := func(length int) string { return paint.Sprint("^" + strings.Repeat("~", length-1)) }
	return r.marked(n, at.File.Line(n), column, mark, max(1, width(within, column)-column))
}

// fixed writes a line as a fix would make it, where that is one line.
func (r *renderer) fixed(f Fix) {
	if !f.At.IsValid() || f.At.Pos().Line != f.At.EndPos().Line || strings.Contains(f.New, "\n") {
		return
	}
	n := f.At.Pos().Line
	start, end := f.At.File.LineBounds(n)
	before := f.At.File.Text[start:f.At.Start]
	mark := func(length int) string { return r.ok.Sprint(strings.Repeat("+", length)) }
	r.marked(n, before+f.New+f.At.File.Text[f.At.End:end], width(before, 0), mark, width(f.New, 0))
}

// marked writes a line with marks from a column on below it.
func (r *renderer) marked(n int, line string, column int, mark func(length int) string, length int) (gutter int) {
	number := strconv.Itoa(n)
	gutter = len(number) + 1
	bar := strings.Repeat(" ", gutter) + r.blue.Sprint("|")
	shown, column, length := window(expandTabs(line), column, length)
	r.out.WriteString(bar + "\n" + r.blue.Sprint(number+" |") + " " + shown + "\n")
	r.out.WriteString(bar + " " + strings.Repeat(" ", column) + mark(length) + "\n")
	return gutter
}

// Of a long line the columns around the marks are shown.
const (
	maxExcerpt = 200
	leadIn     = 60 // columns before the marks
)

// window cuts a line to maxExcerpt columns, and gives the marks their place in what is left.
func window(line string, column, length int) (shown string, at, marks int) {
	if len(line) <= maxExcerpt || width(line, 0) <= maxExcerpt {
		return line, column, length
	}
	first := 0
	if column+length > maxExcerpt-len("...") {
		first = max(0, column-leadIn)
	}
	var b strings.Builder
	if first > 0 {
		b.WriteString("...")
	}
	c, start := 0, 0
	g := uniseg.NewGraphemes(line)
	for c < first+maxExcerpt && g.Next() {
		if c += g.Width(); c-g.Width() < first {
			start = c
			continue
		}
		b.WriteString(g.Str())
	}
	end := c
	if g.Next() {
		b.WriteString("...")
	}
	if first == 0 {
		return b.String(), column, min(length, max(1, end-column))
	}
	return b.String(), len("...") + column - start, min(length, max(1, end-column))
}

const tabWidth = 4

// width returns the column after a text that starts at a column, on a terminal.
func width(s string, column int) int {
	s = strings.TrimPrefix(s, "\ufeff")
	for {
		i := strings.IndexByte(s, '\t')
		if i < 0 {
			return column + uniseg.StringWidth(printable(s))
		}
		column += uniseg.StringWidth(printable(s[:i]))
		column += tabWidth - column%tabWidth
		s = s[i+1:]
	}
}

func expandTabs(s string) string {
	var b strings.Builder
	column := 0
	for i, part := range strings.Split(s, "\t") {
		if i > 0 {
			n := tabWidth - column%tabWidth
			b.WriteString(strings.Repeat(" ", n))
			column += n
		}
		part = printable(part)
		b.WriteString(part)
		column += uniseg.StringWidth(part)
	}
	return b.String()
}

// printable replaces what would disturb a terminal.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == '\ufeff' || c >= 0x80 && c < 0xa0 {
			return '\u00b7'
		}
		return c
	}, s)
}
