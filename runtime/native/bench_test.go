package native

import (
	"context"
	"fmt"
	"testing"
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

// One op is one barrier of all ranks, inside of one kernel.
func BenchmarkBarrier(b *testing.B) {
	for _, mode := range []Mode{Threads, Processes} {
		for _, ranks := range []int{2, 4, 8, 16} {
			b.Run(fmt.Sprintf("%v/%d", mode, ranks), func(b *testing.B) {
				f := open(b, Config{Ranks: ranks, Mode: mode})
				off := f.window(4)
				b.ResetTimer()
				f.submitAll(f.kernel("barriers"), InDomain(f.all()), Int(off), Int(0), Int(int64(b.N)))
				f.wait()
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
