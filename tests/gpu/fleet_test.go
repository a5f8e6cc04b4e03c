package gpu

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptoc/codegen/bundle"
	"ptoc/runtime/cuda/fleet"
	"ptoc/runtime/native"
	"ptoc/runtime/run"
	"ptoc/tests/cudasim"
)

func TestMain(m *testing.M) {
	fleet.MaybeWorker(cudasim.Offered)
	os.Exit(m.Run())
}

// inProcesses runs a program, in a file or as text, on ranks with processes of their own; d is a driver that
// all of them share.
func inProcesses(t *testing.T, program string, ranks int, d cudasim.Shared, more ...func(*run.Options)) (*run.Result, error) {
	t.Helper()
	d.Dir = t.TempDir()
	withdraw, err := d.Offer()
	if err != nil {
		t.Fatal(err)
	}
	defer withdraw()
	file := program
	if strings.Contains(program, "\n") {
		file = filepath.Join(t.TempDir(), "program.pl")
		if err := os.WriteFile(file, []byte(program), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := run.Options{File: file, Ranks: ranks, Target: "cuda", Workers: native.Processes, Driver: &d, Check: true, Timeout: 20 * time.Second}
	for _, f := range more {
		f(&o)
	}
	r, err := run.Run(context.Background(), o)
	skipWithoutLLVM(t, err)
	if err == nil {
		err = r.Err()
	}
	return r, err
}

// Ranks with processes of their own compute what ranks of one process do: where windows grow between kernels,
// the host reads what ranks wrote, ranks run different kernels, tiles live in global memory, ranks have several blocks, runs are repeated.
func TestRanksInProcesses(t *testing.T) {
	for _, tt := range []struct {
		name, program string
		ranks         int
	}{
		{"allreduce", allreduce, 4}, {"broadcast", "../../examples/course/12_broadcast.pl", 3}, {"gemm", "../../examples/gemm_allreduce.pl", 2},
		{"composition", "../../examples/course/16_composition.pl", 3}, {"blocks", "../../examples/blocks.pl", 2}, {"growing", growing, 3}, {"pipeline", pipeline, 2}, {"large", large, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := inProcesses(t, tt.program, tt.ranks, cudasim.Shared{GPUs: 4}, func(o *run.Options) { o.Repeat = 2 })
			if err != nil {
				t.Fatal(show(err))
			}
			if r.Workers != "processes with a GPU each" || r.Runs != 2 || r.GPUNS <= 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestABundleRunsInProcesses(t *testing.T) {
	a, _, err := run.Build(context.Background(), run.BuildOptions{File: allreduce, Target: "cuda"})
	skipWithoutLLVM(t, err)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "b")
	if err := bundle.Write(dir, a); err != nil {
		t.Fatal(err)
	}
	if _, err := inProcesses(t, dir, 3, cudasim.Shared{GPUs: 3}); err != nil {
		t.Fatal(show(err))
	}
}

// Processes would take turns on a GPU.
func TestRanksInProcessesNeedAGPUEach(t *testing.T) {
	_, err := inProcesses(t, allreduce, 3, cudasim.Shared{GPUs: 2})
	wants(t, err, "E0741", "3 ranks with processes of their own need 3 GPUs, this machine has 2", "without --workers process all ranks share one GPU")
	_, err = inProcesses(t, allreduce, 2, cudasim.Shared{GPUs: 2, NoPeers: true})
	wants(t, err, "E0741", "GPU 0 cannot reach the memory of GPU 1")
}

// What the driver says in a rank's process comes with the rank.
func TestErrorsOfTheDriverInAProcess(t *testing.T) {
	_, err := inProcesses(t, allreduce, 2, cudasim.Shared{GPUs: 2, FailLaunches: 1})
	wants(t, err, "E0743", "rank ", "kernel step", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)")
	_, err = inProcesses(t, allreduce, 2, cudasim.Shared{GPUs: 2, StepLimit: 50})
	wants(t, err, "E0742", "rank ", "the GPU stopped", "CUDA_ERROR_LAUNCH_FAILED (719)")
	_, err = inProcesses(t, strings.Replace(growing, "BIG = 1048576", "BIG = 1073741824", 1), 2, cudasim.Shared{GPUs: 2})
	wants(t, err, "E0708", "of its 1073741824 bytes")
}

// A process that cannot become a rank says why.
func TestAProcessThatIsNoRank(t *testing.T) {
	d := cudasim.Shared{GPUs: 2}
	_, err := inProcesses(t, allreduce, 2, d, func(o *run.Options) {
		o.Stage = func(s string) {
			if s == "starting ranks" {
				os.Setenv("PTOC_TEST_GPUS", "no JSON")
			}
		}
	})
	wants(t, err, "rank 0", "invalid character")
}
