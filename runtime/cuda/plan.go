package cuda

import "fmt"

// step is one launch: the same kernel for some ranks of a GPU.
type step struct {
	kernel int
	ranks  []int // numbers within the group
	at     int   // which of their commands
	own    bool  // on the stream of its only rank
	done   bool
	event  Event
}

// plan turns the queues of a GPU's ranks into launches. As long as all ranks that have work run the same
// kernel, it is one cooperative launch, so that every rank is there while any waits for it. From the first
// difference on, each rank goes its own way on its own stream.
func plan(queues [][]command) (steps []step) {
	var busy []int
	for r, q := range queues {
		if len(q) > 0 {
			busy = append(busy, r)
		}
	}
	at := 0
	for len(busy) > 0 && together(queues, busy, at) {
		steps = append(steps, step{kernel: queues[busy[0]][at].kernel, ranks: busy, at: at})
		at++
	}
	for _, r := range busy {
		for i := at; i < len(queues[r]); i++ {
			steps = append(steps, step{kernel: queues[r][i].kernel, ranks: []int{r}, at: i, own: true})
		}
	}
	return steps
}

// together reports whether all busy ranks run the same kernel as their at-th.
func together(queues [][]command, busy []int, at int) bool {
	for _, r := range busy {
		if at >= len(queues[r]) || queues[r][at].kernel != queues[busy[0]][at].kernel {
			return false
		}
	}
	return true
}

// TooManyRanks says that the ranks do not fit onto a GPU at the same time, as they must: one that is not
// there would be waited for, for ever.
type TooManyRanks struct {
	Kernel string
	Ranks  int // on the GPU, one block each
	Holds  int // blocks that the GPU holds at once
	GPU    string
	// Why: one multiprocessor holds PerSM blocks of Threads threads and Shared bytes.
	PerSM, SMs, Threads, Shared int
}

func (t *TooManyRanks) Error() string {
	return fmt.Sprintf("%d ranks do not fit onto %s at once: kernel %s takes a block for each, of %d threads and %d bytes of shared memory; "+
		"the GPU holds %d of them (%d on each of %d multiprocessors)", t.Ranks, t.GPU, t.Kernel, t.Threads, t.Shared, t.Holds, t.PerSM, t.SMs)
}

// fits checks that what runs at the same time can be resident together.
func (g *group) fits(cfg *Config, steps []step) error {
	info := g.dev.Info()
	check := func(kernel, ranks int) error {
		per := g.occupancy[kernel]
		if ranks <= per*info.Multiprocessors {
			return nil
		}
		k := cfg.Kernels[kernel]
		return &TooManyRanks{Kernel: k.Name, Ranks: ranks, Holds: per * info.Multiprocessors, GPU: info.Name, PerSM: per,
			SMs: info.Multiprocessors, Threads: k.Threads, Shared: k.Shared}
	}
	alone := map[int]bool{} // ranks that run on their own streams
	worst := -1             // the largest of their kernels
	for _, s := range steps {
		if !s.own {
			if err := check(s.kernel, len(s.ranks)); err != nil {
				return err
			}
			continue
		}
		alone[s.ranks[0]] = true
		if worst < 0 || g.occupancy[s.kernel] < g.occupancy[worst] {
			worst = s.kernel
		}
	}
	if worst < 0 {
		return nil
	}
	return check(worst, len(alone))
}
