package controller

import (
	"context"
	"testing"
	"time"

	"ptoc/ir"
	"ptoc/lang/source"
)

// emptyLoop dispatches an empty kernel calls times to every rank.
func emptyLoop(calls int64) *ir.Module {
	k := ir.NewFunc("empty", ir.InCore, source.Span{})
	k.AddParam("x", &ir.Tensor{Dims: []ir.Dim{ir.ConstDim(1), ir.ConstDim(4)}, DType: ir.FP32}, ir.In)
	h := ir.NewFunc("main", ir.Host, source.Span{})
	x := h.AddParam("x", &ir.Tensor{Dims: []ir.Dim{ir.SymDim("NR"), ir.ConstDim(1), ir.ConstDim(4)}, DType: ir.FP32}, ir.In)
	b := ir.NewBuilder(h, h.Body)
	n := b.Add(ir.WorldSize).Must().Result()
	_, outer := b.For("range", ir.Index(0), ir.Index(calls), ir.Index(1))
	loop, body := outer.For("range", ir.Index(0), n, ir.Index(1))
	r := loop.Regions[0].Args[0]
	row := body.Add(ir.Slice).Set("x", x).Set("shape", ir.Index(1), ir.Index(1), ir.Index(4)).
		Set("offsets", r, ir.Index(0), ir.Index(0)).SetAttr("drop_dims", int64(1)).Must().Result()
	body.Add(ir.Call).SetAttr("callee", k).Set("args", row).Set("device", r).Must()
	body.Yield()
	outer.Yield()
	return &ir.Module{Funcs: []*ir.Func{k, h}}
}

func benchmarkEmpty(b *testing.B, calls int64) {
	m := emptyLoop(calls)
	make, ok := backends(b, m, 2, 30*time.Second)["thread"]
	if !ok {
		b.Skip("no compiler")
	}
	back := make()
	defer back.Close()
	p, err := Prepare(m, m.Func("main"), back, map[string]int64{"NR": 2})
	check(b, err)
	x, err := p.NewTensor("x", ir.FP32, []int64{2, 1, 4})
	check(b, err)
	b.ResetTimer()
	for range b.N {
		check(b, p.Run(context.Background(), []any{x}))
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(int64(b.N)*calls), "ns/call")
}

// A call is one dispatch to each of two ranks.
func BenchmarkEmptyKernelInALoop(b *testing.B)  { benchmarkEmpty(b, 10000) }
func BenchmarkEmptyKernelOneByOne(b *testing.B) { benchmarkEmpty(b, 1) }
