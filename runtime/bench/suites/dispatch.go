package suites

import (
	"context"
	"fmt"
	"time"

	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/runtime/bench"
	"ptoc/runtime/controller"
	"ptoc/runtime/interp"
	"ptoc/runtime/native"
)

// Dispatch measures what it costs the host to give an empty kernel to every rank.
func Dispatch(ctx context.Context, ranks []int, workers native.Mode, budget time.Duration) (*bench.Table, error) {
	t := bench.NewTable("ranks", "in a loop, min", "median", "and waited for, min", "median")
	for _, n := range ranks {
		loop, err := dispatch(ctx, n, workers, 10000, budget)
		if err != nil {
			return nil, err
		}
		one, err := dispatch(ctx, n, workers, 1, budget)
		if err != nil {
			return nil, err
		}
		t.Row(n, bench.Nanos(loop.Min), bench.Nanos(loop.Median), bench.Nanos(one.Min), bench.Nanos(one.Median))
	}
	t.Note("One call gives the kernel (two tensors, one window) to every rank. In a loop: the host program dispatches 10000 calls, per call,")
	t.Note("to the end of the last one. And waited for: a whole run of a host program with one call, on cleared windows.")
	return t, nil
}

// dispatch gives nanoseconds per call of a host program that makes so many of them.
func dispatch(ctx context.Context, ranks int, workers native.Mode, calls int64, budget time.Duration) (bench.Stats, error) {
	c, err := compile(ctx, program("dispatch.pl"), check.Options{}, ranks)
	if err != nil {
		return bench.Stats{}, err
	}
	b, err := controller.NewNative(native.Config{Ranks: ranks, Mode: workers, EnginePath: c.engine, Timeout: 30 * time.Second}, c.object())
	if err != nil {
		return bench.Stats{}, err
	}
	defer b.Close()
	p, err := controller.Prepare(c.module, c.module.Func("main"), b, map[string]int64{"NR": int64(ranks)})
	if err != nil {
		return bench.Stats{}, err
	}
	args := []any{nil, nil, interp.Value{I: calls}}
	for i := range 2 {
		if args[i], err = p.NewTensor("x", ir.FP32, []int64{int64(ranks), 1, 4}); err != nil {
			return bench.Stats{}, err
		}
	}
	side := bench.Func(fmt.Sprintf("%d calls", calls), func() error { return p.Run(ctx, args) })
	s, err := bench.Measure(ctx, bench.Budget{Time: budget}, side)
	s.Min, s.Median = s.Min/float64(calls), s.Median/float64(calls)
	return s, err
}
