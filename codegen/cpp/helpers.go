package cpp

import (
	_ "embed"
	"fmt"
	"strings"

	"ptoc/codegen/lower"
)

// helpers.inc is cut at lines "//@ name: names of helpers that it needs". A text gets the helpers that
// it uses, in the order of the file.
//
//go:embed helpers.inc
var helperFile string

type helper struct {
	name, text string
	needs      []string
}

var helperList = parseHelpers(helperFile)

func parseHelpers(text string) []helper {
	var out []helper
	for _, part := range strings.Split(text, "//@ ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		name, needs, _ := strings.Cut(head, ":")
		out = append(out, helper{strings.TrimSpace(name), strings.TrimSpace(body), strings.Fields(needs)})
	}
	return out
}

// helpers is the text of the helpers in use.
func (g *gen) helpers() string {
	for i := len(helperList) - 1; i >= 0; i-- { // needs stand before their users
		if h := helperList[i]; g.used[h.name] {
			for _, n := range h.needs {
				g.used[n] = true
			}
		}
	}
	var b strings.Builder
	for _, h := range helperList {
		if g.used[h.name] {
			text := h.text
			if h.name == "ptoc_turns" || h.name == "ptoc_sincos" {
				text = strings.NewReplacer("TURN_ROWS", fmt.Sprint(lower.TurnRows), "TURNS", turns()).Replace(text)
			}
			b.WriteString(text)
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

// turns prints lower.Turns.
func turns() string {
	var b strings.Builder
	for _, part := range lower.Turns() {
		for i, x := range part {
			switch {
			case i == 0:
				b.WriteString("    {")
			case i%8 == 0:
				b.WriteString(",\n     ")
			default:
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%x", x)
		}
		b.WriteString("},\n")
	}
	return b.String()
}
