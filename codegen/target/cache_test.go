package target

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLargestCache(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"index0": "48K\n", "index1": "32K\n", "index2": "2M\n", "index3": "307200K\n", "index4": "odd\n", "index5": ""} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "size"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n := largestCache(dir); n != 300<<20 {
		t.Errorf("%d bytes, want 300 MiB", n)
	}
	if n := largestCache(filepath.Join(dir, "none")); n != 0 {
		t.Errorf("%d bytes where nobody says", n)
	}
}
