package verify

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ptoc/lang/diag"
)

// WriteText prints a report: every fault once, with its timeline, and then what each layer answers for
// which scopes.
func (r *Report) WriteText(w io.Writer) {
	for _, f := range r.Findings() {
		list := &diag.List{}
		list.Add(f.Diagnostic)
		diag.Print(w, list)
		if f.Replay != "" {
			fmt.Fprintf(w, "   replay: ptoc run %s --ranks %d --replay %s\n", r.File, f.Scope.Ranks, f.Replay)
		}
		WriteTimeline(w, f.Timeline)
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s: %s\n", r.File, r.Status())
	for _, g := range r.groups() {
		g.write(w)
	}
}

// group are the verdicts of one layer with one answer.
type group struct {
	layer  string
	status Status
	reason string
	given  string
	scopes []Scope
	took   time.Duration
	states int
}

func (r *Report) groups() []*group {
	var out []*group
	for _, v := range r.Verdicts {
		var g *group
		for _, h := range out {
			if h.layer == v.Layer && h.status == v.Status && h.given == v.Given && (v.Status != NotChecked || h.reason == v.Reason) {
				g = h
			}
		}
		if g == nil {
			g = &group{layer: v.Layer, status: v.Status, reason: v.Reason, given: v.Given}
			out = append(out, g)
		}
		if v.Status == Proved && g.reason != v.Reason {
			g.reason = "" // numbers that differ from scope to scope
		}
		g.scopes = append(g.scopes, v.Scope)
		g.took += v.Elapsed
		g.states += v.States
	}
	slices.SortStableFunc(out, func(a, b *group) int { return r.rank(a.layer) - r.rank(b.layer) })
	return out
}

func (r *Report) rank(layer string) int {
	return slices.IndexFunc(layers, func(l Layer) bool { return l.Name() == layer })
}

func (g *group) write(w io.Writer) {
	line := fmt.Sprintf("  %-10s%-16s%s", g.layer, g.status, scopesText(g.scopes))
	if g.states > 0 {
		line += fmt.Sprintf(", %d states", g.states)
	}
	if g.reason != "" {
		line += ": " + g.reason
	}
	if g.given != "" {
		line += "; " + g.given
	}
	fmt.Fprintln(w, line)
}

// scopesText is "2..4 ranks, N = 6" for scopes that differ in their rank count only.
func scopesText(ss []Scope) string {
	lo, hi := ss[0].Ranks, ss[0].Ranks
	var parts []string
	for _, s := range ss {
		lo, hi = min(lo, s.Ranks), max(hi, s.Ranks)
	}
	text := plural(lo, "rank")
	if hi > lo {
		text = fmt.Sprintf("%d..%d ranks", lo, hi)
		if hi-lo+1 != len(ss) {
			var ns []string
			for _, s := range ss {
				ns = append(ns, itoa(s.Ranks))
			}
			text = strings.Join(ns, ", ") + " ranks"
		}
	}
	parts = append(parts, text)
	var names []string
	for n := range ss[0].Syms {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		same, counts := true, true
		for _, s := range ss {
			same = same && s.Syms[n] == ss[0].Syms[n]
			counts = counts && s.Syms[n] == int64(s.Ranks)
		}
		switch {
		case counts:
		case same:
			parts = append(parts, fmt.Sprintf("%s = %d", n, ss[0].Syms[n]))
		}
	}
	if ss[0].Repeats > 1 {
		parts = append(parts, plural(ss[0].Repeats, "repeat"))
	}
	return strings.Join(parts, ", ")
}

// WriteTimeline prints events in order, one column per rank, with the notifies that each wait needed.
func WriteTimeline(w io.Writer, es []Event) {
	if len(es) == 0 {
		return
	}
	var ranks []int
	for _, e := range es {
		if !slices.Contains(ranks, e.Rank) {
			ranks = append(ranks, e.Rank)
		}
	}
	slices.Sort(ranks)
	index := map[[2]int]int{}
	for i, e := range es {
		index[[2]int{e.Rank, e.Step}] = i + 1
	}
	const width = 44
	fmt.Fprint(w, "   timeline:")
	for i, rk := range ranks {
		fmt.Fprintf(w, "%*s", map[bool]int{true: 8, false: width}[i == 0], fmt.Sprintf("rank %d", rk))
	}
	fmt.Fprintln(w)
	for i, e := range es {
		text := e.Text
		var from []string
		for _, f := range e.From {
			if n := index[f]; n > 0 {
				from = append(from, fmt.Sprintf("#%d", n))
			}
		}
		if len(from) > 0 {
			text += "  <- " + strings.Join(from, ", ")
		}
		if e.Kind == "blocked" {
			text += "  BLOCKED"
		}
		if e.At.IsValid() {
			text += fmt.Sprintf(" (line %d)", e.At.Pos().Line)
		}
		fmt.Fprintf(w, "   %4s %s%s\n", fmt.Sprintf("#%d", i+1), strings.Repeat(" ", width*slices.Index(ranks, e.Rank)), text)
	}
}

// jsonFinding is a finding as --json writes it.
type jsonFinding struct {
	Code     string      `json:"code"`
	Severity string      `json:"severity"`
	Layer    string      `json:"layer"`
	At       string      `json:"at"`
	Message  string      `json:"message"`
	Notes    []string    `json:"notes,omitempty"`
	Helps    []string    `json:"helps,omitempty"`
	Scope    Scope       `json:"scope"`
	Replay   string      `json:"replay,omitempty"`
	Timeline []jsonEvent `json:"timeline,omitempty"`
}

type jsonEvent struct {
	Event
	At string `json:"at"`
}

// MarshalJSON writes a finding flat.
func (f Finding) MarshalJSON() ([]byte, error) {
	j := jsonFinding{Code: f.Code.String(), Severity: f.Severity.String(), Layer: f.Layer, At: f.At.String(), Message: f.Message,
		Helps: f.Helps, Scope: f.Scope, Replay: f.Replay}
	for _, n := range f.Notes {
		text := n.Text
		if n.At.IsValid() {
			text = n.At.String() + ": " + text
		}
		j.Notes = append(j.Notes, text)
	}
	for _, e := range f.Timeline {
		j.Timeline = append(j.Timeline, jsonEvent{e, e.At.String()})
	}
	return json.Marshal(j)
}

// WriteJSON prints a report for tools.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		File     string    `json:"file"`
		Status   Status    `json:"status"`
		Verdicts []Verdict `json:"verdicts"`
	}{r.File, r.Status(), r.Verdicts})
}
