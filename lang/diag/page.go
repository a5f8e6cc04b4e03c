package diag

import (
	"fmt"
	"strings"
)

// Explain returns what `ptoc explain` prints about a code.
func (r Row) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s\n\n%s\n", r.Code, r.Code.Family(), r.Title, wrap(r.Doc, 88))
	if r.Example != "" {
		b.WriteString("\nFor example:\n\n")
		for _, line := range strings.Split(strings.TrimRight(r.Example, "\n"), "\n") {
			b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
		}
	}
	return b.String()
}

// Page returns docs/errors.md: every code, by family.
func Page() string {
	var b strings.Builder
	b.WriteString("<!-- Generated from lang/diag/codes_*.go by docs/gen. Do not edit: run make generate. -->\n\n# Errors\n\n" +
		"Every diagnostic has a code, which never changes its meaning. `ptoc explain E0101` prints an entry of this\n" +
		"page. In the examples a comment `# ERROR \"regexp\"` stands on the line that the error is about; each is run as a\n" +
		"test.\n")
	family := ""
	for _, r := range Rows() {
		if f := r.Code.Family(); f != family {
			family = f
			fmt.Fprintf(&b, "\n## %s: E%02dxx\n", strings.ToUpper(f[:1])+f[1:], r.Code/100)
		}
		fmt.Fprintf(&b, "\n### %s: %s\n\n%s\n", r.Code, r.Title, r.Doc)
		if r.Example != "" {
			fmt.Fprintf(&b, "\n```python\n%s\n```\n", strings.TrimRight(r.Example, "\n"))
		}
	}
	return b.String()
}

// wrap breaks a text into lines of at most n bytes, where words allow.
func wrap(text string, n int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && column+1+len(word) > n:
			b.WriteByte('\n')
			column = 0
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
