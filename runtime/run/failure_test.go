package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptoc/codegen/ptx"
	"ptoc/runtime/native"
)

// A program that goes wrong: the body of a kernel that every rank runs, with a signal window sig of
// four cells, a data window of eight values, me and n.
const broken = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
         sig: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]], k: pl.Scalar[pl.INDEX]):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
%s
@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32]):
    data_buf = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    sig_buf = pld.alloc_window_buffer([4, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], pld.window(data_buf, [1, 8], dtype=pl.FP32), pld.window(sig_buf, [4, 1], dtype=pl.INT32), r, device=r)
`

var failures = []struct {
	name string
	body string // "# HERE" marks the line that the report must point to
	want []string
}{
	{"wait before notify", `
    pld.system.wait(sig, [0, 0], 1)  # HERE
    pld.system.notify(sig, (me + 1) % n, [0, 0], 1)
`, []string{"E0720", "waits for ever", "sig[0, 0] is 0, expected >= 1", "pld.system.notify of step signals sig[0, 0]; ", "wait themselves"}},
	{"missing notify", `
    if me != 0:
        pld.system.notify(sig, (me + 1) % n, [0, 0], 1)
    pld.system.wait(sig, [0, 0], 1)  # HERE
`, []string{"E0720", "rank 1 waits for ever", "sig[0, 0] is 0, expected >= 1", "ranks [0, 2] finished"}},
	{"wrong cell", `
    pld.system.notify(sig, (me + 1) % n, [1, 0], 1)
    pld.system.wait(sig, [2, 0], 1)  # HERE
`, []string{"E0720", "sig[2, 0] is 0, expected >= 1", "sig[1, 0] is 1",
		"no kernel of this run notifies sig[2, 0]", "signals sig[1, 0] instead"}},
	{"a credit that is taken back ends no wait", `
    if me == 7:
        pld.system.notify(sig, me, [me, 0], 1)
    pld.system.wait(sig, [0, 0], 1)  # HERE
    pld.system.notify(sig, me, [0, 0], -1)
`, []string{"E0720", "pld.system.notify of step signals sig; ", "ranks [0, 1, 2] wait themselves"}},
	{"rank that returns early", `
    if me == 1:
        return
    pld.system.notify(sig, (me + 1) % n, [0, 0], 1)
    pld.system.wait(sig, [0, 0], 1)  # HERE
`, []string{"E0720", "rank 2 waits for ever", "sig[0, 0] is 0, expected >= 1", "ranks [0, 1] finished"}},
	{"rank-dependent collective", `
    if me != 1:
        pld.tensor.barrier(sig)
`, []string{"E0720", "waits for ever", "rank 1 finished"}},
	{"kernel that loops for ever", `
    i = 0
    if me == 1:
        while i >= 0:  # HERE
            i = (i + 1) % 7
    pld.system.notify(sig, 0, [0, 0], 1 + i)
    pld.system.wait(sig, [0, 0], 0)
`, []string{"E0721", "rank 1 runs step without an end"}},
	{"access outside", `
    t = pl.load(x, [0, k % 2 * 4], [1, 8])  # HERE
    data = pl.store(t, [0, 0], data)
`, []string{"E0710", "rank 1 reaches past the end of dimension 1: offset 4 + extent 8 > 8"}},
	{"peer outside", `
    pld.system.notify(sig, me + 1, [0, 0], 1)  # HERE
`, []string{"E0712", "the domain has ranks 0 to 2"}},
	{"cell outside", `
    pld.system.notify(sig, me, [k + 3, 0], 1)  # HERE
`, []string{"E0713"}},
	{"access outside in one block", `
    for b in pl.spmd(4):
        t = pl.load(x, [0, b // 3 * (k % 2) * 4], [1, 8])  # HERE
        pl.store(t[0:1, 0:2], [0, 2 * b], data)
    pld.system.notify(sig, me, [0, 0], 1)
`, []string{"E0710", "rank 1 reaches past the end of dimension 1: offset 4 + extent 8 > 8"}},
	{"fault before blocks", `
    pld.system.notify(sig, me, [k + 3, 0], 1)  # HERE
    for b in pl.spmd(4):
        pl.store(pl.load(x, [0, 2 * b], [1, 2]), [0, 2 * b], data)
        pld.system.notify(sig, me, [0, 0], 1)
`, []string{"E0713"}},
	{"block that waits for ever", `
    for b in pl.spmd(4):
        pl.store(pl.load(x, [0, 2 * b], [1, 2]), [0, 2 * b], data)
        if b == 3:
            pld.system.wait(sig, [2, 0], 3)  # HERE
    pld.system.notify(sig, me, [2, 0], 1)
`, []string{"E0720", "waits for ever", "sig[2, 0] is 0, expected >= 3"}},
	{"ranks that wait for a block", `
    for b in pl.spmd(4):
        if b != 2 or me != 1:
            for p in pl.range(n):
                pld.system.notify(sig, p, [b, 0], 1)
    pld.system.wait(sig, [2, 0], n)  # HERE
`, []string{"E0720", "waits for ever", "sig[2, 0] is 2, expected >= 3"}},
	{"more than a tile has room for", `
    t = pl.load(x, [0, 0], [1, 4], valid_shape=[1, 4 + k % 2])
    data = pl.store(t * 2.0, [0, 0], data)  # HERE
`, []string{"E0715", "rank 1 has the value 5 where it must be in [0, 4]"}},
	{"less than nothing", `
    t = pl.load(x, [0, 0], [1, 4], valid_shape=[1, 1 - 2 * (k % 2)])  # HERE
    data = pl.store(t * 2.0, [0, 0], data)
`, []string{"E0710", "rank 1 has the extent -1 in dimension 1"}},
	{"division by zero", `
    pld.system.notify(sig, me, [0, 0], 7 // k)  # HERE
`, []string{"E0714", "divides 7 by zero"}},
}

func TestFailuresAreReported(t *testing.T) {
	everywhere := ways(t)
	if _, err := ptx.Compile("", "sm_80"); !errors.Is(err, ptx.ErrNoLLVM) {
		everywhere = append(everywhere, onPTX, onGPU, onGPUs(t))
	}
	for _, f := range failures {
		for _, w := range everywhere {
			t.Run(f.name+"/"+w.String(), func(t *testing.T) {
				text := fmt.Sprintf(broken, strings.TrimPrefix(f.body, "\n"))
				start := time.Now()
				_, err := Run(context.Background(), w.options(Options{File: file(t, text), Ranks: 3, Timeout: 400 * time.Millisecond}))
				if err == nil {
					t.Fatal("no error")
				}
				got := render(err)
				for _, want := range f.want {
					if !strings.Contains(got, want) {
						t.Errorf("no %q", want)
					}
				}
				if line := markedLine(text); line > 0 && !strings.Contains(strings.SplitN(got, "\n", 2)[0], fmt.Sprintf(".pl:%d:", line)) {
					t.Errorf("not at line %d", line)
				}
				if t.Failed() || testing.Verbose() {
					t.Log("\n" + got)
				}
				if took := time.Since(start); took > 15*time.Second {
					t.Errorf("took %v", took)
				}
				if kids := children(); len(kids) > 0 {
					t.Errorf("processes left: %v", kids)
				}
			})
		}
	}
}

// Where every rank fails, those that had not begun when the first one did have not finished either.
func TestARankThatNeverRanHasNotFinished(t *testing.T) {
	text := fmt.Sprintf(broken, "    pld.system.notify(sig, me, [0, 0], 7 // (n - 3))\n")
	for _, w := range ways(t) {
		for range 5 {
			_, err := Run(context.Background(), w.options(Options{File: file(t, text), Ranks: 3, Timeout: 10 * time.Second}))
			if err == nil {
				t.Fatal("no error")
			}
			if got := render(err); !strings.Contains(got, "E0714") || strings.Contains(got, "finished") {
				t.Errorf("%v:\n%s", w, got)
			}
		}
	}
}

// Cut to 32 bits, 3000000000 is negative: a wait for it would not wait.
func TestAValueThatNoCellHoldsIsAFault(t *testing.T) {
	for _, op := range []string{"wait(sig, [0, 0], (me + 1) * 3000000000)", "notify(sig, me, [0, 0], (me + 1) * 3000000000)"} {
		text := fmt.Sprintf(broken, "    pld.system."+op+"\n")
		for _, w := range ways(t) {
			_, err := Run(context.Background(), w.options(Options{File: file(t, text), Ranks: 2, Timeout: 10 * time.Second}))
			if err == nil || !strings.Contains(render(err), "E0715") || !strings.Contains(render(err), "it must be in [-2147483648, 2147483647]") {
				t.Errorf("%s, %v: %v", op, w, err)
			}
		}
	}
}

// A loop over a long row is turned into one over blocks of it, which fit whatever the row's extent is: the extent
// is checked all the same, also where what is read beside it has room for less.
func TestAnExtentIsCheckedWhereBlocksTakeTheTilesPlace(t *testing.T) {
	const text = `@pl.jit.incore
def k(x: pl.Tensor[[4, 2048], pl.FP32], y: pl.Out[pl.Tensor[[2, 2048], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    t = pl.load(x, [0, 0], [1, 1024], valid_shape=[1, n])
    %s
    for i in pl.range(1, 4):
        t = t + pl.load(x, [i, 0], [1, 1024], valid_shape=[1, n])
        %s
    return pl.store(t, [0, 0], y)
`
	const short = "y = pl.store(pl.load(x, [3, 0], [1, 600], valid_shape=[1, n]), [1, 0], y)"
	for program, room := range map[string]int{
		fmt.Sprintf(text, "", ""): 1024, fmt.Sprintf(text, short, ""): 600, fmt.Sprintf(text, "", short): 600,
	} {
		for _, w := range everywhere(t) {
			for _, n := range []int{0, 600, 601, 1000, 1024, 1025, 2048} {
				_, err := Run(context.Background(), w.options(Options{File: file(t, program), Timeout: 10 * time.Second, Ins: []string{fmt.Sprint("n=", n)}}))
				want := fmt.Sprintf("rank 0 has the value %d where it must be in [0, ", n)
				if n <= room && err != nil || n > room && (err == nil || !strings.Contains(render(err), "E0715") || !strings.Contains(render(err), want)) {
					t.Errorf("%v, room for %d, n = %d: %v", w, room, n, err)
				}
			}
		}
	}
}

func markedLine(text string) int {
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "# HERE") {
			return i + 1
		}
	}
	return 0
}

// children are the processes that this one has started, without compilers.
func children() []int {
	var out []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		rest := string(text[strings.LastIndexByte(string(text), ')')+1:])
		var state string
		var parent, pid int
		fmt.Sscan(rest, &state, &parent)
		fmt.Sscan(string(text), &pid)
		if parent == os.Getpid() {
			out = append(out, pid)
		}
	}
	return out
}

// withProcesses are the ways in which a rank has a process of its own.
func withProcesses(t *testing.T) (out []way) {
	if _, err := ptx.Compile("", "sm_80"); !errors.Is(err, ptx.ErrNoLLVM) {
		out = append(out, onGPUs(t))
	}
	for _, w := range ways(t) {
		if w.workers == native.Processes {
			out = append(out, w)
		}
	}
	return out
}

// signalled runs a program whose ranks wait for ever, and sends one of their processes a signal.
func signalled(t *testing.T, w way, s syscall.Signal, o Options) string {
	t.Helper()
	text := fmt.Sprintf(broken, "    pld.system.wait(sig, [0, 0], 1)\n")
	o.File, o.Ranks = file(t, text), 3
	o.Stage = func(stage string) {
		if stage == "running" {
			time.AfterFunc(300*time.Millisecond, func() { syscall.Kill(children()[0], s) })
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := Run(context.Background(), w.options(o))
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Fatal("no error")
		}
		if kids := children(); len(kids) > 0 {
			t.Errorf("processes left: %v", kids)
		}
		return render(err)
	case <-time.After(20 * time.Second):
		t.Fatal("no report")
	}
	return ""
}

func TestAKilledRankIsReported(t *testing.T) {
	for _, w := range withProcesses(t) {
		t.Run(w.String(), func(t *testing.T) {
			got := signalled(t, w, syscall.SIGKILL, Options{Timeout: 20 * time.Second})
			for _, want := range []string{"E0723", "was ended by signal 9", "waiting here", "sig[0, 0] is 0"} {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
		})
	}
}

// A process that is stopped answers nobody, not even that it should end.
func TestAProcessThatDoesNotAnswerIsEnded(t *testing.T) {
	for _, w := range withProcesses(t) {
		t.Run(w.String(), func(t *testing.T) {
			got := signalled(t, w, syscall.SIGSTOP, Options{Timeout: time.Second})
			for _, want := range []string{"E0721", "runs step without an end", "it does not react when it is told to stop", "ranks ["} {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
		})
	}
}

func TestAnInterruptStopsTheRanks(t *testing.T) {
	text := fmt.Sprintf(broken, "    pld.system.wait(sig, [0, 0], 1)\n")
	everywhere := ways(t)
	if _, err := ptx.Compile("", "sm_80"); !errors.Is(err, ptx.ErrNoLLVM) {
		everywhere = append(everywhere, onGPU, onGPUs(t))
	}
	for _, w := range everywhere {
		if w.backend == "sim" { // it finds the deadlock first
			continue
		}
		t.Run(w.String(), func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			_, err := Run(ctx, w.options(Options{File: file(t, text), Ranks: 3, Timeout: 20 * time.Second,
				Stage: func(s string) {
					if s == "running" {
						time.AfterFunc(100*time.Millisecond, cancel)
					}
				}}))
			if err != context.Canceled {
				t.Errorf("got %v", err)
			}
			if kids := children(); len(kids) > 0 {
				t.Errorf("processes left: %v", kids)
			}
		})
	}
}

// LLVM does not look whether its work is still wanted: what it makes then is thrown away.
func TestAnInterruptWhileLLVMWorks(t *testing.T) {
	llc := filepath.Join(t.TempDir(), "llc")
	text := "#!/bin/sh\ntest \"$1\" = --version && echo LLVM version 16 nvptx64 && exit\nsleep 0.5\nprintf '\\n.target sm_80\\n'\n"
	if err := os.WriteFile(llc, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PTOC_LLVM", llc)
	const allreduce = "../../examples/allreduce.pl"
	if _, _, err := Build(context.Background(), BuildOptions{File: allreduce, Target: "cuda"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, _, err := Build(ctx, BuildOptions{File: allreduce, Target: "cuda"}); err != context.DeadlineExceeded {
		t.Errorf("%v", err)
	}
}

func TestAStepOfZeroIsAFault(t *testing.T) {
	const program = `
@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1], pl.INDEX]], k: pl.Scalar[pl.INDEX]):
    n = 0
    for i in pl.range(0, 3, k):
        n += i
    y[0] = n
`
	for _, w := range ways(t) {
		_, err := Run(context.Background(), w.options(Options{File: file(t, program), Ins: []string{"k=0"}}))
		if err == nil || !strings.Contains(render(err), ":5:5 error E0715: rank 0 counts with a step of 0") {
			t.Errorf("%v: %v", w, err)
		}
	}
}

// A rank that has what it waits for is not said to wait for it.
func TestAReportDoesNotContradictItself(t *testing.T) {
	const program = `
import ptoc.distributed as pld
NR = pl.dynamic("NR")

@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[4], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(s))
    if me == 0:
        pld.system.wait(s, [0], 1)
    else:
        pld.system.notify(s, 0, [0], 1)
        y[me + 10] = 1.0
    y[0] = 1.0

@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 4], pl.FP32]]):
    sb = pld.alloc_window_buffer([1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(y[r], pld.window(sb, [1], dtype=pl.INT32), device=r)
`
	_, err := Run(context.Background(), Options{File: file(t, program), Ranks: 2, Backend: "sim"})
	if err == nil {
		t.Fatal("no error")
	}
	text := render(err)
	if !strings.Contains(text, "E0710: rank 1 ") || strings.Contains(text, "is 1, expected >= 1") || !strings.Contains(text, "about to go on from here: s[0] is 1") {
		t.Error(text)
	}
}
