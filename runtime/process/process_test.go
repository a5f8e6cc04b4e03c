package process

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A process that a driver holds does not end when it is killed: nobody waits for it for ever. This one's end is not heard of.
func TestKillDoesNotWaitForEver(t *testing.T) {
	defer func(d time.Duration) { killTime = d }(killTime)
	killTime = 10 * time.Millisecond
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	p.Kill()
	if signal, status := p.Ending(); signal != int(syscall.SIGKILL) || status != 0 {
		t.Errorf("signal %d, status %d", signal, status)
	}
	if got := p.State(); got != "killed, and has not ended" {
		t.Errorf("%q", got)
	}
	cmd.Wait()
	close(p.done)
	if got := p.State(); got != "signal: killed" {
		t.Errorf("%q", got)
	}
}
