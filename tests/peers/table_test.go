package peers

import (
	"flag"
	"os"
	"testing"
	"time"

	"ptoc/runtime/bench"
)

var (
	table = flag.Bool("peers.table", false, "measure MPI_Allreduce over ranks and sizes, and print a table")
	batch = flag.Int("peers.batch", 1, "calls timed together")
)

// TestTable prints what MPI_Allreduce takes on this machine:
//
//	go test ./tests/peers -run TestTable -v -peers.table [-peers.batch 20]
func TestTable(t *testing.T) {
	if !*table {
		t.Skip("skipped: it takes a minute; ask for it with -peers.table")
	}
	out := bench.NewTable("ranks", "bytes", "calls", "min", "median", "p99", "separate buffers, min", "busbw GB/s")
	for _, ranks := range []int{2, 4, 8} {
		p := startPeer(t, ranks)
		for _, bytes := range []int64{4, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20} {
			budget := bench.Budget{Time: 500 * time.Millisecond, MinCalls: 16}
			s, err := bench.Interleave(t.Context(), budget, p.Allreduce(bytes, *batch, false), p.Allreduce(bytes, *batch, true))
			if err != nil {
				t.Fatal(err)
			}
			bus, err := bench.Allreduce.BusBW(ranks, bytes, s[0].Min)
			if err != nil {
				t.Fatal(err)
			}
			out.Row(ranks, bench.Bytes(bytes), s[0].N, bench.Nanos(s[0].Min), bench.Nanos(s[0].Median), bench.Nanos(s[0].P99), bench.Nanos(s[1].Min), bus)
		}
		p.Close()
	}
	out.WriteText(os.Stdout)
}
