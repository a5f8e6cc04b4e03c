package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptoc/runtime/gpucheck"
	"ptoc/tests/cudasim"
)

// What `make gpu-check` does, on the interpreter: bundles are made, run, and reported on.
func TestTheCheckOfAGPU(t *testing.T) {
	dir := t.TempDir()
	err := gpucheck.Make(context.Background(), dir, []string{allreduce, "../../examples/rmsnorm.pl"})
	skipWithoutLLVM(t, err)
	if err != nil {
		t.Fatal(show(err))
	}
	t.Run("right", func(t *testing.T) { aGPUThatIsRight(t, dir) })
	t.Run("stops", func(t *testing.T) { aGPUThatStops(t, dir) })
}

func aGPUThatIsRight(t *testing.T, dir string) {
	r, err := gpucheck.Run(context.Background(), gpucheck.Options{Dir: dir, Driver: &cudasim.Driver{GPUs: 2, Old: []int{0}}, Ranks: []int{1, 3}, Only: "2 ranks, 4 KiB"})
	if err != nil {
		t.Fatal(show(err))
	}
	page := r.Markdown()
	if r.Failed() > 0 || len(r.Runs) != 4 || len(r.Trials) < 100 {
		t.Error(page)
	}
	for _, want := range []string{"interpreter 1 (sm_80", "4 of 4 runs are right", "CUDA 12.4", "allreduce push, 2 ranks, 4 KiB"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if len(r.Timings) != 2 || r.Timings[0].Err != "" || r.Timings[1].NS <= 0 {
		t.Errorf("%+v", r.Timings)
	}
	if err := r.WriteFile(filepath.Join(dir, "report.md")); err != nil {
		t.Error(err)
	}
}

// After some errors nothing works on a GPU in this process: what was found until then is reported, and nothing more
// is tried.
func aGPUThatStops(t *testing.T, dir string) {
	check := func(ctx context.Context, d *cudasim.Driver) (*gpucheck.Report, error) {
		return gpucheck.Run(ctx, gpucheck.Options{Dir: dir, Driver: d, Ranks: []int{1, 3}, NoBench: true})
	}
	r, err := check(context.Background(), &cudasim.Driver{StepLimit: 50})
	if err != nil {
		t.Fatal(show(err))
	}
	page := r.Markdown()
	if !r.Stopped || len(r.Runs) != 1 || len(r.Trials) != 0 || r.Failed() != 1 || !strings.Contains(page, "The GPU stopped") || !strings.Contains(page, "allreduce on 1 ranks: E0742") {
		t.Errorf("%s", page)
	}
	text, err := r.JSON()
	var read struct {
		GPU      string
		Stopped  bool
		Failed   int
		Examples []gpucheck.Outcome
	}
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil || read.GPU != "interpreter 0" || !read.Stopped || read.Failed != 1 || len(read.Examples) != 1 || read.Examples[0] != r.Runs[0] {
		t.Errorf("%v: %s", err, text)
	}
	// An error that passes is no reason to stop.
	if r, err = check(context.Background(), &cudasim.Driver{FailLaunches: 1}); err != nil || r.Stopped || r.Failed() != 1 || len(r.Runs) != 4 {
		t.Errorf("%v, %+v", err, r)
	}
	// Whoever interrupts wants no report.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := check(ctx, &cudasim.Driver{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestTheCheckWithoutAGPUSaysSo(t *testing.T) {
	r, err := gpucheck.Run(context.Background(), gpucheck.Options{Dir: t.TempDir(), Driver: &cudasim.Driver{Missing: true}})
	if err != nil || r.Failed() > 0 || !strings.Contains(r.Markdown(), "Nothing was checked: no GPU to run on") {
		t.Errorf("%v, %+v", err, r)
	}
	r, err = gpucheck.Run(context.Background(), gpucheck.Options{Dir: t.TempDir(), Driver: &cudasim.Driver{GPUs: 2, Old: []int{0, 1}}})
	if err != nil || !strings.Contains(r.Markdown(), "Nothing was checked: no GPU to run on: interpreter 0 has compute capability 7.0") {
		t.Errorf("%v, %+v", err, r)
	}
}

// The benchmarks compute what the simulator says.
func TestWhatIsMeasuredIsRight(t *testing.T) {
	files, _ := filepath.Glob("../../runtime/gpucheck/programs/*.pl")
	if len(files) == 0 {
		t.Fatal("no programs")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, dtype := range []string{"BF16", "FP32"} {
			for _, mode := range []string{"oneshot", "push"} {
				if mode == "push" && !strings.Contains(string(text), "MODE") || dtype == "FP32" && !strings.Contains(string(text), "DTYPE") {
					continue
				}
				_, err := program(t, strings.NewReplacer("DTYPE", dtype, "MODE", mode).Replace(string(text)), 2, &cudasim.Driver{})
				if err != nil {
					t.Errorf("%s, %s, %s: %s", filepath.Base(file), dtype, mode, show(err))
				}
			}
		}
	}
}
