// Package diag holds what the compiler says to its user: codes, diagnostics as values, and their
// renderers. Nothing else prints.
package diag

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ptoc/lang/source"
)

// Severity says whether a program may still run.
type Severity uint8

const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// A Diagnostic is one message about one place.
type Diagnostic struct {
	Severity Severity
	Code     Code
	At       source.Span
	Message  string
	Notes    []Note   // other places that matter, in the order of the argument
	Helps    []string // what to do instead, one line each
	Fixes    []Fix    // edits that an editor can apply
}

// Unreadable is the error of a file that a user named: E0701, with its name and the reason.
func Unreadable(err error) *Diagnostic {
	if path := new(fs.PathError); errors.As(err, &path) {
		err = fmt.Errorf("%s: %w", path.Path, path.Err) // without the name of the call that failed
	}
	return New(FileUnreadable, source.Span{}, "%v", err)
}

// A Note points at a second place, or adds a sentence where its span is zero.
type Note struct {
	At   source.Span
	Text string
}

// A Fix replaces the text at a span. An empty span inserts, an empty New deletes.
type Fix struct {
	At   source.Span
	New  string
	Text string // what it does, as an imperative: "write 4 spaces"
}

// Note adds a second location (or, with a zero span, a sentence) and returns d.
func (d *Diagnostic) Note(at source.Span, format string, args ...any) *Diagnostic {
	d.Notes = append(d.Notes, Note{At: at, Text: sprintf(format, args)})
	return d
}

// Help adds a line that says what to do instead and returns d.
func (d *Diagnostic) Help(format string, args ...any) *Diagnostic {
	d.Helps = append(d.Helps, sprintf(format, args))
	return d
}

// Fix adds an edit and returns d.
func (d *Diagnostic) Fix(at source.Span, replacement, format string, args ...any) *Diagnostic {
	d.Fixes = append(d.Fixes, Fix{At: at, New: replacement, Text: sprintf(format, args)})
	return d
}

// Error returns "file:line:col error E0123: message", on one line.
func (d *Diagnostic) Error() string {
	return fmt.Sprintf("%s %s %s: %s", d.At, d.Severity, d.Code, d.Message)
}

// New makes an error that no list holds yet.
func New(code Code, at source.Span, format string, args ...any) *Diagnostic {
	return &Diagnostic{Code: code, At: at, Message: sprintf(format, args)}
}

// sprintf leaves a message without arguments alone, so that it may contain a percent sign.
func sprintf(format string, args []any) string {
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

// A List collects diagnostics. The zero List is empty and ready; a List is not for concurrent use.
type List struct {
	all    []*Diagnostic
	errors int
}

// Errorf adds an error and returns it, so that notes and fixes can be chained on.
func (l *List) Errorf(code Code, at source.Span, format string, args ...any) *Diagnostic {
	return l.Add(New(code, at, format, args...))
}

// Warnf adds a warning and returns it.
func (l *List) Warnf(code Code, at source.Span, format string, args ...any) *Diagnostic {
	d := New(code, at, format, args...)
	d.Severity = Warning
	return l.Add(d)
}

// Add adds a diagnostic that was made elsewhere.
func (l *List) Add(d *Diagnostic) *Diagnostic {
	l.all = append(l.all, d)
	if d.Severity == Error {
		l.errors++
	}
	return d
}

// Merge adds everything that another list holds.
func (l *List) Merge(other *List) {
	if other == nil || other == l {
		return
	}
	for _, d := range other.all {
		l.Add(d)
	}
}

// Len counts errors and warnings, HasErrors looks for errors only.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.all)
}

func (l *List) HasErrors() bool { return l.Errors() > 0 }

// Errors counts errors alone.
func (l *List) Errors() int {
	if l == nil {
		return 0
	}
	return l.errors
}

// Err returns the list as an error, or nil where it holds no errors.
func (l *List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

// Error returns one line per diagnostic.
func (l *List) Error() string {
	var b strings.Builder
	for i, d := range l.Sorted() {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(d.Error())
	}
	return b.String()
}

// Sorted returns the diagnostics by place, without repetitions. A second diagnostic with the same code
// at the same place says nothing new: the first one stays.
func (l *List) Sorted() []*Diagnostic {
	if l == nil {
		return nil
	}
	type key struct {
		at   source.Span
		code Code
	}
	seen := make(map[key]bool, len(l.all))
	var out []*Diagnostic
	for _, d := range l.all {
		k := key{d.At, d.Code}
		if d.At.IsValid() && seen[k] {
			continue
		}
		seen[k] = true
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b *Diagnostic) int {
		switch {
		case a.At.Before(b.At):
			return -1
		case b.At.Before(a.At):
			return 1
		}
		return 0
	})
	return out
}
