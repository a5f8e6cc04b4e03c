// Package examples tests the example programs.
package examples

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ptoc/codegen/toolchain"
	"ptoc/runtime/native"
	"ptoc/runtime/run"
)

func TestMain(m *testing.M) {
	native.MaybeWorker()
	os.Exit(m.Run())
}

// Every example gives what its golden function says, at every rank count, however it is run.
func TestExamples(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.pl", "course/*.pl"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 21 {
		t.Fatalf("only %d examples", len(files))
	}
	ways := []run.Options{{Backend: "sim"}}
	if _, err := toolchain.Find(); err == nil {
		ways = append(ways, run.Options{Workers: native.Threads}, run.Options{Workers: native.Processes})
	} else {
		t.Log("no C++ compiler: only the simulator is tested")
	}
	for _, f := range files {
		for _, o := range ways {
			for _, ranks := range []int{1, 2, 3, 4, 5, 8, 16} {
				o.File, o.Ranks, o.Check, o.Timeout = f, ranks, true, 20*time.Second
				t.Run(fmt.Sprintf("%s/%s/ranks=%d", f, way(o), ranks), func(t *testing.T) { check(t, o) })
			}
		}
	}
}

func way(o run.Options) string {
	if o.Backend == "sim" {
		return "sim"
	}
	return o.Workers.String()
}

func check(t *testing.T, o run.Options) {
	r, err := run.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	for _, out := range r.Outputs {
		if out.Status != run.Right {
			t.Errorf("%s is %s", out.Name, out.Status)
		}
	}
	if r.ComparedWith == "" {
		t.Error("the program has no golden function")
	}
}
