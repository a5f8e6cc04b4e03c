package cpp

import (
	"fmt"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/lang/source"
	"ptoc/passes"
)

// BenchmarkMatMul reports GFLOP/s of one core.
func BenchmarkMatMul(b *testing.B) {
	for _, dt := range []ir.DType{ir.FP32, ir.FP16, ir.BF16, ir.INT8} {
		out := ir.FP32
		if dt == ir.INT8 {
			out = ir.INT32
		}
		kern := build(b, module(matmulFunc(dt, out, false, false, false)), "k")
		for _, n := range []int{64, 256, 512, 1024} {
			b.Run(fmt.Sprintf("%s/%d", dt, n), func(b *testing.B) {
				x, w, y := make([]byte, n*n*dt.Size()+64), make([]byte, n*n*dt.Size()+64), make([]float32, n*n)
				gx, gw, gy := guard(x, 0), guard(w, 0), guard(y, 0)
				run := kern.prepare(gx.addr(), gw.addr(), gy.addr(), int64(n), int64(n), int64(n))
				for b.Loop() {
					if run() != abi.OK {
						b.Fatal("the kernel fails")
					}
				}
				b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// BenchmarkReduceOverPeers is what a rank does between the barriers of an allreduce of 8 ranks: it reads
// its segment from all, adds, and stores the sum to all. One core, no waiting.
func BenchmarkReduceOverPeers(b *testing.B) {
	n := ir.SymDim("N")
	for _, stream := range []bool{false, true} {
		f := ir.NewFunc("k", ir.InCore, source.Span{})
		data := f.AddParam("data", window(ir.FP32, ir.ConstDim(1), n), ir.InOut)
		bl := ir.NewBuilder(f, f.Body)
		ranks := bl.Add(ir.NRanks).Set("ctx", bl.Add(ir.GetCommCtx).Set("target", data).Must().Result()).Must().Result()
		loadFrom := func(b *ir.Builder, p *ir.Value) *ir.Value {
			return b.Add(ir.RemoteLoad).Set("target", data).Set("peer", p).Set("offsets", index(0, 0)...).Set("shape", dims(ir.ConstDim(1), n)...).Must().Result()
		}
		loop, body := bl.For("range", ir.Index(1), ranks, ir.Index(1), loadFrom(bl, ir.Index(0)))
		sum, _ := body.Binary(ir.Add, body.Block.Args[1], loadFrom(body, body.Block.Args[0]))
		body.Yield(sum)
		_, body = bl.For("range", ir.Index(0), ranks, ir.Index(1))
		body.Add(ir.RemoteStore).Set("tile", loop.Results[0]).Set("target", data).Set("peer", body.Block.Args[0]).Set("offsets", index(0, 0)...).SetAttr("stream", stream).Must()
		bl.Return()
		m := module(f)
		if l := passes.Run(m, passes.Options{}); l.HasErrors() {
			b.Fatal(l)
		}
		kern := build(b, m, "k")
		for _, size := range []int{32, 512, 8192, 32768, 131072, 1 << 20} {
			b.Run(fmt.Sprintf("stream=%v/%d", stream, size*4), func(b *testing.B) {
				w := newWorld(8, size*4)
				d := w.domain(0)
				run := kern.prepare(ptrOf(d), 0, int64(size))
				for b.Loop() {
					if run() != abi.OK {
						b.Fatal("the kernel fails")
					}
				}
				b.SetBytes(int64(size) * 4 * 16)
			})
		}
	}
}
