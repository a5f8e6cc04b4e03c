package gpu

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"ptoc/runtime/cuda"
	"ptoc/runtime/run"
	"ptoc/tests/cudasim"
)

// meeting is where processes exchange their segments: everybody gets everything, when all have come.
type meeting struct {
	mu   sync.Mutex
	cond *sync.Cond
	want int
	came int
	turn int
	now  map[int]cuda.IPCHandle
	last map[int]cuda.IPCHandle
}

func newMeeting(n int) *meeting {
	m := &meeting{want: n, now: map[int]cuda.IPCHandle{}}
	m.cond = sync.NewCond(&m.mu)
	return m
}

func (m *meeting) exchange(mine map[int]cuda.IPCHandle) (map[int]cuda.IPCHandle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(m.now, mine)
	turn := m.turn
	if m.came++; m.came == m.want {
		m.last, m.now, m.came = m.now, map[int]cuda.IPCHandle{}, 0
		m.turn++
		m.cond.Broadcast()
	}
	for m.turn == turn {
		m.cond.Wait()
	}
	return m.last, nil
}

// Engines that each run one rank and know the others' windows by their handles only.
func TestProcessesShareWindows(t *testing.T) {
	const ranks = 3
	for _, file := range []string{allreduce, "../../examples/course/12_broadcast.pl"} {
		m := newMeeting(ranks)
		driver := cudasim.Locked(&cudasim.Driver{Together: ranks, StepLimit: 1e8})
		results := make([]*run.Result, ranks)
		errs := make([]error, ranks)
		var wg sync.WaitGroup
		for r := range ranks {
			wg.Go(func() {
				o := run.Options{File: file, Ranks: ranks, Target: "cuda", Driver: driver(), Timeout: time.Second, Repeat: 2,
					Share: &cuda.Share{Local: []int{r}, Exchange: m.exchange}, Print: []string{"y"}}
				results[r], errs[r] = run.Run(context.Background(), o)
			})
		}
		wg.Wait()
		for _, err := range errs {
			skipWithoutLLVM(t, err)
			if err != nil {
				t.Fatal(show(err))
			}
		}
		want, err := run.Run(context.Background(), run.Options{File: file, Ranks: ranks, Backend: "sim", Print: []string{"y"}})
		if err != nil {
			t.Fatal(show(err))
		}
		whole := want.Printed[0].Tensor
		share := whole.Len() / ranks
		for r := range ranks { // each process has its own rank's part
			for i := int64(r) * share; i < int64(r+1)*share; i++ {
				if got := results[r].Printed[0].Tensor.Float(i); got != whole.Float(i) {
					t.Fatalf("%s: rank %d: element %d is %v, not %v", file, r, i, got, whole.Float(i))
				}
			}
		}
	}
}
