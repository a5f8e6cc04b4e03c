package stdlib_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptoc/codegen/toolchain"
	"ptoc/runtime/run"
)

// Each program of testdata agrees with its golden function, at the rank counts that its first line names.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pl")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	backends := []string{"sim"}
	if _, err := toolchain.Find(); err == nil {
		backends = append(backends, "native")
	}
	for _, f := range files {
		for _, ranks := range ranksOf(t, f) {
			for _, b := range backends {
				t.Run(fmt.Sprintf("%s/%s/ranks=%d", filepath.Base(f), b, ranks), func(t *testing.T) {
					r, err := run.Run(context.Background(), run.Options{File: f, Ranks: ranks, Backend: b, Check: true, Timeout: 20 * time.Second})
					if err != nil {
						t.Fatal(err)
					}
					if err := r.Err(); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
}

func ranksOf(t *testing.T, file string) []int {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var out []int
	for _, w := range strings.Fields(strings.TrimPrefix(line, "# ranks:")) {
		n, err := strconv.Atoi(w)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}
