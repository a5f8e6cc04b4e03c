package syntax

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// KernelFiles returns the .pl files that paths mean: a file means itself, a directory every .pl file below
// it, in the order of the alphabet. Hidden directories are not looked into.
func KernelFiles(paths []string) ([]string, error) {
	var out []string
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
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

// Rewrite replaces a file's text in one step: a reader sees the old text or the new one. The file keeps
// its permissions, and where it is a link the file behind it is rewritten.
func Rewrite(name, text string) (err error) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
			err = fmt.Errorf("cannot rewrite %s: %w", name, err)
		}
	}()
	_, err = tmp.WriteString(text)
	if e := tmp.Chmod(info.Mode().Perm()); err == nil {
		err = e
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
