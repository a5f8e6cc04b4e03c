package suites

import (
	"context"

	"ptoc/runtime/bench"
	"ptoc/runtime/run"
)

// Program runs a user's program: first warmup times, then repeat times, which count.
func Program(ctx context.Context, o run.Options, warmup, repeat int) (*bench.Table, error) {
	o.Repeat = warmup + repeat
	res, err := run.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	s := bench.Summarize(res.Times[warmup:])
	t := bench.NewTable("entry", "ranks", "runs", "min", "median", "mean", "p99")
	t.Row(res.Entry, res.Ranks, s.N, bench.Nanos(s.Min), bench.Nanos(s.Median), bench.Nanos(s.Mean), bench.Nanos(s.P99))
	t.Note("A run is the whole host program, on cleared windows, from its start until the last rank is done.")
	for _, c := range res.Choices {
		bus, err := bench.Collective(c.Op).BusBW(res.Ranks, c.Bytes, s.Median)
		if c.Bytes == 0 || err != nil {
			continue
		}
		t.Note("%s at %s: %s, %s; at least %.3g GB/s, bus %.3g GB/s, were the whole run this one call.", c.Op, c.At,
			bench.Bytes(c.Bytes), c.Chosen, bench.AlgBW(c.Bytes, s.Median), bus)
	}
	return t, nil
}
