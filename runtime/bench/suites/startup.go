package suites

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"ptoc/runtime/bench"
)

// Startup measures a whole process: exe with the given arguments, with an empty cache every time, and
// with one that has everything.
func Startup(ctx context.Context, exe string, args []string, repeat int) (*bench.Table, error) {
	dir, err := os.MkdirTemp("", "ptoc-startup-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	run := func(cache string) (float64, error) {
		cmd := exec.CommandContext(ctx, exe, args...)
		cmd.Env = append(os.Environ(), "PTOC_CACHE="+cache)
		start := time.Now()
		out, err := cmd.CombinedOutput()
		took := float64(time.Since(start))
		if err != nil {
			return 0, fmt.Errorf("%v: %w\n%s", args, err, out)
		}
		return took, nil
	}
	// Other processes of the machine disturb: cold and cached take turns.
	var cold, cached []float64
	for i := range repeat {
		cache := fmt.Sprintf("%s/%d", dir, i)
		ns, err := run(cache)
		if err != nil {
			return nil, err
		}
		cold = append(cold, ns)
		for range 3 {
			if ns, err = run(cache); err != nil {
				return nil, err
			}
			cached = append(cached, ns)
		}
	}
	t := bench.NewTable("cache", "min", "median", "p99", "runs")
	for _, r := range []struct {
		name    string
		samples []float64
	}{{"empty", cold}, {"filled", cached}} {
		s := bench.Summarize(r.samples)
		t.Row(r.name, bench.Nanos(s.Min), bench.Nanos(s.Median), bench.Nanos(s.P99), s.N)
	}
	return t, nil
}
