// Package stdlib holds the library that is written in the kernel language itself: programs call it
// through the ops that it implements, and the compiler instantiates it.
package stdlib

import (
	"embed"
	"io/fs"
	"sync"

	"ptoc/lang/source"
)

//go:embed collectives/*.pl
var files embed.FS

// Files are the library's sources, sorted by name. All of them share one namespace.
func Files() []*source.File { return all() }

var all = sync.OnceValue(func() []*source.File {
	names, err := fs.Glob(files, "*/*.pl")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var out []*source.File
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err) // embedded
		}
		out = append(out, source.NewFile("stdlib/"+name, string(text)))
	}
	return out
})

// Is reports whether a file belongs to the library.
func Is(f *source.File) bool {
	for _, l := range all() {
		if f == l {
			return true
		}
	}
	return false
}
