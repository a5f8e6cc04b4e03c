// Package process starts this program again, as a worker that lives no longer than the one that started it.
package process

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a worker. A nil Process is one that has ended.
type Process struct {
	cmd    *exec.Cmd
	done   chan struct{}
	output tail
}

// Start runs this program with env added to its environment, and files as its descriptors from 3 on. ended, if
// there is one, is called when the process has ended, before others learn of it.
func Start(env []string, files []*os.File, ended func(*Process)) (*Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(exe), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	if os.Getenv("GOTRACEBACK") == "" { // the report names the kernel; our own stacks tell a user nothing
		p.cmd.Env = append(p.cmd.Env, "GOTRACEBACK=none")
	}
	p.cmd.ExtraFiles = files
	p.cmd.Stderr = &p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL, // nobody is left when we are killed
		Setpgid:   true,            // Ctrl-C is ours to handle
	}
	started := make(chan error)
	go func() {
		// Pdeathsig comes when the *thread* that started the process ends: this one stays as long as the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.cmd.Wait()
		if ended != nil {
			ended(p)
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Pid is its number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Exited reports whether it has ended.
func (p *Process) Exited() bool {
	if p == nil {
		return true
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Done is closed when it has ended.
func (p *Process) Done() <-chan struct{} {
	if p == nil {
		return closed
	}
	return p.done
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Ending is the signal that ended it, or its exit status. One that was killed and has not ended yet counts as ended
// by that.
func (p *Process) Ending() (signal, status int) {
	if !p.Exited() {
		return int(syscall.SIGKILL), 0
	}
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return int(ws.Signal()), 0
	}
	return 0, p.cmd.ProcessState.ExitCode()
}

// State says in words how it ended.
func (p *Process) State() string {
	if !p.Exited() {
		return "killed, and has not ended"
	}
	return p.cmd.ProcessState.String()
}

// killTime is how long Kill waits.
var killTime = 5 * time.Second

// Kill ends it, and returns when it has ended. One that the system does not end, because a driver holds it, as that of a
// broken GPU does, is left alone after a while.
func (p *Process) Kill() {
	if p == nil {
		return
	}
	p.cmd.Process.Kill()
	select {
	case <-p.done:
	case <-time.After(killTime):
	}
}

// Output is the last that it wrote to its standard error.
func (p *Process) Output() string {
	if p == nil {
		return ""
	}
	return p.output.String()
}

// tail keeps the last bytes that are written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - tailBytes; extra > 0 {
		t.buf = append([]byte{}, t.buf[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
