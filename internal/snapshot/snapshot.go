// Package snapshot runs tests that are txtar archives:
//
//	What this test shows, in a sentence.
//
//	$ opt --passes Simplify input.pl
//	-- input.pl --
//	...
//	-- want --
//	...
//
// Lines with a dollar sign are commands, run one after the other; their output together is compared with the
// file want. The repository's own golden tests and `ptoc test` both use it.
package snapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"
)

// Call is one command of an archive.
type Call struct {
	Args  []string          // without the command's name
	Files map[string]string // the archive's files, without want
	Dir   string            // where the archive lies
}

// File is a file of the archive, or else one beside the archive.
func (c Call) File(name string) (string, error) {
	if text, ok := c.Files[name]; ok {
		return text, nil
	}
	text, err := os.ReadFile(filepath.Join(c.Dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no %s, neither in the archive nor beside it", name)
	}
	return string(text), err
}

// Commands says what the commands do. What they return is compared, so errors of the program under
// test belong into the text.
type Commands map[string]func(c Call) (string, error)

// Outcome is what an archive wants and what it got.
type Outcome struct {
	Want, Got string
	Updated   bool // the archive now wants what it got
}

// OK reports whether the archive agrees with what came out.
func (o Outcome) OK() bool { return o.Want == o.Got || o.Updated }

// ErrNoCommand is the error for an archive that is something else than a test.
var ErrNoCommand = errors.New("no line starts with $")

// Check runs the archive at path. With update it is rewritten where it wants something else.
func Check(path string, commands Commands, update bool) (Outcome, error) {
	ar, err := txtar.ParseFile(path)
	if err != nil {
		return Outcome{}, err
	}
	files, want := map[string]string{}, -1
	for i, f := range ar.Files {
		if f.Name == "want" {
			want = i
		} else {
			files[f.Name] = string(f.Data)
		}
	}
	var o Outcome
	if o.Got, err = run(string(ar.Comment), filepath.Dir(path), files, commands); err != nil {
		return o, err
	}
	if want < 0 {
		ar.Files, want = append(ar.Files, txtar.File{Name: "want"}), len(ar.Files)
	}
	o.Want = string(ar.Files[want].Data)
	if update && !o.OK() {
		ar.Files[want].Data = []byte(o.Got)
		o.Updated = true
		return o, os.WriteFile(path, txtar.Format(ar), 0o644)
	}
	return o, nil
}

func run(comment, dir string, files map[string]string, commands Commands) (string, error) {
	var out strings.Builder
	n := 0
	for line := range strings.Lines(comment) {
		rest, ok := strings.CutPrefix(line, "$ ")
		words := strings.Fields(rest)
		if !ok || len(words) == 0 {
			continue
		}
		n++
		if words[0] == "ptoc" && len(words) > 1 {
			words = words[1:]
		}
		cmd := commands[words[0]]
		if cmd == nil {
			return "", fmt.Errorf("no command is called %s", words[0])
		}
		text, err := cmd(Call{Args: words[1:], Files: files, Dir: dir})
		if err != nil {
			return "", fmt.Errorf("%s: %w", strings.TrimSpace(rest), err)
		}
		out.WriteString(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			out.WriteByte('\n')
		}
	}
	if n == 0 {
		return "", ErrNoCommand
	}
	return out.String(), nil
}
