package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptoc/codegen/ptx"
)

// A process that is stopped before it gets a kernel answers nobody either.
func TestAProcessThatDoesNotAnswerBeforeItRuns(t *testing.T) {
	if _, err := ptx.Compile("", "sm_80"); errors.Is(err, ptx.ErrNoLLVM) {
		t.Skip(err)
	}
	text := fmt.Sprintf(broken, "")
	o := Options{File: file(t, text), Ranks: 3, Timeout: 100 * time.Millisecond, Stage: func(stage string) {
		if stage == "running" { // tensors are there; windows are next
			syscall.Kill(children()[0], syscall.SIGSTOP)
		}
	}}
	_, err := Run(context.Background(), onGPUs(t).options(o))
	got := render(err)
	if err == nil || !strings.Contains(got, "E0723") || !strings.Contains(got, "does not answer: it was ended") {
		t.Errorf("%s", got)
	}
	if kids := children(); len(kids) > 0 {
		t.Errorf("processes left: %v", kids)
	}
}

// One that is stopped does not even take what it is told, when that is much.
func TestAProcessThatTakesNoMessageIsEnded(t *testing.T) {
	if _, err := ptx.Compile("", "sm_80"); errors.Is(err, ptx.ErrNoLLVM) {
		t.Skip(err)
	}
	const text = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 8], pl.FP32]], x: pl.Tensor[[1, 8], pl.FP32]):
    pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    for i in pl.range(20000):
        for r in pl.range(pld.world_size()):
            step(y[r], x, device=r)
`
	o := Options{File: file(t, text), Ranks: 2, Timeout: 100 * time.Millisecond, Stage: func(stage string) {
		if stage == "running" {
			syscall.Kill(children()[0], syscall.SIGSTOP)
		}
	}}
	_, err := Run(context.Background(), onGPUs(t).options(o))
	if got := render(err); err == nil || !strings.Contains(got, "E0723") {
		t.Errorf("%s", got)
	}
	if kids := children(); len(kids) > 0 {
		t.Errorf("processes left: %v", kids)
	}
}
