package diag

import (
	"encoding/json"
	"io"

	"ptoc/lang/source"
)

// The JSON form of diagnostics. Lines and columns are 1-based, columns count characters; offsets count
// bytes. Places that stand nowhere are left out.
type (
	jsonSpan struct {
		File    string `json:"file"`
		Line    int    `json:"line"`
		Col     int    `json:"col"`
		EndLine int    `json:"endLine"`
		EndCol  int    `json:"endCol"`
		Start   int32  `json:"start"`
		End     int32  `json:"end"`
	}
	jsonNote struct {
		At   *jsonSpan `json:"at,omitempty"`
		Text string    `json:"text"`
	}
	jsonFix struct {
		At          *jsonSpan `json:"at,omitempty"`
		Replacement string    `json:"replacement"`
		Text        string    `json:"text"`
	}
	jsonDiagnostic struct {
		Severity string     `json:"severity"`
		Code     string     `json:"code,omitempty"` // of what has a page
		Family   string     `json:"family,omitempty"`
		Message  string     `json:"message"`
		At       *jsonSpan  `json:"at,omitempty"`
		Notes    []jsonNote `json:"notes,omitempty"`
		Helps    []string   `json:"helps,omitempty"`
		Fixes    []jsonFix  `json:"fixes,omitempty"`
	}
)

// RenderJSON writes all diagnostics of a list as one JSON array, without a limit.
func RenderJSON(w io.Writer, l *List) error {
	out := []jsonDiagnostic{}
	for _, d := range l.Sorted() {
		j := jsonDiagnostic{
			Severity: d.Severity.String(), Message: d.Message,
			At: toJSON(d.At), Helps: d.Helps,
		}
		if d.Code != 0 {
			j.Code, j.Family = d.Code.String(), d.Code.Family()
		}
		for _, n := range d.Notes {
			j.Notes = append(j.Notes, jsonNote{toJSON(n.At), n.Text})
		}
		for _, f := range d.Fixes {
			j.Fixes = append(j.Fixes, jsonFix{toJSON(f.At), f.New, f.Text})
		}
		out = append(out, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

func toJSON(s source.Span) *jsonSpan {
	if !s.IsValid() {
		return nil
	}
	from, to := s.Pos(), s.EndPos()
	return &jsonSpan{s.File.Name, from.Line, from.Col, to.Line, to.Col, s.Start, s.End}
}
