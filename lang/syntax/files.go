package syntax

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ptoc/internal/wholefile"
)

// KernelFiles returns the .pl files that paths mean: a file means itself, a directory every .pl file below
// it, in the order of the alphabet. Directories that are hidden or that skip names are not looked into.
func KernelFiles(paths []string, skip func(dir string) bool) ([]string, error) {
	var out []string
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || skip(path)):
				return fs.SkipDir
			case !d.IsDir() && (path == root || strings.HasSuffix(path, ".pl")):
				out = append(out, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Rewrite replaces an existing file's text in one step: a reader sees the old text or the new one.
func Rewrite(name, text string) error {
	if _, err := os.Stat(name); err != nil {
		return err
	}
	return wholefile.Text(name, text)
}
