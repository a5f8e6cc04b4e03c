package cachedir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestPruneRemovesWhatNobodyUses(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, age time.Duration) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file("new.so", time.Hour)
	file("old.so", Unused+time.Hour)
	Use(file("old-but-used.so", Unused+time.Hour))
	file("notes.txt", 2*Unused)
	file("tmp-1.so", Abandoned+time.Minute)
	file("tmp-2.o", Abandoned/2)
	os.Mkdir(filepath.Join(dir, "folder.so"), 0o755)
	when := time.Now().Add(-2 * Unused)
	os.Chtimes(filepath.Join(dir, "folder.so"), when, when)

	Prune(dir, ".so")
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"folder.so", "new.so", "notes.txt", "old-but-used.so", "tmp-2.o"}; !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
}

// An entry that was used today is not written to again: many runs at once read it.
func TestUseWritesOnceADay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.so")
	os.WriteFile(path, nil, 0o644)
	when := time.Now().Add(-time.Hour).Truncate(time.Second)
	os.Chtimes(path, when, when)
	Use(path)
	if info, _ := os.Stat(path); !info.ModTime().Equal(when) {
		t.Errorf("changed at %v, want %v", info.ModTime(), when)
	}
}
