package native

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptoc/codegen/abi"
)

// patience is the shortest time in which ranks on a busy machine certainly get on.
const patience = 2 * time.Second

// inBoth runs a test of failures in both modes, with a short timeout.
func inBoth(t *testing.T, ranks int, test func(t *testing.T, f *fixture)) {
	for _, mode := range []Mode{Threads, Processes} {
		t.Run(mode.String(), func(t *testing.T) {
			test(t, open(t, Config{Ranks: ranks, Mode: mode, Timeout: patience, Grace: 5 * time.Second}))
		})
	}
}

func (f *fixture) failure() *Failure {
	f.t.Helper()
	err := f.Wait(context.Background())
	var fail *Failure
	if !errors.As(err, &fail) {
		f.t.Fatalf("no failure: %v", err)
	}
	return fail
}

// worksAgain checks that Reset leaves no trace of a failure.
func (f *fixture) worksAgain() {
	f.t.Helper()
	if err := f.Reset(); err != nil {
		f.t.Fatal(err)
	}
	f.ResetWindows()
	off := f.window(4)
	f.submitAll(f.kernel("barriers"), InDomain(f.all()), Int(off), Int(0), Int(100))
	f.wait()
}

func TestAHangIsReportedWithWhatEachRankWaitsFor(t *testing.T) {
	inBoth(t, 3, func(t *testing.T, f *fixture) {
		d := f.all()
		f.window(64)
		cell := f.window(64)
		as[int32](f.Window(1, cell, 64))[2] = 5
		f.submit(0, f.kernel("empty"))
		f.submit(1, f.kernel("wait_forever"), InDomain(d), Int(cell+8), Int(9))
		f.submit(1, f.kernel("empty"))
		f.submit(2, f.kernel("loop_polling"))
		start := time.Now()
		fail := f.failure()
		if d := time.Since(start); d > 5*patience {
			t.Errorf("reported after %v", d)
		}
		if !fail.TimedOut || fail.First != -1 {
			t.Errorf("%+v", fail)
		}
		if r := fail.Ranks[0]; r.Code != abi.OK || r.Kernel != -1 || r.Wait != nil || r.Completed != 1 {
			t.Errorf("rank 0 was idle: %+v", r)
		}
		want := WaitStatus{Site: 42, Domain: d, Offset: cell + 8, Cmp: abi.Eq, Want: 9, Seen: 5}
		if r := fail.Ranks[1]; r.Code != abi.Aborted || r.Name != "wait_forever" || r.Seq != 1 || r.Wait == nil || *r.Wait != want {
			t.Errorf("rank 1 waited: %+v %+v", r, r.Wait)
		}
		if r := fail.Ranks[2]; r.Code != abi.Aborted || r.Name != "loop_polling" || r.Site != 23 || r.Wait != nil {
			t.Errorf("rank 2 looped: %+v", r)
		}
		if _, err := f.Submit(0, f.kernel("empty"), nil); !errors.Is(err, error(fail)) {
			t.Errorf("Submit after a failure: %v", err)
		}
		f.worksAgain()
	})
}

func TestAFaultEndsTheWaitsOfOthers(t *testing.T) {
	inBoth(t, 3, func(t *testing.T, f *fixture) {
		cell := f.window(4)
		f.submit(0, f.kernel("wait_forever"), InDomain(f.all()), Int(cell), Int(1))
		f.submit(1, f.kernel("fault"), Int(2))
		f.Submit(1, f.kernel("empty"), nil) // queued behind it, or refused already
		fail := f.failure()
		if fail.TimedOut || fail.First != 1 {
			t.Errorf("%+v", fail)
		}
		r := fail.Ranks[1]
		if r.Code != abi.LocalBounds || r.Site != 11 || r.Operands != [6]int64{2, 100, 8, 64} || r.Name != "fault" || r.Seq != 1 {
			t.Errorf("%+v", r)
		}
		if !strings.Contains(fail.Error(), "offset 100") {
			t.Error(fail)
		}
		f.worksAgain()
	})
}

func TestACrashIsAFaultOfItsRank(t *testing.T) {
	if sanitizer != "" {
		t.Skip("sanitizers end the process on a crash")
	}
	for _, c := range []struct {
		kernel string
		arg    int64
		signal syscall.Signal
	}{
		{"crash", 0, syscall.SIGSEGV},
		{"crash", 0x7777_0000_0000_0000, syscall.SIGSEGV},
		{"divide", 0, syscall.SIGFPE},
		{"overflow", 0, syscall.SIGSEGV},
	} {
		t.Run(c.kernel, func(t *testing.T) {
			inBoth(t, 2, func(t *testing.T, f *fixture) {
				for range 2 { // the handler is in order after the first, too
					f.submit(0, f.kernel("wait_forever"), InDomain(f.all()), Int(0), Int(1))
					f.submit(1, f.kernel(c.kernel), Int(c.arg))
					fail := f.failure()
					r := fail.Ranks[1]
					if fail.First != 1 || r.Code != abi.Crash || r.Name != c.kernel || r.Operands[0] != int64(c.signal) || r.Operands[2] == 0 {
						t.Errorf("%+v", r)
					}
					f.worksAgain()
				}
			})
		})
	}
}

func TestGoKeepsItsOwnFaultHandling(t *testing.T) {
	f := open(t, Config{Ranks: 1})
	f.submitAll(f.kernel("empty"))
	f.wait()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var p *int
	*p = 1
}

func TestAKilledProcessIsAFaultOfItsRank(t *testing.T) {
	f := open(t, Config{Ranks: 3, Mode: Processes, Timeout: 5 * time.Second})
	f.submit(0, f.kernel("wait_forever"), InDomain(f.all()), Int(0), Int(1))
	f.submit(2, f.kernel("loop_polling"))
	for f.Status()[2].Name != "loop_polling" {
		time.Sleep(time.Millisecond)
	}
	f.kids[2].Kill()
	fail := f.failure()
	r := fail.Ranks[2]
	if fail.First != 2 || r.Code != abi.Died || r.Operands[0] != int64(syscall.SIGKILL) || !r.Exited || r.Name != "loop_polling" {
		t.Errorf("%+v", r)
	}
	f.worksAgain()
}

func TestAProcessThatDoesNotReactIsKilled(t *testing.T) {
	f := open(t, Config{Ranks: 2, Mode: Processes, Timeout: patience, Grace: 100 * time.Millisecond})
	never := f.alloc(4)
	f.submit(1, f.kernel("loop_deaf"), Heap(never.Offset))
	fail := f.failure()
	if r := fail.Ranks[1]; r.Code != abi.Stuck || r.Name != "loop_deaf" {
		t.Errorf("%+v", r)
	}
	f.worksAgain()
}

func TestAThreadThatDoesNotReactIsLeftBehind(t *testing.T) {
	f := open(t, Config{Ranks: 2, Timeout: 100 * time.Millisecond, Grace: 100 * time.Millisecond})
	end := f.alloc(4)
	f.submit(1, f.kernel("loop_deaf"), Heap(end.Offset))
	if r := f.failure().Ranks[1]; r.Code != abi.Stuck {
		t.Errorf("%+v", r)
	}
	if err := f.Reset(); !errors.Is(err, ErrLeaked) {
		t.Errorf("Reset: %v", err)
	}
	if err := f.Close(); !errors.Is(err, ErrLeaked) {
		t.Errorf("Close: %v", err)
	}
	end.Data[0] = 1 // ours is the one test that must not leave it running
}

func TestCloseDropsWhatIsQueued(t *testing.T) {
	inBoth(t, 2, func(t *testing.T, f *fixture) {
		for range 50 {
			f.submitAll(f.kernel("loop_polling"))
		}
		start := time.Now()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("Close took %v", d)
		}
	})
}

func TestCancellingTheContextAborts(t *testing.T) {
	inBoth(t, 2, func(t *testing.T, f *fixture) {
		f.cfg.Timeout = time.Minute
		f.submitAll(f.kernel("loop_polling"))
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if err := f.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		f.worksAgain()
	})
}

func TestCancellingTheContextEndsTheWaitForRoom(t *testing.T) {
	inBoth(t, 2, func(t *testing.T, f *fixture) {
		f.cfg.Timeout = time.Minute
		var cancel context.CancelFunc
		f.cfg.Context, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		k := f.kernel("loop_polling")
		var err error
		for range 1 << 20 { // more than any ring holds
			if _, err = f.Submit(1, k, nil); err != nil {
				break
			}
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		f.worksAgain()
	})
}

func TestAnArenaThatDoesNotFitIsAFault(t *testing.T) {
	inBoth(t, 2, func(t *testing.T, f *fixture) {
		f.submit(1, f.kernel("use_arena"), Int(1<<50), Heap(0))
		if r := f.failure().Ranks[1]; r.Code != abi.NoMemory || r.Operands[0] != 1<<50 || r.Name != "use_arena" {
			t.Errorf("%+v", r)
		}
		f.worksAgain()
	})
}

func TestADeviceOutsideOfTheDomainIsAFault(t *testing.T) {
	inBoth(t, 2, func(t *testing.T, f *fixture) {
		d, err := f.Domain([]int{0})
		if err != nil {
			t.Fatal(err)
		}
		f.submit(1, f.kernel("wait_forever"), InDomain(d), Int(0), Int(0))
		if fail := f.failure(); fail.First != 1 || fail.Ranks[1].Code != abi.BadPeer {
			t.Errorf("%+v", fail)
		}
		f.worksAgain()
	})
}

func TestAProgramThatIsNoWorkerIsAClearError(t *testing.T) {
	t.Setenv("PTOC_TEST_FORGETFUL", "1")
	engine, _ := build(t)
	_, err := Open(Config{Ranks: 2, Mode: Processes, EnginePath: engine})
	if err == nil || !strings.Contains(err.Error(), "rank 0") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%v", err)
	}
}

func TestRankCountsOutsideOfTheLimitsAreRefused(t *testing.T) {
	engine, _ := build(t)
	for _, n := range []int{-1, 0, abi.MaxRanks + 1} {
		if _, err := Open(Config{Ranks: n, EnginePath: engine}); err == nil {
			t.Errorf("%d ranks are accepted", n)
		}
	}
}

// A parent that is killed takes its ranks along.
func TestNoProcessOutlivesTheParent(t *testing.T) {
	if os.Getenv("PTOC_TEST_PARENT") != "" {
		f := open(t, Config{Ranks: 3, Mode: Processes, Timeout: time.Minute})
		f.submitAll(f.kernel("loop_deaf"), Heap(f.alloc(4).Offset))
		for _, c := range f.kids {
			os.Stdout.WriteString("pid " + strconv.Itoa(c.Pid()) + "\n")
		}
		os.Stdout.WriteString("ready\n")
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoProcessOutlivesTheParent$", "-test.v")
	cmd.Env = append(os.Environ(), "PTOC_TEST_PARENT=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for buf := make([]byte, 1000); !strings.Contains(text.String(), "ready"); {
		n, err := out.Read(buf)
		text.Write(buf[:n])
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	for _, line := range strings.Split(text.String(), "\n") {
		if pid, ok := strings.CutPrefix(line, "pid "); ok {
			n, _ := strconv.Atoi(pid)
			if !gone(n) {
				t.Errorf("process %d lives on", n)
				syscall.Kill(n, syscall.SIGKILL)
			}
		}
	}
}

// gone waits for a process to end. A zombie that nobody collects counts as gone.
func gone(pid int) bool {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return true
		}
	}
	return false
}

func TestThreadsLeaveNoThreadsAndNoMemoryBehind(t *testing.T) {
	threads := func() int {
		d, _ := os.ReadDir("/proc/self/task")
		return len(d)
	}
	maps := func() int {
		b, _ := os.ReadFile("/proc/self/maps")
		return bytes.Count(b, []byte("\n"))
	}
	open(t, Config{Ranks: 16}).Close()
	before, mapped := threads(), maps()
	for range 5 {
		f := open(t, Config{Ranks: 16})
		f.submitAll(f.kernel("empty"))
		f.wait()
		f.Close()
	}
	if after := threads(); after > before+4 { // the Go runtime starts some of its own
		t.Errorf("%d threads before, %d after", before, after)
	}
	if after := maps(); after > mapped+20 {
		t.Errorf("%d mappings before, %d after", mapped, after)
	}
}
