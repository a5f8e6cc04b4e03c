package peers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"ptoc/runtime/bench"
)

// A Peer is a running group of MPI ranks. Between measurements its ranks
// sleep, so it may stay open while something else is measured. It serves one
// goroutine at a time.
type Peer struct {
	Ranks   int
	Library string // "Open MPI v4.1.4"

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan string   // what the ranks print, a line each; closed at their end
	exited chan struct{} // closed once the launcher has been waited for
	stderr tail
	broken error // why no further command can be answered
}

// Request is one measurement. The zero values of Batch and Separate mean
// single timed calls, in place.
type Request struct {
	Bytes    int64 // a multiple of 4
	Iters    int
	Batch    int
	Separate bool

	// RewriteOnly measures what comes before each call, without the call: on
	// all ranks at once, BATCH times.
	RewriteOnly bool
}

// kind is the request's KIND in mpi_allreduce.c.
func (r Request) kind() int {
	switch {
	case r.RewriteOnly:
		return 2
	case r.Separate:
		return 1
	}
	return 0
}

// Sample is the answer: one time per iteration, in nanoseconds per call, each
// the maximum over the ranks.
type Sample struct {
	NS      []float64
	TouchNS float64 // what one rewrite of the input takes, part of each time if Batch > 1
}

// startTimeout is generous: a cold mpirun takes about a second.
const startTimeout = 60 * time.Second

// Start launches the ranks and waits until they are ready.
func (t Tools) Start(ctx context.Context, exe string, ranks int) (*Peer, error) {
	if ranks < 1 {
		return nil, fmt.Errorf("an MPI peer needs at least 1 rank, found %d", ranks)
	}
	p := &Peer{Ranks: ranks, lines: make(chan string, 1), exited: make(chan struct{})}
	p.cmd = exec.Command(t.MPIRun, "--allow-run-as-root", "--oversubscribe", "-n", strconv.Itoa(ranks), exe)
	// A group of its own keeps the terminal's ^C from reaching mpirun before
	// we have finished with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(stdout)

	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	line, err := p.answer(ctx)
	if err != nil {
		return nil, fmt.Errorf("starting %d MPI ranks: %w", ranks, err)
	}
	var n int
	if _, err := fmt.Sscanf(line, "ready %d", &n); err != nil || n != ranks {
		p.fail(errors.New("unexpected greeting"))
		return nil, fmt.Errorf("starting %d MPI ranks: expected \"ready %d ...\", found %q", ranks, ranks, line)
	}
	p.Library = strings.TrimPrefix(line, fmt.Sprintf("ready %d ", n))
	return p, nil
}

// read hands over the ranks' lines and reaps the launcher.
func (p *Peer) read(stdout io.Reader) {
	sc := bufio.NewScanner(stdout)
	sc.Buffer(nil, 1<<26) // a million samples on a line
	for sc.Scan() {
		p.lines <- sc.Text()
	}
	close(p.lines)
	p.cmd.Wait() // how it ended is told by the missing answer and by stderr
	close(p.exited)
}

// Measure runs one request. When ctx ends first, the ranks are killed and the
// peer answers nothing more.
func (p *Peer) Measure(ctx context.Context, r Request) (Sample, error) {
	if p.broken != nil {
		return Sample{}, p.broken
	}
	if r.Bytes < 4 || r.Bytes%4 != 0 || r.Iters < 1 {
		return Sample{}, fmt.Errorf("an MPI measurement needs a positive multiple of 4 bytes and at least 1 iteration, found %d bytes, %d iterations", r.Bytes, r.Iters)
	}
	if _, err := fmt.Fprintf(p.stdin, "%d %d %d %d\n", r.Bytes, r.Iters, max(r.Batch, 1), r.kind()); err != nil {
		return Sample{}, p.fail(err)
	}
	line, err := p.answer(ctx)
	if err != nil {
		return Sample{}, err
	}
	s, err := parseAnswer(line, r.Iters)
	if err != nil {
		return Sample{}, fmt.Errorf("MPI_Allreduce of %d bytes on %d ranks: %w", r.Bytes, p.Ranks, err)
	}
	return s, nil
}

// Allreduce makes a side of an interleaved measurement. With batch > 1 up to
// that many calls make one sample.
func (p *Peer) Allreduce(bytes int64, batch int, separate bool) bench.Side {
	return bench.Side{Name: p.Library, Measure: func(ctx context.Context, n int) ([]float64, error) {
		b := min(max(batch, 1), n)
		s, err := p.Measure(ctx, Request{Bytes: bytes, Iters: n / b, Batch: b, Separate: separate})
		return s.NS, err
	}}
}

func parseAnswer(line string, iters int) (Sample, error) {
	f := strings.Fields(line)
	if len(f) > 1 && f[0] == "error" {
		return Sample{}, errors.New(strings.TrimPrefix(line, "error "))
	}
	if len(f) != 3+iters || f[0] != "ok" {
		return Sample{}, fmt.Errorf("expected \"ok\" and %d times, found %.80q", iters, line)
	}
	if f[1] != "0" {
		return Sample{}, fmt.Errorf("%s elements of the result are wrong", f[1])
	}
	v := make([]float64, 0, 1+iters)
	for _, s := range f[2:] {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return Sample{}, fmt.Errorf("expected a time, found %q", s)
		}
		v = append(v, x)
	}
	return Sample{NS: v[1:], TouchNS: v[0]}, nil
}

// answer waits for one line, and takes the peer down when none comes.
func (p *Peer) answer(ctx context.Context) (string, error) {
	select {
	case line, ok := <-p.lines:
		if !ok {
			return "", p.fail(errors.New("the MPI ranks ended without an answer"))
		}
		return line, nil
	case <-ctx.Done():
		return "", p.fail(fmt.Errorf("no answer from the MPI ranks, which were killed: %w", context.Cause(ctx)))
	}
}

// fail kills the ranks and remembers why.
func (p *Peer) fail(err error) error {
	p.stop(0)
	if msg := p.stderr.String(); msg != "" {
		err = fmt.Errorf("%w; stderr: %s", err, msg)
	}
	p.broken = err
	return err
}

// Close lets the ranks finish, or kills them after a few seconds.
func (p *Peer) Close() error {
	if p.broken == nil {
		p.broken = errors.New("the MPI peer is closed")
		p.stop(5 * time.Second)
	}
	return nil
}

// stop ends the launcher: at end of file the ranks finish by themselves; after
// grace mpirun is asked to take them down; then it is killed, and the kernel
// kills the ranks with it (they ask for that, see mpi_allreduce.c).
func (p *Peer) stop(grace time.Duration) {
	p.stdin.Close()
	go func() {
		for range p.lines { // lets read reach the end of the output
		}
	}()
	if p.ended(grace) {
		return
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	if p.ended(2 * time.Second) {
		return
	}
	p.cmd.Process.Kill()
	<-p.exited
}

func (p *Peer) ended(within time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(within):
		return false
	}
}

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 2000

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if extra := len(t.buf) - tailBytes; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
