package syntax

import (
	"strings"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// A Mode says how much of a file must be kernel language.
type Mode uint8

const (
	// Strict is for .pl files: every line must be kernel language.
	Strict Mode = iota
	// Lenient is for .py files: only decorated definitions must. Kept besides them: imports, constant
	// assignments, and functions that contain decorated definitions. All else is skipped in silence.
	Lenient
)

// Parse reads a file. The tree holds what could be read, even where the list has errors.
func Parse(f *source.File, mode Mode, list *diag.List) *File {
	return &File{Source: f}
}

// ModeFor returns the mode that a file's name asks for.
func ModeFor(name string) Mode {
	if strings.HasSuffix(name, ".py") {
		return Lenient
	}
	return Strict
}
