package examples

import (
	"context"
	"os"
	"strings"
	"testing"

	"ptoc/runtime/run"
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

// What it says the run prints is what the run prints, the times and the error apart.
func TestReadmeShowsTheOutputAsItIs(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	res, err := run.Run(context.Background(), run.Options{File: "examples/allreduce.pl", Ranks: 8, Backend: "sim", Check: true})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	res.WriteText(&out)
	for _, line := range strings.Split(out.String(), "\n")[1:4] { // how collectives were lowered, what is checked
		if !strings.Contains(string(readme), "    "+line+"\n") {
			t.Errorf("README.md does not show the line %q", line)
		}
	}
}
