package gpucheck

import (
	"context"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ptoc/runtime/cuda"
	"ptoc/runtime/run"
)

// benchmark is a program with the sizes that it is measured at.
type benchmark struct {
	name    string
	program string
	replace []string // in the text
	defines map[string]string
	ranks   int
	calls   int     // of what is measured, in one kernel
	bytes   float64 // that all ranks read and write at least
	flops   float64
	dtype   string // of flops
}

// Ranks that share a GPU have a block each where kernels have no pl.spmd: 64 of them, the most that there can be, fill
// about half of a large one. The blocks of a pl.spmd loop fill it with one rank.
const many = 64

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// folder is where the bundle is.
func (b *benchmark) folder() string { return notInNames.ReplaceAllString(b.name, "-") }

var benches = makeBenches()

func makeBenches() []benchmark {
	const rows, cols = 256, 1024
	const m, n, k = 128, 1024, 1024
	size := func(x int) string { return strconv.Itoa(x) }
	rowSizes := map[string]string{"ROWS": size(rows), "COLS": size(cols)}
	gemmSizes := map[string]string{"M": size(m), "N": size(n), "K": size(k)}
	out := []benchmark{
		{name: "softmax FP32, 16384 x 1024", program: "softmax", defines: rowSizes, ranks: many, bytes: many * rows * cols * 8},
		{name: "rmsnorm BF16, 16384 x 1024", program: "rmsnorm", defines: rowSizes, ranks: many, bytes: many * rows * cols * 4},
		{name: "gemm BF16, 8192 x 1024 x 1024", program: "gemm", replace: []string{"DTYPE", "BF16"}, defines: gemmSizes, ranks: many,
			flops: 2 * many * m * n * k, dtype: "BF16"},
		{name: "gemm FP32, 8192 x 1024 x 1024", program: "gemm", replace: []string{"DTYPE", "FP32"}, defines: gemmSizes, ranks: many,
			flops: 2 * many * m * n * k, dtype: "FP32"},
	}
	rowSizes, gemmSizes = map[string]string{"ROWS": size(many * rows), "COLS": size(cols)}, map[string]string{"M": size(many * m), "N": size(n), "K": size(k)}
	out = append(out,
		benchmark{name: "softmax FP32 in blocks, 16384 x 1024", program: "softmax_blocks", defines: rowSizes, ranks: 1, bytes: many * rows * cols * 8},
		benchmark{name: "gemm BF16 in blocks, 8192 x 1024 x 1024", program: "gemm_blocks", replace: []string{"DTYPE", "BF16"}, defines: gemmSizes, ranks: 1,
			flops: 2 * many * m * n * k, dtype: "BF16"})
	for _, mode := range []string{"oneshot", "push"} {
		for _, ranks := range []int{2, 4, 8} {
			for _, elems := range []int{1 << 10, 1 << 18} {
				calls := 20
				out = append(out, benchmark{name: "allreduce " + mode + ", " + size(ranks) + " ranks, " + size(elems*4/1024) + " KiB", program: "allreduce",
					replace: []string{"MODE", mode}, defines: map[string]string{"SIZE": size(elems), "CALLS": size(calls)}, ranks: ranks, calls: calls,
					bytes: float64(ranks * elems * 8)})
			}
		}
	}
	return out
}

// Timing is one measurement.
type Timing struct {
	Name  string  `json:"name"`
	NS    float64 `json:"ns"` // of one call, the median
	Bytes float64 `json:"bytes"`
	Flops float64 `json:"flops"`
	DType string  `json:"dtype"`
	Err   string  `json:"error,omitempty"`
}

// measure measures the copy bandwidth and the programs. Times are the GPU's own, between events, of a whole
// launch.
func (c *checking) measure(ctx context.Context) {
	o, r := c.o, c.r
	if c.over(ctx) {
		return
	}
	o.stage("measuring the memory")
	var err error
	if r.Copy, err = copyRate(c.dev); err != nil {
		r.Timings = append(r.Timings, Timing{Name: "copy", Err: c.failed(err)})
	}
	for _, b := range benches {
		if c.over(ctx) {
			return
		}
		if !strings.Contains(b.name, o.Only) {
			continue
		}
		o.stage("measuring %s", b.name)
		t := Timing{Name: b.name, Bytes: b.bytes, Flops: b.flops, DType: b.dtype}
		res, err := run.Run(ctx, run.Options{File: filepath.Join(o.Dir, benchDir, b.folder()), Ranks: b.ranks, Driver: o.Driver, WarmUp: 2, Repeat: 10, Timeout: 10 * time.Second})
		if ctx.Err() != nil { // the time ended it
			return
		}
		if err != nil {
			t.Err = c.failed(err)
		} else {
			t.NS = res.GPUNS / float64(max(b.calls, 1))
		}
		r.Timings = append(r.Timings, t)
	}
	if o.Peers && ctx.Err() == nil {
		o.stage("measuring PyTorch and Triton")
		r.Peers, r.PeerErr = peers(ctx)
	}
}

// copyRate is how many bytes a second the GPU moves within its own memory, read plus written.
func copyRate(d cuda.Device) (float64, error) {
	n := min(int64(512<<20), d.Info().Memory/8)
	s, err := d.NewStream()
	if err != nil {
		return 0, err
	}
	var at [2]cuda.Ptr
	for i := range at {
		if at[i], err = d.Malloc(n); err != nil {
			return 0, err
		}
		defer d.Free(at[i])
	}
	var ev [2]cuda.Event
	for i := range ev {
		if ev[i], err = d.NewEvent(); err != nil {
			return 0, err
		}
	}
	best := time.Duration(0)
	for range 6 {
		took, err := timeCopy(d, s, at, ev, n)
		if err != nil {
			return 0, err
		}
		if best == 0 || took < best {
			best = took
		}
	}
	if best <= 0 {
		return 0, nil
	}
	return 2 * float64(n) / best.Seconds(), nil
}

func timeCopy(d cuda.Device, s cuda.Stream, at [2]cuda.Ptr, ev [2]cuda.Event, n int64) (time.Duration, error) {
	if err := d.Record(ev[0], s); err != nil {
		return 0, err
	}
	if err := d.Copy(s, at[0], at[1], n); err != nil {
		return 0, err
	}
	if err := d.Record(ev[1], s); err != nil {
		return 0, err
	}
	for {
		if done, err := d.Done(ev[1]); err != nil {
			return 0, err
		} else if done {
			return d.Elapsed(ev[0], ev[1])
		}
	}
}

// peak is the dense peak in operations a second; 0 where it is not known.
func peak(i cuda.Info, dtype string) float64 {
	// Operations a clock and multiprocessor, multiply and add counted as two.
	table := map[string]map[int]float64{
		"BF16": {80: 2048, 86: 512, 87: 1024, 89: 512, 90: 4096},
		"FP32": {80: 128, 86: 256, 87: 256, 89: 256, 90: 256},
	}
	return table[dtype][10*i.Major+i.Minor] * float64(i.Multiprocessors) * float64(i.ClockKHz) * 1e3
}
