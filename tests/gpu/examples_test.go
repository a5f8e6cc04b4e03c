// Package gpu runs programs with --target cuda where there is no GPU: the driver is the interpreter's.
package gpu

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptoc/lang/diag"
	"ptoc/runtime/run"
	"ptoc/tests/cudasim"
)

// show is what a user sees of an error.
func show(err error) string {
	l := &diag.List{}
	var one *diag.Diagnostic
	if errors.As(err, &one) {
		l.Add(one)
	} else if !errors.As(err, &l) {
		return err.Error()
	}
	var b strings.Builder
	diag.Render(&b, l, diag.Options{})
	return b.String()
}

// skipWithoutLLVM ends the test where kernels cannot be compiled.
func skipWithoutLLVM(t *testing.T, err error) {
	var d *diag.Diagnostic
	if errors.As(err, &d) && d.Code == diag.NoLLVM {
		t.Skip(d.Message)
	}
}

// Every example, on ranks that share a GPU and on ranks that have one each.
func TestExamplesRunOnGPUs(t *testing.T) {
	files, _ := filepath.Glob("../../examples/*.pl")
	more, _ := filepath.Glob("../../examples/course/*.pl")
	for _, file := range append(files, more...) {
		for _, ranks := range []int{1, 2, 3, 4, 8} {
			for _, gpus := range []int{1, ranks} {
				if gpus > 1 && ranks != 3 || testing.Short() && ranks != 2 {
					continue
				}
				t.Run(fmt.Sprintf("%s/ranks=%d/gpus=%d", filepath.Base(file), ranks, gpus), func(t *testing.T) {
					d := &cudasim.Driver{GPUs: gpus, Races: ranks == 2}
					r, err := run.Run(context.Background(), run.Options{File: file, Ranks: ranks, Target: "cuda", Driver: d, Check: true, Repeat: 2,
						Timeout: time.Second})
					skipWithoutLLVM(t, err)
					if err == nil {
						err = r.Err()
					}
					if err != nil {
						t.Fatal(show(err))
					}
					for _, l := range d.Launches {
						if gpus == 1 && l.Ranks < ranks && l.Cooperative {
							t.Errorf("%s was launched for %d ranks", l.Entry, l.Ranks)
						}
					}
				})
			}
		}
	}
}
