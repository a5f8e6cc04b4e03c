package examples

import (
	"os"
	"strings"
	"testing"
)

// The page that newcomers read first shows the very program that `make demo` runs.
func TestReadmeShowsTheExampleAsItIs(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../examples/allreduce.pl")
	if err != nil {
		t.Fatal(err)
	}
	_, program, ok := strings.Cut(string(example), "import ptoc")
	if !ok || !strings.Contains(string(readme), "import ptoc"+program) {
		t.Error("README.md does not contain examples/allreduce.pl")
	}
}
