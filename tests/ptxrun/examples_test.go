package ptxrun

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/runtime/controller"
	"ptoc/runtime/run"
)

// Every example gives on PTX what its golden function says, with races reported, at several rank counts.
func TestExamples(t *testing.T) {
	files, _ := filepath.Glob("../../examples/*.pl")
	more, _ := filepath.Glob("../../examples/course/*.pl")
	for _, file := range append(files, more...) {
		for _, ranks := range []int{1, 2, 4, 8} {
			t.Run(fmt.Sprintf("%s/ranks=%d", filepath.Base(file), ranks), func(t *testing.T) { checkExample(t, file, ranks) })
		}
	}
}

// eager is chosen on CPUs only, but may be named everywhere.
func TestEager(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 8, 11} {
		t.Run(fmt.Sprintf("ranks=%d", ranks), func(t *testing.T) { checkExample(t, "../../stdlib/testdata/eager.pl", ranks) })
	}
}

func checkExample(t *testing.T, file string, ranks int) {
	_, r, err := runFile(file, ranks, Config{Races: true, StepLimit: 1e9})
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if bad := wrong(r); bad != "" {
		t.Error(bad)
	}
}

// runFile runs a program and compares it with its golden function.
func runFile(file string, ranks int, cfg Config) (b *Backend, r *run.Result, err error) {
	o := run.Options{File: file, Ranks: ranks, Target: "cuda", Check: true, Open: func(m *ir.Module, ranks int) (controller.Backend, error) {
		b, err = New(m, ranks, cfg)
		return b, err
	}}
	if r, err = run.Run(context.Background(), o); err == nil {
		err = r.Err()
	}
	return b, r, err
}

// wrong names an output that is not what it should be.
func wrong(r *run.Result) string {
	for _, out := range r.Outputs {
		if out.Status != run.Right {
			return fmt.Sprintf("%s is %s", out.Name, out.Status)
		}
	}
	return ""
}

// The checks can be trusted if they notice what a wrong backend would emit: orderings, scopes and barriers
// are taken away one by one.
func TestMutantsAreNoticed(t *testing.T) {
	const file, ranks = "../../examples/allreduce.pl", 4
	plain, _, err := runFile(file, ranks, Config{})
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	noticed := func(edit func(string) string) bool {
		for seed := range uint64(4) {
			_, r, err := runFile(file, ranks, Config{Races: true, StepLimit: 1e7, Seed: seed, Edit: edit})
			if err != nil || wrong(r) != "" {
				return true
			}
		}
		return false
	}
	for _, m := range [][2]string{{"red.release.sys", "red.relaxed.sys"}, {"red.release.sys", "red.release.gpu"}, {"ld.acquire.sys", "ld.relaxed.sys"},
		{"ld.acquire.sys", "ld.acquire.gpu"}} {
		if !strings.Contains(plain.Text, m[0]) {
			t.Errorf("no %s in the kernel", m[0])
		}
		if !noticed(func(s string) string { return strings.ReplaceAll(s, m[0], m[1]) }) {
			t.Errorf("%s instead of %s is not noticed", m[1], m[0])
		}
	}
	// Some barriers stand where threads happen to touch only what is their own.
	all, missed := strings.Count(plain.Text, "bar.sync"), 0
	for i := range all {
		if !noticed(func(s string) string { return dropLine(s, "bar.sync", i) }) {
			missed++
		}
	}
	t.Logf("%d of %d barriers are needed", all-missed, all)
	if missed == all {
		t.Error("nobody notices that barriers are missing")
	}
}

// dropLine removes the i-th line that contains what.
func dropLine(text, what string, i int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, what) {
			if i--; i == -1 {
				line = "\n"
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
