package bench

import "fmt"

// Collective is an operation whose bandwidth is asked for.
type Collective string

const (
	Allreduce     Collective = "allreduce"
	Allgather     Collective = "allgather"
	ReduceScatter Collective = "reduce_scatter"
	AllToAll      Collective = "all_to_all"
	Broadcast     Collective = "broadcast"
)

// AlgBW is bytes by time, in GB/s. Bytes are, as in nccl-tests, the larger of
// what a rank puts in and what it gets out: the whole of the gathered data for
// allgather, the whole of the input for reduce_scatter.
func AlgBW(bytes int64, ns float64) float64 {
	if ns <= 0 {
		return 0
	}
	return float64(bytes) / ns
}

// BusFactor turns algbw into what the slowest link must have carried, which
// can be compared with hardware whatever the number of ranks.
func (c Collective) BusFactor(ranks int) (float64, error) {
	if ranks < 1 {
		return 0, fmt.Errorf("expected at least 1 rank, found %d", ranks)
	}
	n := float64(ranks)
	switch c {
	case Allreduce:
		return 2 * (n - 1) / n, nil
	case Allgather, ReduceScatter, AllToAll:
		return (n - 1) / n, nil
	case Broadcast:
		return 1, nil
	}
	return 0, fmt.Errorf("expected allreduce, allgather, reduce_scatter, all_to_all or broadcast, found %q", string(c))
}

// BusBW is AlgBW times BusFactor.
func (c Collective) BusBW(ranks int, bytes int64, ns float64) (float64, error) {
	f, err := c.BusFactor(ranks)
	return f * AlgBW(bytes, ns), err
}
