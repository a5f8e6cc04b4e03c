package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"ptoc/codegen/abi"
	"ptoc/codegen/bundle"
	"ptoc/codegen/toolchain"
	"ptoc/internal/snapshot"
	"ptoc/internal/textdiff"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/passes/opt"
	"ptoc/verify/load"
)

// Name is what Options.Match looks at: "ring.pl: golden expected, native, 4 ranks".
func (t *Test) Name() string {
	name := t.File + ": " + t.What
	switch {
	case t.Ranks == 1:
		name += ", 1 rank"
	case t.Ranks > 1:
		name += fmt.Sprintf(", %d ranks", t.Ranks)
	}
	return name
}

// find lists the programs and archives in paths. A file that is named is taken whatever it is called.
func find(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		err := filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			name := filepath.Base(path)
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != p && (strings.HasPrefix(name, ".") || bundle.IsBundle(path)):
				return fs.SkipDir
			case d.IsDir():
			case path == p, filepath.Ext(name) == ".pl", filepath.Ext(name) == ".txtar":
				out = append(out, path)
			}
			return nil
		})
		if err != nil {
			return nil, diag.Unreadable(err)
		}
	}
	return out, nil
}

func (o *Options) plan(ctx context.Context, file string) []*Test {
	if filepath.Ext(file) == ".txtar" {
		return o.planSnapshot(file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return broken(file, diag.Unreadable(err))
	}
	h, err := headerOf(string(text))
	if err != nil {
		return broken(file, err)
	}
	p := &program{o: o, file: file, repeats: max(h.repeats, 1), ranks: DefaultRanks, defines: maps.Clone(h.defines), inputs: h.inputs}
	if p.fixed = o.Ranks != nil || h.ranks != nil; o.Ranks != nil {
		p.ranks = o.Ranks
	} else if h.ranks != nil {
		p.ranks = h.ranks
	}
	maps.Copy(p.defines, o.Defines)
	u, err := load.Source(source.NewFile(file, string(text)), load.Options{Defines: p.defines, Context: ctx})
	if err != nil {
		return broken(file, err)
	}
	if name := p.strayInput(u.Checked); name != "" {
		return broken(file, fmt.Errorf("# in: no function of this program has a parameter %s", name))
	}
	p.override(o.Inputs)
	return append(p.goldens(u.Checked), p.verifications(u.Checked)...)
}

// broken is the one test of a file that does not even compile.
func broken(file string, err error) []*Test {
	return []*Test{{File: file, What: "compile", run: func(_ context.Context, t *Test) { t.fail(err) }}}
}

func (o *Options) planSnapshot(file string) []*Test {
	commands := snapshot.Commands{"opt": opt.Snapshot}
	if text, err := os.ReadFile(file); err == nil && !strings.Contains("\n"+string(text), "\n$ ") {
		return nil // an archive of something else
	}
	return []*Test{{File: file, What: "snapshot", run: func(_ context.Context, t *Test) {
		out, err := snapshot.Check(file, commands, o.Update)
		switch {
		case err != nil:
			t.fail(err)
		case out.Updated:
			t.end(Updated, "")
		case out.OK():
			t.pass("")
		default:
			t.end(Failed, "the output differs; --update accepts it")
			t.Diff = textdiff.Lines(out.Want, out.Got, textdiff.Color(os.Stdout))
		}
	}}}
}

// header is what a program says about its tests, in comments before its first line of code.
type header struct {
	ranks   []int
	repeats int
	defines map[string]string
	inputs  []string // NAME=SPEC
}

var headerLine = regexp.MustCompile(`^#\s*(ranks|repeats|define|in):\s*(.*?)\s*$`)

func headerOf(text string) (header, error) {
	h := header{defines: map[string]string{}}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			break
		}
		m := headerLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var err error
		switch m[1] {
		case "ranks":
			h.ranks, err = ParseRanks(m[2])
		case "repeats":
			h.repeats, err = strconv.Atoi(m[2])
		case "in":
			err = h.input(m[2])
		default:
			err = h.define(m[2])
		}
		if err != nil {
			return h, fmt.Errorf("%s: %w", line, err)
		}
	}
	return h, nil
}

func (h *header) define(text string) error {
	for _, s := range strings.Fields(text) {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("want NAME=VALUE, got %q", s)
		}
		h.defines[name] = value
	}
	return nil
}

func (h *header) input(text string) error {
	for _, s := range strings.Fields(text) {
		if name, _, ok := strings.Cut(s, "="); !ok || name == "" {
			return fmt.Errorf("want NAME=SPEC, got %q", s)
		}
		h.inputs = append(h.inputs, s)
	}
	return nil
}

// ParseRanks reads numbers of ranks: "4", "2..4", "1, 2, 8" or "1 2 8".
func ParseRanks(text string) ([]int, error) {
	var out []int
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		lo, hi, isRange := strings.Cut(part, "..")
		if !isRange {
			hi = lo
		}
		a, err := strconv.Atoi(lo)
		b, err2 := strconv.Atoi(hi)
		if err != nil || err2 != nil || a < 1 || b < a || b > abi.MaxRanks {
			return nil, fmt.Errorf("want numbers of ranks from 1 to %d such as 4, 2..4 or 2,8, got %q", abi.MaxRanks, text)
		}
		for n := a; n <= b; n++ {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no number of ranks is given")
	}
	return out, nil
}

// backends are those to run on; why says what is missing.
func (o *Options) backends() []string {
	if o.Backends != nil {
		return o.Backends
	}
	if _, err := toolchain.Find(); err != nil {
		return []string{"sim"}
	}
	return []string{"native"}
}

func listOf(err error) *diag.List {
	var list *diag.List
	var one *diag.Diagnostic
	switch {
	case errors.As(err, &list):
		return list
	case errors.As(err, &one):
		list = &diag.List{}
		list.Add(one)
		return list
	}
	return &diag.List{}
}
