package suite

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"ptoc/lang/diag"
	"ptoc/runtime/bench"
)

// WriteText prints a table, what failed in full, and a summary. Tests that differ only in their number of
// ranks share a line.
func (r *Report) WriteText(w io.Writer, color bool) error {
	var b strings.Builder
	table := bench.NewTable("file", "test", "ranks", "result", "time", "")
	for i := 0; i < len(r.Tests); {
		n := i + 1
		for n < len(r.Tests) && sameLine(r.Tests[i], r.Tests[n]) {
			n++
		}
		r.row(table, r.Tests[i:n])
		i = n
	}
	if len(r.Tests) > 0 {
		table.WriteText(&b)
	}
	for _, f := range r.Empty {
		fmt.Fprintf(&b, "%s: nothing to test: no host function, no golden function\n", f)
	}
	for _, t := range r.Tests {
		t.writeFailure(&b, color)
	}
	fmt.Fprintln(&b, r.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

func sameLine(a, b *Test) bool {
	return a.File == b.File && a.What == b.What && a.Status == b.Status && (a.Status == Passed || a.Detail == b.Detail)
}

func (r *Report) row(table *bench.Table, tests []*Test) {
	var ranks []string
	var took time.Duration
	for _, t := range tests {
		if t.Ranks > 0 {
			ranks = append(ranks, strconv.Itoa(t.Ranks))
		}
		took += t.Elapsed
	}
	first := tests[0]
	detail := first.Detail
	if first.Status == Passed || first.Status == Updated {
		detail = ""
	}
	table.Row(first.File, first.What, strings.Join(ranks, " "), string(first.Status), took, oneLine(detail))
}

func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if runes := []rune(s); len(runes) > 100 {
		s = string(runes[:97]) + "..."
	}
	return s
}

func (t *Test) writeFailure(b *strings.Builder, color bool) {
	if t.Status != Failed {
		return
	}
	fmt.Fprintf(b, "\n%s\n", t.Name())
	switch {
	case t.Errors != nil && t.Errors.Len() > 0:
		diag.Render(b, t.Errors, diag.Options{Color: color})
	case t.Diff != "":
		b.WriteString(t.Diff)
	default:
		fmt.Fprintln(b, t.Detail)
	}
}

// Summary is "12 passed, 1 failed, 2 not checked".
func (r *Report) Summary() string {
	var parts []string
	for _, s := range []Status{Passed, Failed, NotChecked, Skipped, Updated} {
		if n := r.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "no tests"
	}
	return strings.Join(parts, ", ")
}

// MarshalJSON adds the diagnostics of a failure.
func (t *Test) MarshalJSON() ([]byte, error) {
	type plain Test
	out := struct {
		*plain
		Diagnostics json.RawMessage `json:"diagnostics,omitempty"`
		Diff        string          `json:"diff,omitempty"`
	}{plain: (*plain)(t), Diff: t.Diff}
	if t.Errors != nil && t.Errors.Len() > 0 {
		var b strings.Builder
		if err := diag.RenderJSON(&b, t.Errors); err != nil {
			return nil, err
		}
		out.Diagnostics = json.RawMessage(b.String())
	}
	return json.Marshal(out)
}

// WriteJSON prints everything that is known.
func (r *Report) WriteJSON(w io.Writer) error {
	if r.Tests == nil {
		r.Tests = []*Test{}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
