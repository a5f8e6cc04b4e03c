package gpu

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"ptoc/codegen/abi"
	"ptoc/runtime/cuda"
	"ptoc/runtime/cuda/fleet"
	"ptoc/runtime/failure"
	"ptoc/runtime/run"
	"ptoc/tests/cudasim"
)

// Kernels as the engine sees them, by hand: one records its argument as its fault, one never ends.
const byHand = `.version 7.0
.target sm_80
.address_size 64

.visible .entry fail(.param .u64 launch)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [launch];
	ld.global.u64 %rd2, [%rd1];
	ld.global.u64 %rd3, [%rd1+8];
	ld.global.u64 %rd4, [%rd2+32];
	ld.global.u32 %r1, [%rd3];
	st.global.u32 [%rd4], %r1;
	ret;
}

.visible .entry spin(.param .u64 launch)
{
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [launch];
$again:
	bra.uni $again;
}
`

// engine is what cuda.Open and fleet.Open give.
type engine interface {
	Submit(rank, kernel int, args []abi.Arg)
	Wait(context.Context) error
	Recover() error
	Close() error
}

func config(t *testing.T) cuda.Config {
	if at := abi.Offset[abi.GPUCtx]("Fault"); at != 32 {
		t.Fatalf("the fault is at %d", at)
	}
	return cuda.Config{Driver: &cudasim.Driver{NsPerStep: 1000, StepLimit: 1e8}, Ranks: 1, PTX: byHand, Timeout: 10 * time.Millisecond,
		Grace: 5 * time.Millisecond, Kernels: []cuda.Kernel{{Name: "fail", Symbol: "fail", Threads: 1}, {Name: "spin", Symbol: "spin", Threads: 1}}}
}

func TestAnEngineRecoversFromAFault(t *testing.T) {
	e, err := cuda.Open(config(t))
	if err != nil {
		t.Fatal(err)
	}
	recovers(t, e)
}

func TestProcessesRecoverFromAFault(t *testing.T) {
	d := &cudasim.Shared{Dir: t.TempDir(), GPUs: 1}
	withdraw, err := d.Offer()
	if err != nil {
		t.Fatal(err)
	}
	defer withdraw()
	c := config(t)
	c.Driver, c.Timeout, c.Grace = d, 10*time.Second, time.Second
	e, err := fleet.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	recovers(t, e)
}

func recovers(t *testing.T, e engine) {
	for _, code := range []abi.Code{abi.OK, abi.Assert, abi.OK} {
		e.Submit(0, 0, []abi.Arg{{Value: int64(code)}})
		err := e.Wait(context.Background())
		var f *failure.Failure
		if code == abi.OK {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !errors.As(err, &f) || f.First != 0 || f.Ranks[0].Code != code || f.Ranks[0].State != failure.Failed {
			t.Fatalf("%v", err)
		}
		if err := e.Recover(); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestAKernelThatDoesNotStopIsReportedAsStuck(t *testing.T) {
	e, err := cuda.Open(config(t))
	if err != nil {
		t.Fatal(err)
	}
	e.Submit(0, 1, nil)
	err = e.Wait(context.Background())
	var f *failure.Failure
	if !errors.As(err, &f) || f.Cause != failure.Timeout || f.Ranks[0].State != failure.Stuck || f.Ranks[0].Code != abi.Stuck {
		t.Fatalf("%v", err)
	}
	e.Submit(0, 0, []abi.Arg{{}})
	if err := e.Wait(context.Background()); err == nil {
		t.Error("the engine goes on")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// Whoever interrupts it gets no report, but is not kept waiting either.
func TestAKernelThatDoesNotStopIsInterrupted(t *testing.T) {
	e, err := cuda.Open(config(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e.Submit(0, 1, nil)
	if err := e.Wait(ctx); err != context.Canceled {
		t.Errorf("%v", err)
	}
}

// What the host looked at is given back with everything else.
func TestViewsOfWindowsAreGivenBack(t *testing.T) {
	c := config(t)
	e, err := cuda.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	at, err := e.AllocWindow(64)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := e.Window(0, at, 64); err != nil || !bytes.Equal(data, make([]byte, 64)) {
		t.Errorf("%v, %v", data, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if n := c.Driver.(*cudasim.Driver).Left(); n != 0 {
		t.Errorf("%d pieces of memory are left", n)
	}
}

// lengthy only computes.
const lengthy = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(y: pl.InOut[pl.Tensor[[1, 8], pl.FP32]]):
    for i in pl.range(1000):
        y = pl.store(pl.load(y, [0, 0], [1, 8]) + 1.0, [0, 0], y)
    return y

@pl.jit.host
def main(y: pl.InOut[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        step(y[r], device=r)

@pl.golden(of=main)
def expected(y):
    y[...] = y + 1000.0
`

// Kernels that only compute take longer than the host waits, and end before they are given up: what they did is done.
func TestKernelsThatEndAfterAllHaveEnded(t *testing.T) {
	const ranks = 2
	quick := &cudasim.Driver{}
	mustRun(t, lengthy, ranks, quick)
	for _, more := range []struct {
		took time.Duration // of which the host waits one second, and two for them to leave
		want string
	}{{800 * time.Millisecond, ""}, {1900 * time.Millisecond, ""}, {4 * time.Second, "E0721"}} {
		d := &cudasim.Driver{NsPerStep: more.took.Nanoseconds() / quick.Steps}
		_, err := program(t, lengthy, ranks, d)
		if more.want == "" && err != nil {
			t.Errorf("%v: %s", more.took, show(err))
		} else if more.want != "" {
			wants(t, err, more.want, "step without an end", "--timeout")
		}
	}
}

// The same where each rank has a process; how long they take is up to this machine.
func TestKernelsInProcessesThatEndAfterAll(t *testing.T) {
	_, err := inProcesses(t, lengthy, 2, cudasim.Shared{GPUs: 2}, func(o *run.Options) { o.Timeout = 20 * time.Millisecond })
	if err != nil {
		wants(t, err, "E0721", "step without an end")
	}
}

// Two ranks play for longer than a kernel waits by itself; the third, and all blocks but one of each, wait for the end of
// that. The host sees that somebody gets on.
func TestAWaitMayBeLongWhereOthersGetOn(t *testing.T) {
	const text = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(y: pl.InOut[pl.Tensor[[4, 8], pl.FP32]], sig: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]], me: pl.Scalar[pl.INDEX]):
    if me < 2:
        for i in pl.range(2000):
            pld.system.notify(sig, 1 - me, [0, 0], 1)
            pld.system.wait(sig, [0, 0], i + 1)
        if me == 0:
            pld.system.notify(sig, 2, [1, 0], 1)
    else:
        pld.system.wait(sig, [1, 0], 1)
    y = pl.write(y, [0, 0], 1.0)
    for b in pl.spmd(4):
        y = pl.store(pl.load(y, [b, 0], [1, 8]) + 1.0, [b, 0], y)
    return y

@pl.jit.host
def main(y: pl.InOut[pl.Tensor[[NR, 4, 8], pl.FP32]]):
    s_buf = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    sig = pld.window(s_buf, [2, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(y[r], sig, r, device=r)
`
	const ranks = 3
	quick := &cudasim.Driver{}
	mustRun(t, text, ranks, quick)
	const took = 60 * time.Second // a kernel waits for 12 seconds
	mustRun(t, text, ranks, &cudasim.Driver{NsPerStep: took.Nanoseconds() / quick.Steps})
}
