package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/lang/source"
	"ptoc/runtime/failure"
)

var everywhere = []int{1, 2, 3, 4, 5, 8, 16}

// exchange: every rank stores x into its right neighbour's window, notifies it, waits for its own
// left neighbour, and adds what arrived to y.
//
//	def exchange(x: [1, 64], y: Out[1, 64], data: window [1, 64], sig: window [1, 1]):
func exchange(t testing.TB, notifyCell, waitCell int64) *ir.Func {
	f := ir.NewFunc("exchange", ir.InCore, source.Span{})
	row := []ir.Dim{ir.ConstDim(1), ir.ConstDim(64)}
	x := f.AddParam("x", &ir.Tensor{Dims: row, DType: ir.FP32}, ir.In)
	y := f.AddParam("y", &ir.Tensor{Dims: row, DType: ir.FP32}, ir.Out)
	data := f.AddParam("data", &ir.Tensor{Dims: row, DType: ir.FP32, Window: true}, ir.InOut)
	sig := f.AddParam("sig", &ir.Tensor{Dims: []ir.Dim{ir.ConstDim(2), ir.ConstDim(1)}, DType: ir.INT32, Window: true}, ir.InOut)
	b := ir.NewBuilder(f, f.Body)
	zeros := []*ir.Value{ir.Index(0), ir.Index(0)}
	shape := []*ir.Value{ir.Index(1), ir.Index(64)}
	ctx := b.Add(ir.GetCommCtx).Set("target", data).Must().Result()
	me := b.Add(ir.Rank).Set("ctx", ctx).Must().Result()
	n := b.Add(ir.NRanks).Set("ctx", ctx).Must().Result()
	next, err := b.Binary(ir.Add, me, ir.Index(1))
	check(t, err)
	right, err := b.Binary(ir.Modulo, next, n)
	check(t, err)
	tile := b.Add(ir.Load).Set("tensor", x).Set("offsets", zeros...).Set("shape", shape...).Must().Result()
	b.Add(ir.RemoteStore).Set("tile", tile).Set("target", data).Set("peer", right).Set("offsets", zeros...).Must()
	b.Add(ir.Notify).Set("target", sig).Set("peer", right).Set("offsets", ir.Index(notifyCell), ir.Index(0)).Set("value", ir.Index(1)).Must()
	b.Add(ir.Wait).Set("signal", sig).Set("offsets", ir.Index(waitCell), ir.Index(0)).Set("expected", ir.Index(1)).Must()
	got := b.Add(ir.Load).Set("tensor", data).Set("offsets", zeros...).Set("shape", shape...).Must().Result()
	sum, err := b.Binary(ir.Add, tile, got)
	check(t, err)
	b.Add(ir.Store).Set("tile", sum).Set("offsets", zeros...).Set("tensor", y).Must()
	return f
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// launch runs exchange on n ranks; rank r's x is r everywhere.
func launch(t testing.TB, cfg Config, f *ir.Func) (ys [][]byte, err error) {
	m, err := New(cfg)
	check(t, err)
	code, err := m.Compile(f)
	check(t, err)
	devices := make([]int, cfg.Ranks)
	for d := range devices {
		devices[d] = d
	}
	dom, err := m.Domain(devices)
	check(t, err)
	data, err := m.AllocWindow("data", 256)
	check(t, err)
	sig, err := m.AllocWindow("sig", 8)
	check(t, err)
	for d := range devices {
		x, y := make([]byte, 256), make([]byte, 256)
		for k := range 64 {
			binary.LittleEndian.PutUint32(x[4*k:], math.Float32bits(float32(d)))
		}
		ys = append(ys, y)
		check(t, m.Submit(d, code, []abi.Arg{{Tag: abi.TagHeap, Value: m.AddHeap("x", x)}, {Tag: abi.TagHeap, Value: m.AddHeap("y", y)},
			{Tag: abi.TagDomain, Value: int64(dom)}, {Value: data}, {Tag: abi.TagDomain, Value: int64(dom)}, {Value: sig}}))
	}
	return ys, m.Run(context.Background())
}

func TestNeighboursExchangeAtEveryRankCount(t *testing.T) {
	for _, n := range everywhere {
		for name, s := range map[string]Scheduler{"rr": RoundRobin{}, "greedy": &Greedy{}, "random": NewRandom(7)} {
			t.Run(fmt.Sprintf("%d/%s", n, name), func(t *testing.T) {
				ys, err := launch(t, Config{Ranks: n, Scheduler: s}, exchange(t, 1, 1))
				check(t, err)
				for d, y := range ys {
					want := float32(d + (d+n-1)%n)
					if got := math.Float32frombits(binary.LittleEndian.Uint32(y[4*63:])); got != want {
						t.Errorf("rank %d: got %v, want %v", d, got, want)
					}
				}
			})
		}
	}
}

func TestAWaitThatNobodyCanEndIsADeadlock(t *testing.T) {
	_, err := launch(t, Config{Ranks: 3}, exchange(t, 0, 1))
	var f *failure.Failure
	if !errors.As(err, &f) || f.Cause != failure.Deadlock {
		t.Fatalf("got %v", err)
	}
	for _, r := range f.Ranks {
		if r.State != failure.Waiting || r.Kernel != "exchange" || r.Wait.Offset != 256+4 || r.Wait.Want != 1 || r.Wait.Seen != 0 {
			t.Errorf("rank %d: %+v %+v", r.Rank, r, r.Wait)
		}
	}
}

func TestALoopThatNeverEndsMeetsTheStepLimit(t *testing.T) {
	f := ir.NewFunc("spin", ir.InCore, source.Span{})
	b := ir.NewBuilder(f, f.Body)
	_, body := b.While()
	body.Cond(ir.BoolValue(true))
	body.Yield()
	m, err := New(Config{Ranks: 2, StepLimit: 10000})
	check(t, err)
	code, err := m.Compile(f)
	check(t, err)
	check(t, m.Submit(1, code, nil))
	err = m.Run(context.Background())
	var fail *failure.Failure
	if !errors.As(err, &fail) || fail.Cause != failure.Timeout || fail.First != 1 || fail.Ranks[1].At.Op != "pl.while_" {
		t.Fatalf("got %v", err)
	}
}
