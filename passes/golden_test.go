package passes_test

import (
	"os"
	"testing"

	"ptoc/passes/opt"
	"ptoc/tests/golden"
)

// Every folder of testdata belongs to one pass.
func TestGolden(t *testing.T) {
	dirs, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if d.IsDir() && d.Name() != "fuzz" {
			t.Run(d.Name(), func(t *testing.T) {
				golden.Run(t, "testdata/"+d.Name()+"/*.txtar", golden.Commands{"opt": opt.Snapshot})
			})
		}
	}
}
