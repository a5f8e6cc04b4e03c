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
