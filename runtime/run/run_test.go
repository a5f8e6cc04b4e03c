package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptoc/codegen/ptx"
	"ptoc/codegen/toolchain"
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/runtime/controller"
	"ptoc/runtime/cuda"
	"ptoc/runtime/cuda/fleet"
	"ptoc/runtime/native"
	"ptoc/runtime/tensor"
	"ptoc/tests/cudasim"
	"ptoc/tests/ptxrun"
)

func TestMain(m *testing.M) {
	native.MaybeWorker()
	fleet.MaybeWorker(cudasim.Offered)
	os.Exit(m.Run())
}

var rankCounts = []int{1, 2, 3, 4, 5, 8, 16}

// way is one of the ways to run a program.
type way struct {
	backend string
	workers native.Mode
	open    func(*ir.Module, int) (controller.Backend, error)
	driver  func() cuda.Driver
}

// onGPU is --target cuda, on the interpreter's driver. Its time passes quickly.
var onGPU = way{backend: "native", driver: func() cuda.Driver { return &cudasim.Driver{NsPerStep: 1000} }}

// onGPUs is --target cuda --workers process, on a driver of several GPUs that processes share.
func onGPUs(t testing.TB) way {
	d := &cudasim.Shared{Dir: t.TempDir(), GPUs: 4}
	withdraw, err := d.Offer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(withdraw)
	return way{backend: "native", workers: native.Processes, driver: func() cuda.Driver { return d }}
}

func (w way) options(o Options) Options {
	o.Backend, o.Workers, o.Open = w.backend, w.workers, w.open
	if w.open != nil {
		o.Target = "cuda"
	}
	if w.driver != nil {
		o.Target, o.Driver = "cuda", w.driver()
	}
	return o
}

// onPTX runs kernels as PTX on the interpreter.
var onPTX = way{backend: "native", open: func(m *ir.Module, ranks int) (controller.Backend, error) {
	return ptxrun.New(m, ranks, ptxrun.Config{Patience: 1e6, Races: true})
}}

func (w way) String() string {
	if w.open != nil {
		return "ptx"
	}
	if w.driver != nil && w.workers == native.Processes {
		return "cuda processes"
	}
	if w.driver != nil {
		return "cuda"
	}
	if w.backend == "sim" {
		return "sim"
	}
	return w.workers.String()
}

// everywhere is ways and, where there is LLVM, PTX on the interpreter.
func everywhere(t testing.TB) []way {
	if _, err := ptx.Compile("", "sm_80"); errors.Is(err, ptx.ErrNoLLVM) {
		return ways(t)
	}
	return append(ways(t), onPTX)
}

func ways(t testing.TB) []way {
	if _, err := toolchain.Find(); err != nil {
		t.Log("no C++ compiler: only the simulator is tested")
		return []way{{backend: "sim"}}
	}
	return []way{{backend: "sim"}, {backend: "native", workers: native.Threads}, {backend: "native", workers: native.Processes}}
}

// file writes a program.
func file(t testing.TB, text string) string {
	name := filepath.Join(t.TempDir(), "program.pl")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// shift: every rank sends its row to the right.
const shift = `NR = pl.dynamic("NR")
N = 48

@pl.jit.incore
def step(x: pl.Tensor[[1, N], pl.FP32], y: pl.Out[pl.Tensor[[1, N], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[1, N], pl.FP32]], sig: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    right = (me + 1) % pld.nranks(ctx)
    t = pl.load(x, [0, 0], [1, N])
    pld.tile.remote_store(t, data, peer=right, offsets=[0, 0])
    pld.system.notify(sig, right, [0, 0], 1)
    pld.system.wait(sig, [0, 0], 1)
    y = pl.store(pl.load(data, [0, 0], [1, N]) * 2.0, [0, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, N], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, N], pl.FP32]]):
    data_buf = pld.alloc_window_buffer([1, N], dtype=pl.FP32)
    sig_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], pld.window(data_buf, [1, N], dtype=pl.FP32), pld.window(sig_buf, [NR, 1], dtype=pl.INT32), device=r)
`

const shiftGolden = `
@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[(r + 1) % NR] = x[r] * 2.0
`

const allreduce = `NR = pl.dynamic("NR")
N = 100

@pl.jit.incore
def fill(x: pl.Tensor[[1, N], pl.FP16], data: pl.InOut[pld.DistributedTensor[[1, N], pl.FP16]]):
    data = pl.store(pl.load(x, [0, 0], [1, N]), [0, 0], data)

@pl.jit.incore
def read(y: pl.Out[pl.Tensor[[1, N], pl.FP16]], data: pl.InOut[pld.DistributedTensor[[1, N], pl.FP16]]):
    y = pl.store(pl.load(data, [0, 0], [1, N]), [0, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, N], pl.FP16], y: pl.Out[pl.Tensor[[NR, 1, N], pl.FP16]]):
    buf = pld.alloc_window_buffer([1, N], dtype=pl.FP16)
    data = pld.window(buf, [1, N], dtype=pl.FP16)
    for r in pl.range(pld.world_size()):
        fill(x[r], data, device=r)
    data = pld.tensor.allreduce(data, op=pld.ReduceOp.Max)
    for r in pl.range(pld.world_size()):
        read(y[r], data, device=r)

@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(pld.world_size()):
        y[r] = pl.amax(x, axis=0)
`

func TestProgramsRunEverywhere(t *testing.T) {
	for name, text := range map[string]string{"shift": shift + shiftGolden, "unspecified": shift, "allreduce": allreduce} {
		for _, w := range ways(t) {
			if name == "unspecified" && w.backend == "sim" {
				continue
			}
			for _, n := range rankCounts {
				t.Run(fmt.Sprintf("%s/%s/%d", name, w, n), func(t *testing.T) {
					r, err := Run(context.Background(), Options{File: file(t, text), Ranks: n, Check: true, Repeat: 2,
						Backend: w.backend, Workers: w.workers, Timeout: 20 * time.Second})
					if err != nil {
						t.Fatal(render(err))
					}
					if err := r.Err(); err != nil {
						t.Fatal(err)
					}
					if len(r.Outputs) != 1 || r.Outputs[0].Status != Right {
						t.Errorf("outputs: %+v", r.Outputs)
					}
				})
			}
		}
	}
}

// render is what a user sees of an error.
func render(err error) string {
	var list *diag.List
	var one *diag.Diagnostic
	if errors.As(err, &one) {
		list = &diag.List{}
		list.Add(one)
	} else if !errors.As(err, &list) {
		return err.Error()
	}
	var b strings.Builder
	diag.Render(&b, list, diag.Options{})
	return b.String()
}

func TestAWrongResultIsFound(t *testing.T) {
	text := shift + strings.Replace(shiftGolden, "* 2.0", "* 3.0", 1)
	r, err := Run(context.Background(), Options{File: file(t, text), Ranks: 2, Check: true, Backend: "sim"})
	if err != nil {
		t.Fatal(render(err))
	}
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "E0730") || !strings.Contains(err.Error(), "96 of 96 elements differ") {
		t.Errorf("got %v", err)
	}
}

func TestInputsAndOutputsAreFiles(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "x.npy"), filepath.Join(dir, "y.npy")
	x, err := tensor.New(ir.FP32, 3, 1, 48)
	if err != nil {
		t.Fatal(err)
	}
	x.FillIota()
	if err := tensor.Save(in, x); err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), Options{File: file(t, shift), Backend: "sim", Ins: []string{"x=@" + in}, Outs: []string{"y=" + out}, Print: []string{"y"}})
	if err != nil {
		t.Fatal(render(err))
	}
	if r.Ranks != 3 { // the file says so
		t.Errorf("ran on %d ranks", r.Ranks)
	}
	y, err := tensor.Load(out, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := y.Float(48 + 7); got != 14 {
		t.Errorf("y[1, 0, 7] is %v", got)
	}
	if len(r.Printed) != 1 {
		t.Errorf("printed: %v", r.Printed)
	}
	both := filepath.Join(dir, "both.npz")
	if _, err := Run(context.Background(), Options{File: file(t, shift), Backend: "sim", Ins: []string{"x=@" + in}, Outs: []string{"y=" + both, "x=" + both}}); err != nil {
		t.Fatal(render(err))
	}
	for key, want := range map[string]float64{"x": 48 + 7, "y": 14} {
		if got, err := tensor.Load(both, key); err != nil || got.Float(48+7) != want {
			t.Errorf("%s in the archive: %v, %v", key, got, err)
		}
	}
}

func TestMistakesOnTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	wrong := filepath.Join(dir, "wrong.npy")
	x, _ := tensor.New(ir.FP32, 3, 2, 48)
	if err := tensor.Save(wrong, x); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Ranks: 65}, "--ranks must be between 1 and 64, got 65"},
		{Options{Ranks: -1}, "--ranks must be between 1 and 64"},
		{Options{Backend: "gpu"}, "--backend must be native or sim"},
		{Options{Entry: "mian"}, "mian"},
		{Options{Ins: []string{"z=iota"}}, "no parameter z"},
		{Options{Ins: []string{"x=@" + wrong}}, "extent 1 of x must be 1, got 2"},
		{Options{Ins: []string{"x=@missing.npy"}}, "E0701"},
		{Options{Ins: []string{"x=rand"}}, "expected NAME=@FILE.npy"},
		{Options{Ins: []string{"y=iota"}}, "y is an output"},
		{Options{Ins: []string{"x=iota", "x=zeros"}}, "--in x is given twice"},
		{Options{Set: map[string]string{"a": "1"}}, "--set a: there is no factory"},
		{Options{Timeout: -1}, "--timeout must not be negative"},
		{Options{Outs: []string{"q=q.npy"}}, "no parameter q"},
		{Options{Outs: []string{"y=q.txt"}}, "--out takes NAME=FILE.npy"},
		{Options{Outs: []string{"y=q.npy", "x=./q.npy"}}, "--out x=./q.npy: y goes into that file"},
		{Options{Outs: []string{"y=" + dir + "/none/q.npy"}}, "there is no folder " + dir + "/none"},
		{Options{Entry: "step"}, "what calls it can: --entry main"},
		{Options{Print: []string{"yy"}}, "no parameter yy"},
		{Options{Defines: map[string]string{"NR": "3"}, Ranks: 2}, "NR is 3 (-D NR=3), but 2 (--ranks 2)"},
	} {
		o := c.o
		o.File = file(t, shift)
		if o.Backend == "" {
			o.Backend = "sim"
		}
		_, err := Run(context.Background(), o)
		if err == nil {
			t.Errorf("%+v: no error", c.o)
		} else if got := render(err); !strings.Contains(got, c.want) {
			t.Errorf("%+v: no %q in\n%s", c.o, c.want, got)
		}
	}
	if _, err := Run(context.Background(), Options{File: filepath.Join(dir, "none.pl")}); err == nil || !strings.Contains(render(err), "E0701") {
		t.Errorf("missing file: %v", err)
	}
}

func TestACompilerThatFailsIsSaidSo(t *testing.T) {
	t.Setenv("PTOC_CACHE", "/proc/no/such/place") // so that the cache is a temporary one
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	full := filepath.Join(t.TempDir(), "g++") // as g++ does where the disk is full
	script := "#!/bin/sh\necho '/usr/bin/ld: final link failed: No space left on device' >&2\necho 'collect2: error: ld returned 1 exit status' >&2\nexit 1\n"
	if err := os.WriteFile(full, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for cxx, want := range map[string]string{
		"/bin/false":        "E0704: the C++ compiler fails: ",
		"/bin/true":         "/bin/true ends without an error, but wrote no object file",
		full:                "E0704: the C++ compiler fails: ",
		"/no/such/compiler": "E0704: PTOC_CXX names a compiler that cannot be run",
	} {
		t.Setenv("PTOC_CXX", cxx)
		_, err := Run(context.Background(), Options{File: file(t, shift), Ranks: 2})
		if err == nil || !strings.Contains(render(err), want) || !strings.Contains(render(err), "--backend sim") {
			t.Errorf("%s: %v", cxx, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "ptoc-cache-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

var expected = regexp.MustCompile(`# ERROR "(.*)"`)

func TestEveryExampleOfARuntimeCodeFiresIt(t *testing.T) {
	for _, row := range diag.Rows() {
		if row.Code.Family() != "runtime" || row.Example == "" || row.Code == diag.BlocksInTurn { // said by the compiler: grid_test.go
			continue
		}
		t.Run(row.Code.String(), func(t *testing.T) {
			_, err := Run(context.Background(), Options{File: file(t, row.Example), Ranks: 2, Backend: "sim", Timeout: time.Second})
			var d *diag.Diagnostic
			if !errors.As(err, &d) || d.Code != row.Code {
				t.Fatalf("got %v from\n%s", err, row.Example)
			}
			line := d.At.File.Line(d.At.Pos().Line)
			m := expected.FindStringSubmatch(line)
			if m == nil || !regexp.MustCompile(m[1]).MatchString(d.Message) {
				t.Errorf("%q at %q", d.Message, line)
			}
		})
	}
}

// A bundle that may not be read is a file that cannot be read, not a wrong option.
func TestABundleThatMayNotBeRead(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{}"), 0o000); err != nil {
		t.Fatal(err)
	}
	_, err := Run(context.Background(), Options{File: dir})
	var d *diag.Diagnostic
	if !errors.As(err, &d) || d.Code != diag.FileUnreadable || d.Message != filepath.Join(dir, "manifest.json")+": permission denied" {
		t.Errorf("%v", err)
	}
}
