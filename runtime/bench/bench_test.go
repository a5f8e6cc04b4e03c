package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSummarize(t *testing.T) {
	in := []float64{4, 1, 3, 2, 10}
	got := Summarize(in)
	want := Stats{N: 5, Min: 1, Median: 3, Mean: 4, P99: 9.76, Max: 10, Stdev: math.Sqrt(12.5)}
	if math.Abs(got.P99-want.P99) < 1e-12 {
		got.P99 = want.P99
	}
	if got != want || in[0] != 4 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := Summarize([]float64{1, 2}); got.Median != 1.5 || got.Stdev != math.Sqrt(0.5) {
		t.Errorf("got %+v", got)
	}
	if got := Summarize([]float64{7}); got != (Stats{1, 7, 7, 7, 7, 7, 0}) {
		t.Errorf("one sample: got %+v", got)
	}
	if Summarize(nil) != (Stats{}) {
		t.Error("no samples")
	}
}

func TestGeoMean(t *testing.T) {
	if got := GeoMean([]float64{2, 8}); math.Abs(got-4) > 1e-12 {
		t.Errorf("got %v", got)
	}
	if GeoMean(nil) != 0 || !math.IsNaN(GeoMean([]float64{1, 0})) {
		t.Error("edge cases")
	}
}

func TestBandwidth(t *testing.T) {
	for _, c := range []struct {
		c     Collective
		ranks int
		want  float64
	}{
		{Allreduce, 1, 0}, {Allreduce, 2, 1}, {Allreduce, 4, 1.5}, {Allreduce, 8, 1.75},
		{Allgather, 4, 0.75}, {ReduceScatter, 8, 0.875}, {AllToAll, 2, 0.5}, {Broadcast, 8, 1},
	} {
		if got, err := c.c.BusFactor(c.ranks); got != c.want || err != nil {
			t.Errorf("%s on %d: got %v, %v, want %v", c.c, c.ranks, got, err, c.want)
		}
	}
	if got := AlgBW(1<<20, 1<<19); got != 2 {
		t.Errorf("1 MiB in 2^19 ns: %v GB/s", got)
	}
	if got, err := Allreduce.BusBW(4, 1000, 500); got != 3 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := Collective("scan").BusFactor(2); err == nil || !strings.Contains(err.Error(), "found \"scan\"") {
		t.Errorf("scan: %v", err)
	}
	if _, err := Allreduce.BusFactor(0); err == nil {
		t.Error("0 ranks")
	}
}

// fake is a side whose calls take a known time, on the wall too.
func fake(name string, ns float64, log *[]string) Side {
	return Side{name, func(_ context.Context, n int) ([]float64, error) {
		*log = append(*log, fmt.Sprint(name, n))
		time.Sleep(time.Duration(ns * float64(n)))
		return slices.Repeat([]float64{ns}, n), nil
	}}
}

func TestInterleaveTakesTurnsInRotatingOrder(t *testing.T) {
	var log []string
	// Calls of 2 ms in turns of 5 ms: neither gets more than the 6/3 it must make.
	b := Budget{Time: 15 * time.Millisecond, Rounds: 3, MinCalls: 6, MaxCalls: 6}
	stats, err := Interleave(t.Context(), b, fake("a", 2e6, &log), fake("b", 1e6, &log))
	if err != nil {
		t.Fatal(err)
	}
	turns := log[len(log)-6:]
	if want := []string{"a2", "b2", "b2", "a2", "a2", "b2"}; !slices.Equal(turns, want) {
		t.Errorf("turns %v, want %v", turns, want)
	}
	if stats[0].N != 6 || stats[1].N != 6 || stats[0].Median != 2e6 {
		t.Errorf("got %+v", stats)
	}
	if r := Speedup(stats[1], stats[0]); r != (Ratio{2, 2}) {
		t.Errorf("b over a: %+v", r)
	}
	r := GeoMeanRatio([]Ratio{{2, 3}, {8, 3}})
	if math.Abs(r.Median-4) > 1e-12 || math.Abs(r.Min-3) > 1e-12 {
		t.Errorf("geometric means %+v", r)
	}
}

func TestCallsFitTheBudget(t *testing.T) {
	start := time.Now()
	s, err := Measure(t.Context(), Budget{Time: 100 * time.Millisecond}, Func("f", func() error {
		time.Sleep(200 * time.Microsecond)
		return nil
	}))
	if took := time.Since(start); err != nil || took > 2*time.Second || s.N < 10 || s.Min < 200e3 {
		t.Errorf("took %v: %+v, %v", took, s, err)
	}
}

func TestMeasurementErrorsNameTheSide(t *testing.T) {
	broken := errors.New("broken")
	_, err := Measure(t.Context(), Budget{}, Func("f", func() error { return broken }))
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "f: ") {
		t.Errorf("got %v", err)
	}
	_, err = Measure(t.Context(), Budget{}, Side{"g", func(context.Context, int) ([]float64, error) { return nil, nil }})
	if err == nil || err.Error() != "g: the measurement returned no sample" {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = Measure(ctx, Budget{}, Func("f", func() error { return nil })); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
