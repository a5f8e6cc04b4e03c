// Package golden runs the golden tests of all packages: archives as package snapshot describes them, each a
// subtest. -update rewrites what they want.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptoc/internal/snapshot"
	"ptoc/internal/textdiff"
)

var update = flag.Bool("update", false, "rewrite the golden files with what the tests give")

// Call and Commands are those of package snapshot.
type (
	Call     = snapshot.Call
	Commands = snapshot.Commands
)

// Run runs every archive that pattern matches as a subtest.
func Run(t *testing.T, pattern string, commands Commands) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no golden tests match %s", pattern)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) { run(t, path, commands) })
	}
}

func run(t *testing.T, path string, commands Commands) {
	o, err := snapshot.Check(path, commands, *update)
	if err != nil {
		t.Fatal(err)
	}
	if !o.OK() {
		t.Errorf("%s: the output differs (- wanted, + got); -update rewrites it\n%s", path,
			textdiff.Lines(o.Want, o.Got, textdiff.Color(os.Stdout)))
	}
}
