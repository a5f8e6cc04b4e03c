package peers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func startPeer(t *testing.T, ranks int) *Peer {
	t.Helper()
	tools, err := Find()
	if err != nil {
		t.Skip("skipped: ", err)
	}
	exe, err := tools.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := tools.Start(t.Context(), exe, ranks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestPeerMeasuresEverySizeAndMode(t *testing.T) {
	p := startPeer(t, 3)
	if !strings.HasPrefix(p.Library, "Open MPI v") {
		t.Errorf("Library = %q", p.Library)
	}
	for _, r := range []Request{
		{Bytes: 4, Iters: 3},
		{Bytes: 1 << 16, Iters: 2, Separate: true},
		{Bytes: 1024, Iters: 4, Batch: 5},
		{Bytes: 1024, Iters: 4, Batch: 5, RewriteOnly: true},
		{Bytes: 1 << 20, Iters: 1, Batch: 2, Separate: true},
		{Bytes: 4, Iters: 1},
	} {
		s, err := p.Measure(t.Context(), r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		if len(s.NS) != r.Iters || s.TouchNS <= 0 {
			t.Errorf("%+v: %d times, touch %g", r, len(s.NS), s.TouchNS)
		}
		for _, ns := range s.NS {
			if ns <= 0 {
				t.Errorf("%+v: a time of %g", r, ns)
			}
		}
	}
}

func TestBadRequestLeavesThePeerUsable(t *testing.T) {
	p := startPeer(t, 2)
	if _, err := p.Measure(t.Context(), Request{Bytes: 6, Iters: 1}); err == nil || !strings.Contains(err.Error(), "found 6 bytes") {
		t.Errorf("6 bytes: %v", err)
	}
	if _, err := p.Measure(t.Context(), Request{Bytes: 1 << 40, Iters: 1}); err == nil || !strings.Contains(err.Error(), "expected BYTES") {
		t.Errorf("2^40 bytes: %v", err)
	}
	if _, err := p.Measure(t.Context(), Request{Bytes: 8, Iters: 1}); err != nil {
		t.Error(err)
	}
}

func TestTimeoutKillsEveryRank(t *testing.T) {
	p := startPeer(t, 4)
	exe := p.cmd.Args[len(p.cmd.Args)-1]
	if n := running(t, exe); n != 4 {
		t.Fatalf("%d ranks running, expected 4", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.Measure(ctx, Request{Bytes: 1 << 20, Iters: 1_000_000})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("expected a deadline error, found %v", err)
	}
	if _, again := p.Measure(t.Context(), Request{Bytes: 4, Iters: 1}); again == nil {
		t.Error("a killed peer answered")
	}
	for wait := 0; running(t, exe) > 0; wait++ {
		if wait == 50 {
			t.Fatal("ranks are still running 5 s after the timeout")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestIdleRanksSleep(t *testing.T) {
	p := startPeer(t, 4)
	if _, err := p.Measure(t.Context(), Request{Bytes: 1024, Iters: 10}); err != nil {
		t.Fatal(err)
	}
	exe := p.cmd.Args[len(p.cmd.Args)-1]
	before := cpuTicks(t, exe)
	time.Sleep(500 * time.Millisecond)
	if used := cpuTicks(t, exe) - before; used > 5 { // a polling rank takes 50
		t.Errorf("idle ranks used %d ticks of 10 ms in half a second", used)
	}
}

func TestParseAnswer(t *testing.T) {
	s, err := parseAnswer("ok 0 12.5 100.0 90.0", 2)
	if err != nil || s.TouchNS != 12.5 || len(s.NS) != 2 || s.NS[0] != 100 || s.NS[1] != 90 {
		t.Errorf("got %+v, %v", s, err)
	}
	for line, want := range map[string]string{
		"ok 3 1.0 2.0":    "3 elements of the result are wrong",
		"error no memory": "no memory",
		"ok 0 1.0":        "expected \"ok\" and 1 times",
		"ok 0 1.0 x":      "expected a time, found \"x\"",
		"":                "expected \"ok\" and 1 times",
	} {
		if _, err := parseAnswer(line, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", line, err, want)
		}
	}
}

// processes lists the /proc folders of the processes that run exe.
func processes(t *testing.T, exe string) (dirs []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if to, err := os.Readlink(d + "/exe"); err == nil && to == exe {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

func running(t *testing.T, exe string) int { return len(processes(t, exe)) }
