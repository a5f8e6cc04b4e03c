package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptoc/runtime/tensor"
)

// What host functions can do, each with the golden function that says what should come out.
var hosts = []struct {
	name, text string
	o          Options
}{
	{"a kernel alone runs on one rank", `
@pl.jit.incore
def double(x: pl.Tensor[[4, 8], pl.FP32], y: pl.Out[pl.Tensor[[4, 8], pl.FP32]], k: pl.Scalar[pl.FP32]):
    pl.store(pl.load(x, [0, 0], [4, 8]) * k, [0, 0], y)

@pl.golden(of=double)
def expected(x, y, k):
    y[:, :] = x * k
`, Options{Ins: []string{"k=2.5"}}},

	{"a chip calls kernels", `
N = pl.dynamic("N")

@pl.jit.incore
def add(x: pl.Tensor[[1, N], pl.INT32], y: pl.InOut[pl.Tensor[[1, N], pl.INT32]], k: pl.Scalar[pl.INDEX]):
    for i in pl.range(N):
        pl.write(y, [0, i], pl.read(y, [0, i]) + pl.read(x, [0, i]) * pl.cast(k, pl.INT32))

@pl.jit
def chip(x: pl.Tensor[[3, N], pl.INT32], y: pl.InOut[pl.Tensor[[1, N], pl.INT32]]):
    for r in pl.range(3):
        add(x[r:r + 1, :], y, r + 1)

@pl.golden(of=chip)
def expected(x, y):
    for r in pl.range(3):
        y[0, :] = y[0, :] + x[r, :] * (r + 1)
`, Options{Defines: map[string]string{"N": "5"}}},

	{"a domain may be some of the ranks", `
NR = pl.dynamic("NR")

@pl.jit.incore
def swap(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         d: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(d)
    other = pld.nranks(ctx) - 1 - pld.rank(ctx)
    pld.tile.remote_store(pl.load(x, [0, 0], [1, 8]), d, peer=other, offsets=[0, 0])
    pld.system.notify(s, other, [0, 0], 1)
    pld.system.wait(s, [0, 0], 1)
    pl.store(pl.load(d, [0, 0], [1, 8]), [0, 0], y)

@pl.jit.incore
def copy(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
    pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    d_buf = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    s_buf = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
    d = pld.window(d_buf, [1, 8], dtype=pl.FP32)
    s = pld.window(s_buf, [1, 1], dtype=pl.INT32)
    for r in pl.range(1, 3):
        swap(x[r], y[r], d, s, device=r)
    copy(x[0], y[0], device=0)
    for r in pl.range(3, pld.world_size()):
        copy(x[r], y[r], device=r)

@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = x[r]
    y[1] = x[2]
    y[2] = x[1]
`, Options{Ranks: 5}},

	{"the host waits for what it reads, and keeps tensors of its own", `
NR = pl.dynamic("NR")

@pl.jit.incore
def count(x: pl.Tensor[[1, 1], pl.INT32], t: pl.InOut[pl.Tensor[[1, 1], pl.INT32]]):
    pl.write(t, [0, 0], pl.read(t, [0, 0]) + pl.read(x, [0, 0]))

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 1], pl.INT32], y: pl.InOut[pl.Tensor[[NR, 1, 1], pl.INT32]]):
    t = pl.create_tensor([1, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        while pl.read(t, [0, 0]) < (r + 1) * 10:
            count(x[r], t, device=r)
        count(t, y[r], device=r)

@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r, 0, 0] = y[r, 0, 0] + (r + 1) * 10
`, Options{Ranks: 3, Ins: []string{"x=full:2", "y=iota"}}},

	{"a signal may be polled", `
NR = pl.dynamic("NR")

@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 1], pl.INT32]], s: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(s)
    n = pld.nranks(ctx)
    if pld.rank(ctx) != 0:
        pld.system.wait(s, [1, 0], 1)
    else:
        seen = pl.read(s, [0, 0])
        while seen < pl.cast(n - 1, pl.INT32):
            seen = pl.read(s, [0, 0])
        pl.write(y, [0, 0], seen)

@pl.jit.incore
def tell(s: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(s))
    pld.system.notify(s, 0, [0, 0], 1)
    pld.system.notify(s, me, [1, 0], 1)

@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, 1], pl.INT32]]):
    buf = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    s = pld.window(buf, [2, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        if r != 0:
            tell(s, device=r)
        step(y[r], s, device=r)

@pl.golden(of=main)
def expected(y):
    pl.write(y, [0, 0, 0], pl.cast(pld.world_size() - 1, pl.INT32))
`, Options{Ranks: 4}},
}

func TestHostProgramsDoWhatTheySay(t *testing.T) {
	for _, h := range hosts {
		for _, w := range ways(t) {
			t.Run(h.name+"/"+w.String(), func(t *testing.T) {
				o := h.o
				o.File, o.Check, o.Repeat, o.Backend, o.Workers, o.Timeout = file(t, h.text), true, 3, w.backend, w.workers, 20*time.Second
				r, err := Run(context.Background(), o)
				if err == nil {
					err = r.Err()
				}
				if err != nil {
					t.Fatal(render(err))
				}
			})
		}
	}
}

func TestMistakesOfHostPrograms(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          Options
		want       []string
	}{
		{"a kernel on many ranks", hosts[0].text, Options{Ins: []string{"k=1"}, Ranks: 2}, []string{"E0704", "runs on one rank, not on 2", "pl.jit.host"}},
		{"a scalar without a value", hosts[0].text, Options{}, []string{"E0702", "needs a value", "--in k=VALUE"}},
		{"a symbol without a value", strings.Replace(shift, "N = 48", `N = pl.dynamic("N")`, 1), Options{Ranks: 2}, []string{"E0705", "N has no value", "-D N=VALUE"}},
		{"an entry that is not there", shift, Options{Entry: "mian"}, []string{"mian"}},
		{"a rank that is not there", strings.Replace(shift, "in pl.range(pld.world_size())", "in pl.range(3)", 1), Options{Ranks: 2, Defines: map[string]string{"NR": "3"}},
			[]string{"E0708", "device 2 does not exist: the program runs on 2 ranks", "device=r"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := c.o
			o.File, o.Backend = file(t, c.text), "sim"
			_, err := Run(context.Background(), o)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if got := render(err); !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
		})
	}
}

func TestAFactoryOfAPythonFileIsRun(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ring.py")
	text := "import pypto.language as pl\nimport pypto.language.distributed as pld\n\n\ndef make(n_ranks, size=8):\n" +
		"    NR = n_ranks\n    N = size\n"
	body := strings.NewReplacer("NR = pl.dynamic(\"NR\")\nN = 48\n", "").Replace(shift + shiftGolden)
	for line := range strings.Lines(body) {
		if strings.TrimSpace(line) != "" {
			line = "    " + line
		}
		text += line
	}
	if err := os.WriteFile(name, []byte(text+"    return main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), Options{File: name, Entry: "make", Set: map[string]string{"n_ranks": "4"}, Ranks: 4, Check: true, Backend: "sim"})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatal(render(err))
	}
	if r.Outputs[0].Shape[2] != 8 {
		t.Errorf("shape %v", r.Outputs[0].Shape)
	}
}

// Sizes whose bytes do not fit 64 bits must not look small.
func TestMemoryThatCannotBeIsAFault(t *testing.T) {
	const program = `
SIZE = 1

@pl.jit.incore
def touch(y: pl.Out[pl.Tensor[[1], pl.FP32]], w: pl.Tensor[[SIZE], pl.FP32]):
    y[0] = w[SIZE - 1]

@pl.jit.incore
def peek(y: pl.Out[pl.Tensor[[1], pl.FP32]], w: pl.InOut[pld.DistributedTensor[[SIZE], pl.FP32]]):
    y[0] = w[SIZE - 1]

@pl.jit.host
def window(y: pl.Out[pl.Tensor[[1], pl.FP32]]):
    b = pld.alloc_window_buffer([SIZE], dtype=pl.FP32)
    peek(y, pld.window(b, [SIZE], dtype=pl.FP32), device=0)

@pl.jit.host
def tensor(y: pl.Out[pl.Tensor[[1], pl.FP32]]):
    t = pl.create_tensor([SIZE], dtype=pl.FP32)
    touch(y, t, device=0)
`
	for _, entry := range []string{"window", "tensor"} {
		for _, size := range []string{"1 << 40", "(1 << 61) - 1", "1 << 61", "1 << 62"} {
			for _, w := range ways(t) {
				o := Options{File: file(t, program), Entry: entry, Ranks: 1, Defines: map[string]string{"SIZE": size}}
				_, err := Run(context.Background(), w.options(o))
				if err == nil || !strings.Contains(render(err), "E0708") {
					t.Errorf("%s of %s, %v: %v", entry, size, w, err)
				}
			}
		}
	}
}

func TestScratchThatCannotBeIsAFault(t *testing.T) {
	const program = `
@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1], pl.FP32]], k: pl.Scalar[pl.INDEX]):
    t = pl.create_tensor([k, k], dtype=pl.FP32)
    y[0] = t[k - 1, k - 1]
`
	flat := strings.Replace(program, "[k, k]", "[k // 3 * 2, k, k % 1000 + k // 2, max(k, 7)]", 1)
	flat = strings.Replace(flat, "t[k - 1, k - 1]", "t[0, 0, 0, 0]", 1)
	for k, code := range map[string]string{"-3": "E0715", "1000000": "E0718", "2147483648": "E0718", "4294967296": "E0718",
		"9223372036854775807": "E0718"} {
		for _, w := range ways(t) {
			for _, text := range []string{program, flat} {
				_, err := Run(context.Background(), w.options(Options{File: file(t, text), Ins: []string{"k=" + k}}))
				if err == nil || !strings.Contains(render(err), code) {
					t.Errorf("k = %s, %v: %v", k, w, err)
				}
			}
		}
	}
}

// What is too large whatever the arguments are is an error before anything runs.
func TestScratchThatNoMachineHasIsAnError(t *testing.T) {
	const program = `
N = pl.dynamic("N")

@pl.jit.incore
def step(x: pl.Tensor[[N], pl.FP32], y: pl.Out[pl.Tensor[[1], pl.FP32]], k: pl.Scalar[pl.INDEX]):
    t = pl.create_tensor(SHAPE, dtype=pl.FP32)
    y[0] = t[0, 0] + x[0]
`
	for shape, possible := range map[string]bool{"[2**20, N]": true, "[2**40, 2**40]": false, "[N * 2**40, 2**40]": false,
		"[k * 2**62, 4]": false, "[0, 2**62]": true, "[2**62, 2 * k]": false} {
		for _, w := range ways(t) {
			text := strings.Replace(program, "SHAPE", shape, 1)
			_, err := Run(context.Background(), w.options(Options{File: file(t, text), Defines: map[string]string{"N": "2"}, Ins: []string{"k=1"}}))
			refused := err != nil && strings.Contains(render(err), ":6:9 error E0313")
			if refused == possible {
				t.Errorf("%s, %v: %v", shape, w, err)
			}
		}
	}
}

// What the system refuses ends in a report: Go itself would end the process.
func TestMemoryThatTheSystemDoesNotHave(t *testing.T) {
	const program = `
N = 4
W = 4

@pl.jit.incore
def step(y: pl.InOut[pl.Tensor[[N], pl.FP32]], d: pl.InOut[pld.DistributedTensor[[W], pl.FP32]], k: pl.Scalar[pl.INDEX]):
    t = pl.create_tensor([k], dtype=pl.FP32)
    y[0] = t[k - 1]

@pl.jit.host
def main(y: pl.InOut[pl.Tensor[[N], pl.FP32]], k: pl.Scalar[pl.INDEX]):
    buf = pld.alloc_window_buffer([W], dtype=pl.FP32)
    step(y, pld.window(buf, [W], dtype=pl.FP32), k, device=0)
`
	const many = 17_000_000_000 // elements, of 68 GB: less than the simulator's limit, which is 64 GiB
	if tensor.Room(4 * many) {
		t.Skip("this machine has it")
	}
	name, n := file(t, program), fmt.Sprint(many)
	for _, c := range []struct{ k, size, window, want string }{{n, "4", "4", "E0718"}, {"4", n, "4", "E0702"}, {"4", "4", n, "E0708"}} {
		o := Options{File: name, Ranks: 1, Backend: "sim", Ins: []string{"k=" + c.k}, Defines: map[string]string{"N": c.size, "W": c.window}}
		if _, err := Run(context.Background(), o); err == nil || !strings.Contains(render(err), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
