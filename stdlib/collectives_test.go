package stdlib_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
	"ptoc/passes"
	"ptoc/runtime/controller"
	"ptoc/runtime/sim"
	"ptoc/runtime/tensor"
)

// What every collective must do, whatever the rank count, the length, the type and the schedule: give
// the right result three times in a row on the same windows and signals, the same bits on all ranks
// (the reference computes them), and leave every signal cell at zero.

var (
	rankCounts = []int{1, 2, 3, 4, 5, 8, 16}
	lengths    = []int{0, 1, 2, 3, 17, 64, 257, 4097}
	reductions = []string{"Sum", "Max", "Min", "Prod"}
	dtypes     = []ir.DType{ir.FP32, ir.FP16, ir.BF16, ir.INT32}
	algorithms = []string{"auto", "mesh", "central", "oneshot", "push", "ring"}
)

func TestAllreduceAtEveryRankCountAndLength(t *testing.T) {
	for _, mode := range algorithms[2:] {
		for _, ranks := range rankCounts {
			for _, n := range lengths {
				runCase(t, call{op: "allreduce", mode: mode, reduce: "Sum", dtype: ir.FP32, ranks: ranks, n: n, sized: true})
			}
		}
	}
}

func TestAllreduceWithALengthKnownAtRunTime(t *testing.T) {
	for _, mode := range algorithms {
		for _, n := range lengths {
			runCase(t, call{op: "allreduce", mode: mode, reduce: "Sum", dtype: ir.FP32, ranks: 3, n: n})
		}
	}
}

func TestAllreduceOfEveryTypeAndReduction(t *testing.T) {
	for _, mode := range algorithms[2:] {
		for _, dt := range dtypes {
			for _, red := range reductions {
				for _, size := range [][2]int{{2, 64}, {3, 17}, {5, 257}, {8, 3}} {
					runCase(t, call{op: "allreduce", mode: mode, reduce: red, dtype: dt, ranks: size[0], n: size[1], sized: true})
				}
			}
		}
	}
}

func TestReduceScatterOfEveryTypeAndReduction(t *testing.T) {
	for _, dt := range dtypes {
		for _, red := range reductions {
			for _, size := range [][2]int{{1, 3}, {2, 64}, {3, 17}, {5, 257}} {
				runCase(t, call{op: "reduce_scatter", reduce: red, dtype: dt, ranks: size[0], n: size[1], sized: true})
			}
		}
	}
}

func TestExchangesAtEveryRankCountAndLength(t *testing.T) {
	for _, op := range []string{"barrier", "broadcast", "allgather", "all_to_all", "reduce_scatter"} {
		for _, ranks := range rankCounts {
			for _, n := range lengths {
				if ranks*n > 20000 {
					continue // the simulator takes an element at a time
				}
				c := call{op: op, dtype: ir.FP32, ranks: ranks, n: n, sized: n%2 == 0}
				if op == "reduce_scatter" {
					c.reduce = "Sum"
				}
				runCase(t, c)
			}
		}
	}
}

func TestCollectivesOfTheHost(t *testing.T) {
	for _, op := range []string{"allreduce", "barrier", "broadcast", "reduce_scatter"} {
		for _, ranks := range []int{1, 2, 3, 8} {
			for _, n := range []int{0, 1, 17, 600} {
				c := call{op: op, dtype: ir.FP32, ranks: ranks, n: n, sized: true, host: true}
				if op == "allreduce" || op == "reduce_scatter" {
					c.reduce, c.mode = "Max", "auto"
				}
				runCase(t, c)
			}
		}
	}
}

func runCase(t *testing.T, c call) {
	t.Run(c.String(), func(t *testing.T) {
		m := lower(t, c.text())
		for seed := range uint64(3) {
			var s sim.Scheduler = sim.NewRandom(seed)
			if seed == 0 {
				s = &sim.Greedy{}
			}
			b, err := controller.NewSim(sim.Config{Ranks: c.ranks, Scheduler: s})
			if err != nil {
				t.Fatal(err)
			}
			c.run(t, m, b, seed)
			b.Close()
		}
	})
}

var lowered = map[string]*ir.Module{} // by text: without a known length, one program serves all

// lower checks and lowers a program.
func lower(t *testing.T, text string) *ir.Module {
	t.Helper()
	if m := lowered[text]; m != nil {
		return m
	}
	file := source.NewFile("test.pl", text)
	var list diag.List
	tree := syntax.Parse(file, syntax.Strict, &list)
	var m *ir.Module
	if !list.HasErrors() {
		m = check.File(tree, check.Options{}, &list)
	}
	if !list.HasErrors() {
		list.Merge(passes.Run(m, passes.Options{VerifyEach: true}))
	}
	if err := list.Err(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	lowered[text] = m
	return m
}

// run runs the program on a backend and compares.
func (c call) run(t *testing.T, m *ir.Module, inner controller.Backend, seed uint64) {
	t.Helper()
	b := &watchedBackend{Backend: inner}
	p, err := controller.Prepare(m, m.Func("main"), b, map[string]int64{"NR": int64(c.ranks), "N": int64(c.n)})
	if err != nil {
		t.Fatal(err)
	}
	input := c.inputs(seed)
	want := c.want(input)
	x, y := argument(t, p, "x", input), argument(t, p, "y", want)
	clear(y.Data)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.Run(ctx, []any{x, y}); err != nil {
		t.Fatalf("%v, schedule %d: %v", c, seed, err)
	}
	if !tensor.Equal(y.Tensor, want) {
		d, _ := tensor.Compare(y.Tensor, want, tensor.DefaultTolerance(c.dtype))
		t.Fatalf("%v, schedule %d: not the promised bits; %v", c, seed, d)
	}
	b.signalsAreZero(t, c.ranks)
}

// argument copies a tensor to where ranks reach it.
func argument(t *testing.T, p *controller.Program, name string, from *tensor.Tensor) *controller.Tensor {
	t.Helper()
	out, err := p.NewTensor(name, from.DType, from.Shape)
	if err != nil {
		t.Fatal(err)
	}
	copy(out.Data, from.Data)
	return out
}

// watchedBackend remembers the windows.
type watchedBackend struct {
	controller.Backend
	windows []window
}

type window struct {
	name      string
	at, bytes int64
}

func (b *watchedBackend) AllocWindow(name string, bytes int64) (int64, error) {
	at, err := b.Backend.AllocWindow(name, bytes)
	b.windows = append(b.windows, window{name, at, bytes})
	return at, err
}

func (b *watchedBackend) signalsAreZero(t *testing.T, ranks int) {
	t.Helper()
	found := false
	for _, w := range b.windows {
		if w.name != "signal_buf" {
			continue
		}
		found = true
		for r := range ranks {
			for i, v := range b.Window(r, w.at, w.bytes) {
				if v != 0 {
					t.Fatalf("rank %d leaves byte %d of its signals at %d", r, i, v)
				}
			}
		}
	}
	if !found {
		t.Fatal(fmt.Sprint("no signal among the windows ", b.windows))
	}
}
