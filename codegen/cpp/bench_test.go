package cpp

import (
	"fmt"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/ir"
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
