package gpu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ptoc/codegen/bundle"
	"ptoc/runtime/run"
	"ptoc/tests/cudasim"
)

// program is run with --target cuda --check.
func program(t *testing.T, text string, ranks int, d *cudasim.Driver, more ...func(*run.Options)) (*run.Result, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program.pl")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if d.StepLimit == 0 {
		d.StepLimit = 1e8
	}
	o := run.Options{File: file, Ranks: ranks, Target: "cuda", Driver: d, Check: true, Timeout: time.Second}
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

func mustRun(t *testing.T, text string, ranks int, d *cudasim.Driver) {
	t.Helper()
	if _, err := program(t, text, ranks, d); err != nil {
		t.Fatal(show(err))
	}
}

// wants reports what an error does not say.
func wants(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	got := show(err)
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("no %q in\n%s", w, got)
		}
	}
}

const allreduce = "../../examples/allreduce.pl"

func TestRanksThatDoNotFitAreRefusedWithNumbers(t *testing.T) {
	o := run.Options{File: allreduce, Ranks: 5, Target: "cuda", Driver: &cudasim.Driver{SMs: 2, BlocksPerSM: 2}}
	_, err := run.Run(context.Background(), o)
	skipWithoutLLVM(t, err)
	wants(t, err, "E0741", "5 ranks do not fit onto interpreter 0 at once", "kernel step", "128 threads", "holds 4", "2 on each of 2", "at most 4 ranks")
}

func TestNoGPUIsOneLine(t *testing.T) {
	o := run.Options{File: allreduce, Ranks: 2, Target: "cuda", Driver: &cudasim.Driver{Missing: true}}
	_, err := run.Run(context.Background(), o)
	skipWithoutLLVM(t, err)
	wants(t, err, "E0740", "no GPU to run on", "--target cpu")
}

func TestErrorsOfTheDriverAreReported(t *testing.T) {
	o := run.Options{File: allreduce, Ranks: 2, Target: "cuda", Driver: &cudasim.Driver{FailLaunches: 1}}
	_, err := run.Run(context.Background(), o)
	skipWithoutLLVM(t, err)
	wants(t, err, "E0743", "kernel step", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)")
}

// Rank 1 waits for the second kernel of rank 0.
const pipeline = `NR = pl.dynamic("NR")

@pl.jit.incore
def produce(x: pl.Tensor[[1, 8], pl.FP32], d: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
            s: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]], k: pl.Scalar[pl.FP32]):
    pld.tile.remote_store(pl.load(x, [0, 0], [1, 8]) * k, d, peer=1, offsets=[0, 0])
    pld.system.notify(s, 1, [0, 0], 1)

@pl.jit.incore
def consume(y: pl.Out[pl.Tensor[[1, 8], pl.FP32]], d: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
            s: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]]):
    pld.system.wait(s, [0, 0], 2)
    pl.store(pl.load(d, [0, 0], [1, 8]), [0, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
    d_buf = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    s_buf = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
    d = pld.window(d_buf, [1, 8], dtype=pl.FP32)
    s = pld.window(s_buf, [1, 1], dtype=pl.INT32)
    consume(y, d, s, device=1)
    produce(x, d, s, 2.0, device=0)
    produce(x, d, s, 3.0, device=0)

@pl.golden(of=main)
def expected(x, y):
    y[:, :] = x * 3.0
`

func TestRanksWithDifferentKernelsRunSideBySide(t *testing.T) {
	for _, gpus := range []int{1, 2} {
		d := &cudasim.Driver{GPUs: gpus}
		mustRun(t, pipeline, 2, d)
		for _, l := range d.Launches {
			if gpus == 1 && l.Cooperative {
				t.Errorf("%s was launched for %d ranks together", l.Entry, l.Ranks)
			}
		}
	}
	_, err := program(t, pipeline, 2, &cudasim.Driver{SMs: 1, BlocksPerSM: 1})
	wants(t, err, "E0741", "2 ranks do not fit")
}

// PTX for newer GPUs is not given to the driver of an old one.
func TestKernelsForNewerGPUs(t *testing.T) {
	_, err := program(t, large, 1, &cudasim.Driver{GPUs: 2}, func(o *run.Options) { o.Arch = "sm_90" })
	wants(t, err, "E0740", "the kernels were compiled for sm_90, interpreter 0 is sm_80")
	if _, err = program(t, large, 1, &cudasim.Driver{}, func(o *run.Options) { o.Arch = "sm_80" }); err != nil {
		t.Error(show(err))
	}
}

// The windows grow between two kernels: what they held stays.
const growing = `NR = pl.dynamic("NR")
BIG = 1048576

@pl.jit.incore
def put(x: pl.Tensor[[1, 8], pl.FP32], d: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]], n: pl.Out[pl.Tensor[[1, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(d))
    pld.tile.remote_store(pl.load(x, [0, 0], [1, 8]), d, peer=me, offsets=[0, 0])
    pl.write(n, [0, 0], pl.const(3, pl.INT32))

@pl.jit.incore
def take(y: pl.Out[pl.Tensor[[1, 8], pl.FP32]], d: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
         b: pl.InOut[pld.DistributedTensor[[1, BIG], pl.FP32]], k: pl.Scalar[pl.INT32]):
    t = pl.load(b, [0, BIG - 8], [1, 8])
    pl.store(pl.load(d, [0, 0], [1, 8]) * pl.cast(k, pl.FP32) + t, [0, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    n = pl.create_tensor([1, 1], pl.INT32)
    d_buf = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    d = pld.window(d_buf, [1, 8], dtype=pl.FP32)
    for r in pl.range(pld.world_size()):
        put(x[r], d, n, device=r)
    k = pl.read(n, [0, 0])
    b_buf = pld.alloc_window_buffer([1, BIG], dtype=pl.FP32)
    b = pld.window(b_buf, [1, BIG], dtype=pl.FP32)
    for r in pl.range(pld.world_size()):
        take(y[r], d, b, k, device=r)

@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = x[r] * 3.0
`

func TestWindowsGrow(t *testing.T) {
	mustRun(t, growing, 3, &cudasim.Driver{})
	mustRun(t, growing, 3, &cudasim.Driver{GPUs: 3})
}

func TestWindowsLargerThanTheGPUAreRefused(t *testing.T) {
	_, err := program(t, strings.Replace(growing, "BIG = 1048576", "BIG = 134217728", 1), 3, &cudasim.Driver{})
	wants(t, err, "E0708", "3 ranks on interpreter 0 need 1610612928 of its 1073741824 bytes")
}

// A tile that is too large for shared memory.
const large = `@pl.jit.incore
def big(x: pl.Tensor[[200, 300], pl.FP32], y: pl.Out[pl.Tensor[[300, 200], pl.FP32]]):
    t = pl.load(x, [0, 0], [200, 300])
    pl.store(pl.transpose(t), [0, 0], y)

@pl.golden(of=big)
def expected(x, y):
    y[:, :] = pl.transpose(x)
`

func TestLargeTilesLiveInGlobalMemory(t *testing.T) { mustRun(t, large, 1, &cudasim.Driver{}) }

// One GPU after the other is not enough for one each; where they do not reach each other, all share one.
func TestWhereRanksGo(t *testing.T) {
	for _, tt := range []struct {
		d      *cudasim.Driver
		opened []int
		used   []int
	}{
		{&cudasim.Driver{GPUs: 5}, []int{0, 1, 2, 3}, []int{0, 1, 2, 3}},
		{&cudasim.Driver{GPUs: 3}, []int{0}, []int{0}},
		{&cudasim.Driver{GPUs: 4, NoPeers: true}, []int{0}, []int{0}},
		// One that is too old, or that somebody else has, is passed over.
		{&cudasim.Driver{GPUs: 3, Old: []int{0}, Busy: []int{1}}, []int{0, 2}, []int{2}},
		{&cudasim.Driver{GPUs: 4, Busy: []int{1}}, []int{0, 0}, []int{0}},
		{&cudasim.Driver{GPUs: 4, Old: []int{2}}, []int{0, 1, 2, 0}, []int{0}},
	} {
		_, err := program(t, growing, 4, tt.d)
		if err != nil {
			t.Fatal(show(err))
		}
		var used []int
		for _, l := range tt.d.Launches {
			used = append(used, l.GPU)
		}
		slices.Sort(used)
		if used = slices.Compact(used); !slices.Equal(used, tt.used) || !slices.Equal(tt.d.Opened, tt.opened) {
			t.Errorf("of %d GPUs %v are in use, not %v; opened were %v, not %v", tt.d.GPUs, used, tt.used, tt.d.Opened, tt.opened)
		}
	}
	_, err := program(t, growing, 4, &cudasim.Driver{GPUs: 2, Old: []int{0}, Busy: []int{1}})
	wants(t, err, "E0740", "interpreter 0 has compute capability 7.0, kernels need 8.0")
}

// Every rank adds to the same tensor.
const adding = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.InOut[pl.Tensor[[1, 8], pl.FP32]]):
    pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], y, atomic=pld.AtomicType.Add)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.InOut[pl.Tensor[[1, 8], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        step(x[r], y, device=r)

@pl.golden(of=main)
def expected(x, y):
    y[:, :] = y + pl.sum(x, axis=0)
`

// Tensors are the host's memory where ranks have a GPU each. Where GPUs cannot add to that, ranks that do share one.
func TestRanksThatAddToATensorShareAGPU(t *testing.T) {
	for _, tt := range []struct {
		d    cudasim.Driver
		text string
		used int
	}{{cudasim.Driver{GPUs: 3}, adding, 3}, {cudasim.Driver{GPUs: 3, NoHostAtomics: true}, adding, 1}, {cudasim.Driver{GPUs: 3, NoHostAtomics: true}, growing, 3}} {
		if _, err := program(t, tt.text, 3, &tt.d); err != nil {
			t.Fatal(show(err))
		}
		if len(tt.d.Opened) != tt.used {
			t.Errorf("GPUs %v are in use, not %d", tt.d.Opened, tt.used)
		}
	}
	_, err := inProcesses(t, adding, 2, cudasim.Shared{GPUs: 2, NoHostAtomics: true})
	wants(t, err, "E0741", "kernel step adds to a tensor", "without --workers process all ranks share one GPU")
	if _, err := inProcesses(t, adding, 2, cudasim.Shared{GPUs: 2}); err != nil {
		t.Error(show(err))
	}
}

// A bundle for GPUs needs no LLVM.
func TestBundlesRunWithoutACompiler(t *testing.T) {
	for _, text := range []string{"", large, pipeline} {
		file, ranks := allreduce, 3
		if text != "" {
			file, ranks = filepath.Join(t.TempDir(), "program.pl"), 0
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if text == pipeline {
			ranks = 2
		}
		a, _, err := run.Build(context.Background(), run.BuildOptions{File: file, Target: "cuda"})
		skipWithoutLLVM(t, err)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "b")
		if err := bundle.Write(dir, a); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PTOC_CXX", "/nonexistent")
		r, err := run.Run(context.Background(), run.Options{File: dir, Ranks: ranks, Check: true, Driver: &cudasim.Driver{StepLimit: 1e8}})
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			t.Fatal(show(err))
		}
		if r.Workers != "blocks on GPUs" || !strings.HasPrefix(r.ComparedWith, "golden") {
			t.Errorf("%+v", r)
		}
		if _, err := run.Run(context.Background(), run.Options{File: dir, Ranks: ranks, Target: "cpu"}); err == nil || !strings.Contains(err.Error(), "was compiled for GPUs") {
			t.Errorf("%v", err)
		}
		damage(t, dir)
	}
}

func damage(t *testing.T, dir string) {
	if err := os.Truncate(filepath.Join(dir, "kernels.ptx"), 10); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Open(dir); err == nil || !strings.Contains(err.Error(), "kernels.ptx is damaged") {
		t.Error(err)
	}
}

// What the driver refuses the host program has its own code, and a place.
func TestATensorForWhichThereIsNoMemory(t *testing.T) {
	const greedy = `@pl.jit.incore
def step(t: pl.Out[pl.Tensor[[1048576, 1], pl.INT32]], y: pl.Out[pl.Tensor[[1, 1], pl.INT32]]):
    pl.write(t, [0, 0], pl.const(3, pl.INT32))
    pl.write(y, [0, 0], pl.const(4, pl.INT32))

@pl.jit.host
def main(y: pl.Out[pl.Tensor[[1, 1], pl.INT32]]):
    t = pl.create_tensor([1048576, 1], pl.INT32)
    step(t, y, device=0)
`
	_, err := program(t, greedy, 1, &cudasim.Driver{Memory: 3 << 20})
	wants(t, err, "program.pl:8:9 error E0743", "a tensor of ", "CUDA_ERROR_OUT_OF_MEMORY (2)")
	_, err = program(t, large, 1, &cudasim.Driver{Memory: 100 << 10})
	wants(t, err, "error E0743: x: a tensor of ", "CUDA_ERROR_OUT_OF_MEMORY (2)")
}

// What a kernel does wrong in its own memory shows as an error of the driver.
func TestAnErrorOfTheGPUEndsTheRun(t *testing.T) {
	_, err := program(t, pipeline, 2, &cudasim.Driver{StepLimit: 50})
	wants(t, err, "E0742", "the GPU stopped: while produce, consume ran: ", "CUDA_ERROR_LAUNCH_FAILED (719)")
	if errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// After an error that passes, or none, nothing is left on the GPU: who goes on needs the memory.
func TestMemoryIsGivenBack(t *testing.T) {
	for name, text := range map[string]string{"pipeline": pipeline, "growing": growing, "large": large} {
		for _, gpus := range []int{1, 2} {
			ranks := 2
			if text == large {
				ranks = 1
			}
			whole := &cudasim.Driver{GPUs: gpus}
			mustRun(t, text, ranks, whole)
			for n := range len(whole.Launches) + 1 {
				d := &cudasim.Driver{GPUs: gpus, FailLaunches: n}
				_, err := program(t, text, ranks, d)
				if (err != nil) != (n > 0) {
					t.Errorf("%s, %d GPUs, launch %d: %v", name, gpus, n, err)
				}
				if d.Left() != 0 {
					t.Errorf("%s, %d GPUs, launch %d: %d pieces of memory are left", name, gpus, n, d.Left())
				}
			}
		}
	}
}
