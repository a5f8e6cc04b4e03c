// Package source holds the text of programs and says where things stand in it.
//
// Everything downstream (tokens, syntax trees, IR ops, diagnostics) carries a Span: two byte offsets
// into a File. Lines and columns are computed when somebody prints one.
package source

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

const bom = "\ufeff"

// A File is a name and a text that never changes. Make it with &File{...} or NewFile; do not copy it.
type File struct {
	Name string // as the user wrote it; what diagnostics print
	Text string

	once  sync.Once
	lines []int32 // offset of the first byte of each line
}

// NewFile returns a file of that name and text.
func NewFile(name, text string) *File { return &File{Name: name, Text: text} }

func (f *File) lineTable() []int32 {
	f.once.Do(func() {
		f.lines = append(make([]int32, 0, len(f.Text)/32+1), 0)
		for i := 0; i < len(f.Text); i++ {
			if f.Text[i] == '\n' || f.Text[i] == '\r' && (i+1 == len(f.Text) || f.Text[i+1] != '\n') {
				f.lines = append(f.lines, int32(i+1))
			}
		}
	})
	return f.lines
}

// Lines returns the number of lines; a text that ends in a newline has an empty last one.
func (f *File) Lines() int { return len(f.lineTable()) }

// Line returns the text of the n-th line (1-based), without its line end, or "" where there is none.
func (f *File) Line(n int) string {
	start, end := f.LineBounds(n)
	return strings.TrimSuffix(strings.TrimPrefix(f.Text[start:end], bom), "\r")
}

// LineBounds returns the offsets of the n-th line (1-based), line end excluded.
func (f *File) LineBounds(n int) (start, end int) {
	lines := f.lineTable()
	if n < 1 || n > len(lines) {
		return len(f.Text), len(f.Text)
	}
	start, end = int(lines[n-1]), len(f.Text)
	if n < len(lines) {
		end = int(lines[n]) - 1
		if end > start && f.Text[end] == '\n' && f.Text[end-1] == '\r' {
			end--
		}
	}
	return start, end
}

// Pos returns line and column of a byte offset.
func (f *File) Pos(offset int) Pos {
	offset = max(0, min(offset, len(f.Text)))
	lines := f.lineTable()
	n := sort.Search(len(lines), func(i int) bool { return int(lines[i]) > offset })
	before := strings.TrimPrefix(f.Text[lines[n-1]:offset], bom)
	return Pos{Line: n, Col: utf8.RuneCountInString(before) + 1}
}

// Span returns the span of the bytes [start, end).
func (f *File) Span(start, end int) Span {
	return Span{File: f, Start: int32(start), End: int32(end)}
}

// A Pos is a line and a column, both 1-based; the column counts runes. The zero Pos is "nowhere".
type Pos struct{ Line, Col int }

func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }

// A Span is the bytes [Start, End) of a file. The zero Span is valid and stands nowhere.
type Span struct {
	File       *File
	Start, End int32
}

// IsValid reports whether the span stands in a file.
func (s Span) IsValid() bool { return s.File != nil }

// Pos returns line and column of the first byte, EndPos those just after the last.
func (s Span) Pos() Pos {
	if s.File == nil {
		return Pos{}
	}
	return s.File.Pos(int(s.Start))
}

func (s Span) EndPos() Pos {
	if s.File == nil {
		return Pos{}
	}
	return s.File.Pos(int(s.End))
}

// Text returns the spanned text.
func (s Span) Text() string {
	if s.File == nil || s.Start < 0 || int(s.End) > len(s.File.Text) || s.Start > s.End {
		return ""
	}
	return s.File.Text[s.Start:s.End]
}

// To returns the smallest span that covers s and t, which must stand in the same file; where one of
// them stands nowhere it returns the other.
func (s Span) To(t Span) Span {
	switch {
	case s.File == nil:
		return t
	case t.File != s.File:
		return s
	}
	return Span{File: s.File, Start: min(s.Start, t.Start), End: max(s.End, t.End)}
}

// Before orders spans by file name, then by place.
func (s Span) Before(t Span) bool {
	if a, b := s.name(), t.name(); a != b {
		return a < b
	}
	if s.Start != t.Start {
		return s.Start < t.Start
	}
	return s.End < t.End
}

func (s Span) name() string {
	if s.File == nil {
		return ""
	}
	return s.File.Name
}

// String returns "file:line:col", or "-" for the zero Span.
func (s Span) String() string {
	if s.File == nil {
		return "-"
	}
	return s.File.Name + ":" + s.Pos().String()
}
