package ptxrun

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
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
		for _, ranks := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%s/ranks=%d", filepath.Base(file), ranks), func(t *testing.T) { check(t, file, ranks) })
		}
	}
}

func check(t *testing.T, file string, ranks int) {
	var b *Backend
	o := run.Options{File: file, Ranks: ranks, Check: true, Open: func(m *ir.Module, ranks int) (controller.Backend, error) {
		var err error
		b, err = New(m, ranks, Config{Races: true, StepLimit: 1e9, Patience: 1e8, Seed: 0})
		return b, err
	}}
	r, err := run.Run(context.Background(), o)
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		if b != nil && testing.Verbose() {
			t.Log(b.Text)
		}
		t.Fatal(err)
	}
	for _, out := range r.Outputs {
		if out.Status != run.Right {
			t.Errorf("%s is %s", out.Name, out.Status)
		}
	}
	t.Logf("%.2f million instructions", float64(b.Steps)/1e6)
}
