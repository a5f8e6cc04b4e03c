package ptxrun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rankCounts reads a program's "# ranks: 2..4".
func rankCounts(t *testing.T, file string) []int {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var low, high int
	_, rest, ok := strings.Cut(string(text), "# ranks: ")
	if _, err := fmt.Sscanf(rest, "%d..%d", &low, &high); !ok || err != nil {
		t.Fatalf("%s: no rank counts", file)
	}
	var out []int
	for n := low; n <= high; n++ {
		out = append(out, n)
	}
	return out
}

// The repaired forms of the known bugs run on PTX without a race, under several schedules.
func TestRepairedBugs(t *testing.T) {
	files, _ := filepath.Glob("../bugs/*_fixed.pl")
	if len(files) == 0 {
		t.Fatal("no files")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".pl"), func(t *testing.T) {
			for i, ranks := range rankCounts(t, file) {
				seed := uint64(i)
				_, r, err := runFile(file, ranks, Config{Races: true, Seed: seed, Patience: 5e6})
				if errors.Is(err, ErrMissing) {
					t.Skip(err)
				}
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if bad := wrong(r); bad != "" {
					t.Errorf("seed %d: %s", seed, bad)
				}
			}
		})
	}
}

// What the interpreter notices of the bugs themselves: they race, hang or compute something else.
func TestBugsAreNoticed(t *testing.T) {
	files, _ := filepath.Glob("../bugs/*.pl")
	missed := []string{}
	all := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_fixed.pl") {
			continue
		}
		all++
		noticed := false
		for _, ranks := range rankCounts(t, file) {
			for seed := uint64(0); seed < 4 && !noticed; seed++ {
				_, r, err := runFile(file, ranks, Config{Races: true, Seed: seed, Patience: 1e6, StepLimit: 1e8})
				if errors.Is(err, ErrMissing) {
					t.Skip(err)
				}
				noticed = err != nil || wrong(r) != ""
			}
		}
		if !noticed {
			missed = append(missed, filepath.Base(file))
		}
	}
	t.Logf("%d of %d bugs are noticed, not %s", all-len(missed), all, strings.Join(missed, ", "))
}
