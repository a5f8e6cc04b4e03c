// Package textdiff shows how two texts differ, line by line.
package textdiff

import (
	"io"
	"os"
	"strings"

	"github.com/fatih/color"
	"github.com/mattn/go-isatty"
	"github.com/sergi/go-diff/diffmatchpatch"
)

// context is how many equal lines stand around a change.
const context = 3

// Color reports whether text for w should be coloured: it is a terminal and NO_COLOR is not set.
// CLICOLOR_FORCE colours everything.
func Color(w io.Writer) bool {
	if os.Getenv("CLICOLOR_FORCE") != "" {
		return true
	}
	_, no := os.LookupEnv("NO_COLOR")
	f, ok := w.(interface{ Fd() uintptr })
	return ok && !no && os.Getenv("TERM") != "dumb" && isatty.IsTerminal(f.Fd())
}

// Lines gives the differences between two texts: lines of a with "-" in front, lines of b with "+",
// a few equal lines around them with " ", and "..." where equal lines are left out. Equal texts give
// "".
func Lines(a, b string, colored bool) string {
	if a == b {
		return ""
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0
	x, y, lines := dmp.DiffLinesToRunes(a, b)
	diffs := dmp.DiffCharsToLines(dmp.DiffMainRunes(x, y, false), lines)
	p := painter{colored: colored}
	for i, d := range diffs {
		text := strings.Split(strings.TrimSuffix(d.Text, "\n"), "\n")
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			p.lines(color.FgRed, "-", text)
		case diffmatchpatch.DiffInsert:
			p.lines(color.FgGreen, "+", text)
		default:
			p.equal(text, i == 0, i == len(diffs)-1)
		}
	}
	return p.out.String()
}

type painter struct {
	out     strings.Builder
	colored bool
}

func (p *painter) lines(c color.Attribute, mark string, text []string) {
	paint := color.New(c)
	if p.colored {
		paint.EnableColor()
	} else {
		paint.DisableColor()
	}
	for _, l := range text {
		paint.Fprint(&p.out, mark+l)
		p.out.WriteByte('\n')
	}
}

// equal prints the ends of a run of equal lines that touch a change.
func (p *painter) equal(text []string, first, last bool) {
	head, tail := min(context, len(text)), min(context, len(text))
	if first {
		head = 0
	}
	if last {
		tail = 0
	}
	if head+tail >= len(text) && !(first || last) {
		p.plain(text)
		return
	}
	p.plain(text[:head])
	if head+tail < len(text) && !last {
		p.out.WriteString(" ...\n")
	}
	p.plain(text[len(text)-tail:])
}

func (p *painter) plain(text []string) {
	for _, l := range text {
		p.out.WriteString(" " + l + "\n")
	}
}
