package native

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ptoc/codegen/toolchain"
)

// One call is an empty kernel on every rank, queued behind the last.
func BenchmarkDispatchEmpty(b *testing.B) {
	for _, mode := range []Mode{Threads, Processes} {
		for _, ranks := range []int{1, 2, 8} {
			b.Run(fmt.Sprintf("%v/%d", mode, ranks), func(b *testing.B) {
				f := open(b, Config{Ranks: ranks, Mode: mode})
				k := f.kernel("empty")
				args := []Arg{Int(1), Int(2), Int(3), Int(4)}
				for b.Loop() {
					if err := f.SubmitAll(k, args); err != nil {
						b.Fatal(err)
					}
				}
				f.wait()
			})
		}
	}
}

// One call is an empty kernel on every rank, and waiting for it.
func BenchmarkDispatchAndWait(b *testing.B) {
	for _, ranks := range []int{1, 2, 8} {
		b.Run(fmt.Sprint(ranks), func(b *testing.B) {
			f := open(b, Config{Ranks: ranks})
			k := f.kernel("empty")
			for b.Loop() {
				f.SubmitAll(k, nil)
				if err := f.Wait(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// One op is a hundred barriers of all ranks, inside of one kernel. The best of
// all is what counts where other work disturbs the cores.
func BenchmarkBarrier(b *testing.B) {
	const rounds = 100
	for _, mode := range []Mode{Threads, Processes} {
		for _, ranks := range []int{2, 4, 8, 16} {
			b.Run(fmt.Sprintf("%v/%d", mode, ranks), func(b *testing.B) {
				f := open(b, Config{Ranks: ranks, Mode: mode})
				off, d, k := f.window(4), f.all(), f.kernel("barriers")
				best, done := time.Hour, int64(0)
				for b.Loop() {
					start := time.Now()
					f.submitAll(k, InDomain(d), Int(off), Int(done), Int(rounds))
					f.wait()
					best = min(best, time.Since(start))
					done += rounds
				}
				b.ReportMetric(float64(best.Nanoseconds())/rounds, "best-ns/barrier")
			})
		}
	}
}

// One op starts an engine of eight ranks, runs an empty kernel and closes it.
func BenchmarkOpenRunClose(b *testing.B) {
	for _, mode := range []Mode{Threads, Processes} {
		b.Run(mode.String(), func(b *testing.B) {
			for b.Loop() {
				f := open(b, Config{Ranks: 8, Mode: mode})
				f.submitAll(f.kernel("empty"))
				f.wait()
				f.Close()
			}
		})
	}
}

// One op compiles the engine, as the first run on a machine does.
func BenchmarkBuildEngine(b *testing.B) {
	for b.Loop() {
		b.Setenv("PTOC_CACHE", b.TempDir())
		tc, err := toolchain.Open()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Build(context.Background(), tc, toolchain.NoSanitizer); err != nil {
			b.Fatal(err)
		}
	}
}
