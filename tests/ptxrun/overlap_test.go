package ptxrun

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A call whose arguments overlap with the values of the run ends as it does on the CPU.
func TestACallWithOverlappingArgumentsIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "overlap.pl")
	const text = `@pl.jit.incore
def add(a: pl.Tensor[[1, 4], pl.FP32], b: pl.Out[pl.Tensor[[1, 4], pl.FP32]]):
    pl.store(pl.load(a, [0, 0], [1, 4]) + 1.0, [0, 0], b)

@pl.jit
def chip(x: pl.InOut[pl.Tensor[[4, 1, 4], pl.FP32]]):
    for r in pl.range(4):
        add(x[r], x[2])
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err := runFile(file, 1, Config{Races: true})
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err == nil || !strings.Contains(err.Error(), "overlap.pl:8:9 error E0719: rank 0: arguments 1 and 2 overlap") {
		t.Errorf("got %v", err)
	}
}
