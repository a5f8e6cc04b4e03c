// Package diagtest holds diagnostics against what a program says it expects of them.
//
// A comment `# ERROR "regexp"` expects an error on its line whose "E0123: message" the regexp matches;
// `# WARNING "regexp"` a warning. Several strings expect several diagnostics. A backslash in the
// string is the regexp's, except before a quote.
package diagtest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

var (
	marker  = regexp.MustCompile(`# (ERROR|WARNING) (.*)$`)
	literal = regexp.MustCompile(`^\s*("(?:[^"\\]|\\.)*")`)
)

type expectation struct {
	line     int
	severity string
	re       *regexp.Regexp
}

// Check fails the test for every expectation without a diagnostic and every diagnostic without an
// expectation.
func Check(t testing.TB, f *source.File, list *diag.List) {
	t.Helper()
	want, err := expectations(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Sorted() {
		if i := find(want, d); i >= 0 {
			want = append(want[:i], want[i+1:]...)
		} else {
			t.Errorf("unexpected: %s", d.Error())
		}
	}
	for _, w := range want {
		t.Errorf("%s:%d: no %s matches %q", f.Name, w.line, strings.ToLower(w.severity), w.re)
	}
}

func find(want []expectation, d *diag.Diagnostic) int {
	for i, w := range want {
		if w.line == d.At.Pos().Line && strings.EqualFold(w.severity, d.Severity.String()) &&
			w.re.MatchString(d.Code.String()+": "+d.Message) {
			return i
		}
	}
	return -1
}

func expectations(f *source.File) (out []expectation, err error) {
	for n := 1; n <= f.Lines(); n++ {
		m := marker.FindStringSubmatch(f.Line(n))
		if m == nil {
			continue
		}
		rest := m[2]
		for {
			lit := literal.FindStringSubmatch(rest)
			if lit == nil {
				break
			}
			rest = rest[len(lit[0]):]
			text := strings.ReplaceAll(lit[1][1:len(lit[1])-1], `\"`, `"`)
			re, err := regexp.Compile(text)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", f.Name, n, err)
			}
			out = append(out, expectation{n, m[1], re})
		}
		if strings.TrimSpace(rest) != "" {
			return nil, fmt.Errorf("%s:%d: cannot read %q", f.Name, n, rest)
		}
	}
	return out, nil
}
