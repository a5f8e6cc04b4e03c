package check

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"ptoc/ir"
)

var update = flag.Bool("update", false, "rewrite the expected output")

// A golden file holds a program (in.pl or in.py), options in its comment (-D N=4, --entry f, --set
// k=v), and the IR that comes of it (out.pl).
func TestProgramsBecomeThisIR(t *testing.T) {
	files, _ := filepath.Glob("testdata/ir/*.txtar")
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { golden(t, name) })
	}
}

func golden(t *testing.T, name string) {
	ar, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	in := ar.Files[0]
	m := roundTrip(t, in.Name, string(in.Data), optionsOf(string(ar.Comment)))
	got := ir.Print(m)
	want := ""
	if len(ar.Files) > 1 {
		want = string(ar.Files[1].Data)
	}
	if *update && got != want {
		ar.Files = []txtar.File{in, {Name: "out.pl", Data: []byte(got)}}
		if err := os.WriteFile(name, txtar.Format(ar), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("the IR differs (- wanted, + got); -update rewrites it:\n%s", d)
	}
}

func optionsOf(comment string) Options {
	o := Options{Defines: map[string]string{}, Set: map[string]string{}}
	words := strings.Fields(comment)
	for i := 0; i+1 < len(words); i++ {
		k, v, _ := strings.Cut(words[i+1], "=")
		switch words[i] {
		case "-D":
			o.Defines[k] = v
		case "--set":
			o.Set[k] = v
		case "--entry":
			o.Entry = words[i+1]
		}
	}
	return o
}
