// Package golden runs the golden tests of all packages. A test is a txtar archive:
//
//	What this test shows, in a sentence.
//
//	$ opt --passes Simplify input.pl
//	-- input.pl --
//	...
//	-- want --
//	...
//
// Lines with a dollar sign are commands, run one after the other; their output together is compared
// with the file want. -update rewrites want.
package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"ptoc/internal/textdiff"
)

var update = flag.Bool("update", false, "rewrite the golden files with what the tests give")

// Call is one command of an archive.
type Call struct {
	Args  []string          // without the command's name
	Files map[string]string // the archive's files, without want
}

// Commands says what the commands do. What they return is compared, so errors of the program under
// test belong into the text.
type Commands map[string]func(c Call) (string, error)

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
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files, want := map[string]string{}, -1
	for i, f := range ar.Files {
		if f.Name == "want" {
			want = i
		} else {
			files[f.Name] = string(f.Data)
		}
	}
	got, err := runCommands(string(ar.Comment), files, commands)
	if err != nil {
		t.Fatal(err)
	}
	if want < 0 {
		ar.Files, want = append(ar.Files, txtar.File{Name: "want"}), len(ar.Files)
	}
	if string(ar.Files[want].Data) == got {
		return
	}
	if *update {
		ar.Files[want].Data = []byte(got)
		if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s: the output differs (- wanted, + got); -update rewrites it\n%s", path,
		textdiff.Lines(string(ar.Files[want].Data), got, textdiff.Color(os.Stdout)))
}

func runCommands(comment string, files map[string]string, commands Commands) (string, error) {
	var out strings.Builder
	n := 0
	for _, line := range strings.Split(comment, "\n") {
		rest, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		n++
		words := strings.Fields(rest)
		cmd := commands[words[0]]
		if cmd == nil {
			return "", fmt.Errorf("no command is called %s", words[0])
		}
		text, err := cmd(Call{Args: words[1:], Files: files})
		if err != nil {
			return "", fmt.Errorf("%s: %w", rest, err)
		}
		out.WriteString(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			out.WriteByte('\n')
		}
	}
	if n == 0 {
		return "", fmt.Errorf("no line starts with $")
	}
	return out.String(), nil
}
