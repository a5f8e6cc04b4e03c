// Package cachedir is the folder of what ptoc compiled: where it is, and what leaves it.
package cachedir

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Unused is how long an entry is kept that nobody uses, Abandoned how long a temporary file is, whose name begins
// with Temporary: nobody writes one for that long.
const (
	Unused    = 30 * 24 * time.Hour
	Abandoned = time.Hour
	Temporary = "tmp-"
)

// Dir is $PTOC_CACHE, else ptoc in the user's cache directory. It may not exist yet.
func Dir() (string, error) {
	if dir := os.Getenv("PTOC_CACHE"); dir != "" {
		return dir, nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "ptoc"), nil
}

// Use keeps an entry from being unused: its time of change says when that was, to the day. Before it is read, so
// that nobody removes it in between.
func Use(path string) {
	now := time.Now()
	if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) > 24*time.Hour {
		os.Chtimes(path, now, now) // fails in a cache that others own: they say what stays
	}
}

// Prune removes from dir, not from folders in it, the unused entries with the ending ext, and abandoned files.
// What is not ours stays.
func Prune(dir, ext string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		age := time.Since(info.ModTime())
		temporary := strings.HasPrefix(e.Name(), Temporary)
		if temporary && age > Abandoned || !temporary && filepath.Ext(e.Name()) == ext && age > Unused {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
