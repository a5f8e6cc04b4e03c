package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// A Side is one thing to measure. Measure makes n calls and returns their
// times in nanoseconds per call, one or more samples: as many as it likes, if
// it times several calls together. It must leave no thread busy behind, or
// the other sides are measured with it.
type Side struct {
	Name    string
	Measure func(ctx context.Context, n int) ([]float64, error)
}

// Budget bounds a measurement of one side. The zero value means 0.2 seconds in
// 8 rounds, from 10 calls up to 100 000.
type Budget struct {
	Time     time.Duration
	Rounds   int // the number of turns into which the calls are divided
	MinCalls int // made even if they take longer
	MaxCalls int
}

func (b Budget) orDefault() Budget {
	if b.Time <= 0 {
		b.Time = 200 * time.Millisecond
	}
	if b.Rounds <= 0 {
		b.Rounds = 8
	}
	if b.MinCalls <= 0 {
		b.MinCalls = 10
	}
	if b.MaxCalls <= 0 {
		b.MaxCalls = 100_000
	}
	b.MaxCalls = max(b.MaxCalls, b.MinCalls)
	return b
}

// Interleave measures the sides in turns, so that whatever else the machine
// does meanwhile falls on all of them: every round runs each side once, in
// rotating order. Each side first warms up, and gets as many calls per turn as
// fit its share of the budget. The result has each side's statistics, in order.
func Interleave(ctx context.Context, b Budget, sides ...Side) ([]Stats, error) {
	b = b.orDefault()
	calls := make([]int, len(sides))
	samples := make([][]float64, len(sides))
	for i, s := range sides {
		n, err := calibrate(ctx, b, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		calls[i] = n
	}
	for round := range b.Rounds {
		for k := range sides {
			i := (k + round) % len(sides)
			got, err := sides[i].run(ctx, calls[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sides[i].Name, err)
			}
			samples[i] = append(samples[i], got...)
		}
	}
	stats := make([]Stats, len(sides))
	for i := range sides {
		stats[i] = Summarize(samples[i])
	}
	return stats, nil
}

// Measure is Interleave of one side.
func Measure(ctx context.Context, b Budget, s Side) (Stats, error) {
	stats, err := Interleave(ctx, b, s)
	if err != nil {
		return Stats{}, err
	}
	return stats[0], nil
}

// calibrate finds the number of calls for one turn. It goes by the time on the
// wall, not by the samples, because what a side does between its timed calls
// (refilling buffers) takes from the budget too.
func calibrate(ctx context.Context, b Budget, s Side) (int, error) {
	turn := b.Time / time.Duration(b.Rounds)
	least := max((b.MinCalls+b.Rounds-1)/b.Rounds, 1)
	most := max(b.MaxCalls/b.Rounds, least)
	n := 1
	for {
		// The first runs pay for pages and caches, and any may be held up by something else: only a
		// size that takes long three times is long.
		took := time.Duration(math.MaxInt64)
		for range 3 {
			start := time.Now()
			if _, err := s.run(ctx, n); err != nil {
				return 0, err
			}
			if took = min(took, time.Since(start)); took < turn/4 {
				break
			}
		}
		if took >= turn/4 || n >= most {
			fit := int(float64(n) * float64(turn) / float64(max(took, 1)))
			return min(max(fit, least), most), nil
		}
		grow := float64(turn) / float64(max(took, 1))
		n = min(int(float64(n)*min(max(grow, 2), 16)), most)
	}
}

func (s Side) run(ctx context.Context, n int) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	got, err := s.Measure(ctx, n)
	if err == nil && len(got) == 0 {
		err = errors.New("the measurement returned no sample")
	}
	return got, err
}

// Func makes a side of a plain function, timing each call.
func Func(name string, f func() error) Side {
	return Side{name, func(_ context.Context, n int) ([]float64, error) {
		ns := make([]float64, n)
		for i := range ns {
			start := time.Now()
			if err := f(); err != nil {
				return nil, err
			}
			ns[i] = float64(time.Since(start))
		}
		return ns, nil
	}}
}

// Ratio says how many times faster a is than b.
type Ratio struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
}

// Speedup compares by medians and by minima.
func Speedup(a, b Stats) Ratio { return Ratio{b.Median / a.Median, b.Min / a.Min} }

// GeoMeanRatio is the geometric mean of each of the two.
func GeoMeanRatio(r []Ratio) Ratio {
	var med, least []float64
	for _, x := range r {
		med, least = append(med, x.Median), append(least, x.Min)
	}
	return Ratio{GeoMean(med), GeoMean(least)}
}
