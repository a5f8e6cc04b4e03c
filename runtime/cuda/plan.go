package cuda

import (
	"fmt"
	"math"
)

// step is one launch: the same kernel for some ranks of a GPU.
type step struct {
	kernel int
	ranks  []int // numbers within the group
	at     int   // which of their commands
	own    bool  // on the stream of its only rank
	done   bool
	event  Event

	room    int // blocks that each rank may have
	blocks  int // and has
	demands []Demand
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

// divide gives each rank its share of the GPU: what runs at the same time is resident together, at least a
// block of each rank. Kernels on streams of their own may meet in any mixture. No more blocks of the largest
// fit a multiprocessor than of any other, so each takes at most that part of it, and any such number fits.
func (g *group) divide(cfg *Config, steps []step) error {
	info := g.dev.Info()
	share := func(kernel, ranks int) (int, error) {
		per := g.occupancy[kernel]
		holds := per * info.Multiprocessors
		k := cfg.Kernels[kernel]
		if ranks > holds {
			return 0, &TooManyRanks{Kernel: k.Name, Ranks: ranks, Holds: holds, GPU: info.Name, PerSM: per,
				SMs: info.Multiprocessors, Threads: k.Threads, Shared: k.Shared}
		}
		return holds / ranks, nil
	}
	alone := map[int]bool{} // ranks that run on their own streams
	worst := -1             // the largest of their kernels
	for i := range steps {
		s := &steps[i]
		if !s.own {
			var err error
			if s.room, err = share(s.kernel, len(s.ranks)); err != nil {
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
	room, err := share(worst, len(alone))
	for i := range steps {
		if steps[i].own {
			steps[i].room = room
		}
	}
	return err
}

// size asks what the calls of a step want, and gives its ranks that many blocks as far as there is room.
func (e *Engine) size(g *group, s *step) error {
	k := &e.cfg.Kernels[s.kernel]
	s.blocks, s.demands = 1, make([]Demand, len(s.ranks))
	if k.Demand == nil {
		return nil
	}
	for i, r := range s.ranks {
		d, err := k.Demand(e.resolve(g.ranks[r], &e.queue[g.ranks[r]][s.at]))
		if err != nil {
			return fmt.Errorf("scratch of %s: %w", k.Name, err)
		}
		d.Arena, d.Common = aligned(d.Arena), aligned(d.Common)
		s.demands[i] = d
		s.blocks = max(s.blocks, int(min(d.Blocks, int64(s.room))))
	}
	return nil
}

// bytes is the scratch of a rank with so many blocks; more than there can be if it does not fit 64 bits.
func (d Demand) bytes(blocks int) int64 {
	if d.Arena > (math.MaxInt64-d.Common)/int64(blocks) {
		return math.MaxInt64
	}
	return d.Common + int64(blocks)*d.Arena
}

func aligned(n int64) int64 {
	if n > math.MaxInt64-255 {
		return n
	}
	return (n + 255) &^ 255
}
