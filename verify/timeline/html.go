// Package timeline draws what the ranks of a run did: as a page with a column for each rank, and an arrow from
// each notify to the wait that needed it.
package timeline

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"ptoc/verify"
)

const (
	colWidth  = 300
	rowHeight = 26
	left      = 60
	top       = 50
)

// WriteHTML writes a page that needs nothing else: the findings, each with its timeline.
func WriteHTML(w io.Writer, title string, findings []verify.Finding) error {
	var b strings.Builder
	fmt.Fprintf(&b, head, html.EscapeString(title), html.EscapeString(title))
	if len(findings) == 0 {
		b.WriteString("<p>Nothing was found.</p>\n")
	}
	for _, f := range findings {
		finding(&b, f)
	}
	b.WriteString("</body></html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func finding(b *strings.Builder, f verify.Finding) {
	fmt.Fprintf(b, "<section><h2><span class=%s>%s %s</span> %s</h2>\n", f.Severity, f.Severity, f.Code, html.EscapeString(f.Message))
	fmt.Fprintf(b, "<p class=at>%s</p>\n<ul>\n", html.EscapeString(f.At.String()))
	for _, n := range f.Notes {
		at := ""
		if n.At.IsValid() {
			at = " <span class=at>" + html.EscapeString(n.At.String()) + "</span>"
		}
		fmt.Fprintf(b, "<li>%s%s</li>\n", html.EscapeString(n.Text), at)
	}
	for _, h := range f.Helps {
		fmt.Fprintf(b, "<li class=help>%s</li>\n", html.EscapeString(h))
	}
	fmt.Fprintf(b, "</ul>\n<p class=scope>%s</p>\n", html.EscapeString(f.Scope.String()))
	if f.Replay != "" {
		fmt.Fprintf(b, "<p>replay: <code>%s</code></p>\n", html.EscapeString(f.Replay))
	}
	if len(f.Timeline) > 0 {
		drawing(b, f.Timeline)
	}
	b.WriteString("</section>\n")
}

// drawing is the timeline as an image: one row an event, time runs down.
func drawing(b *strings.Builder, es []verify.Event) {
	var ranks []int
	row := map[[2]int]int{}
	for i, e := range es {
		if !slices.Contains(ranks, e.Rank) {
			ranks = append(ranks, e.Rank)
		}
		row[[2]int{e.Rank, e.Step}] = i
	}
	slices.Sort(ranks)
	x := func(rank int) int { return left + colWidth*slices.Index(ranks, rank) }
	y := func(i int) int { return top + rowHeight*i }
	height := y(len(es)) + 10
	fmt.Fprintf(b, "<svg width=%d height=%d>\n", left+colWidth*len(ranks), height)
	for _, r := range ranks {
		fmt.Fprintf(b, "<text class=rank x=%d y=20>rank %d</text><line class=life x1=%d y1=30 x2=%d y2=%d />\n", x(r)-8, r, x(r), x(r), height)
	}
	for i, e := range es {
		for _, f := range e.From {
			j, ok := row[f]
			if !ok {
				continue
			}
			dx := 40
			if x(f[0]) > x(e.Rank) {
				dx = -40
			}
			fmt.Fprintf(b, "<path class=arrow marker-end=\"url(#tip)\" d=\"M%d %d C%d %d %d %d %d %d\"><title>%s</title></path>\n", x(f[0]), y(j), x(f[0])+dx, y(j),
				x(e.Rank)-dx, y(i), x(e.Rank), y(i), html.EscapeString(es[j].Text+" lets "+fmt.Sprintf("rank %d go on", e.Rank)))
		}
	}
	for i, e := range es {
		line := ""
		if e.At.IsValid() {
			line = fmt.Sprintf(" <tspan class=at>line %d</tspan>", e.At.Pos().Line)
		}
		fmt.Fprintf(b, "<text class=no x=8 y=%d>%d</text><circle class=%s cx=%d cy=%d r=5 /><text x=%d y=%d class=%s>%s%s<title>%s</title></text>\n", y(i)+4, i+1, e.Kind, x(e.Rank), y(i),
			x(e.Rank)+12, y(i)+4, e.Kind, html.EscapeString(e.Text), line, html.EscapeString(e.At.String()))
	}
	b.WriteString("</svg>\n")
}

const head = `<!doctype html>
<html lang=en><head><meta charset=utf-8><title>%s</title><style>
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }
h2 { font-size: 1.1em; font-weight: 600 } section { border-top: 1px solid #ddd; margin-top: 2em }
.error { color: #b00020 } .warning { color: #8a5a00 } .at, .scope { color: #777; font-family: monospace; font-size: 12px }
.help { color: #1b5e20 } code { background: #f4f4f4; padding: 1px 4px }
svg text { font-size: 12px; fill: #222 } svg .rank { font-weight: 600 } svg .no { fill: #aaa } svg tspan.at { fill: #999 }
.life { stroke: #ddd } .arrow { fill: none; stroke: #3b7dd8; stroke-width: 1.5 } .arrow:hover { stroke-width: 4 }
circle { fill: #888 } circle.notify { fill: #3b7dd8 } circle.wait { fill: #2e9e5b } circle.blocked { fill: #b00020 }
circle.read { fill: #e0a800 } circle.write { fill: #d9480f } text.blocked { fill: #b00020; font-weight: 600 }
</style></head><body>
<svg width=0 height=0 style="position:absolute"><marker id=tip viewBox="0 0 8 8" refX=8 refY=4 markerWidth=7 markerHeight=7 orient=auto><path d="M0 0 L8 4 L0 8 z" fill="#3b7dd8" /></marker></svg>
<h1>%s</h1>
`
