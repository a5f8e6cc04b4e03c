package irtest

import (
	"testing"

	"ptoc/ir"
)

// The module of these benchmarks has about 300 ops, what a kernel of 200 lines has.
func benchModule() *ir.Module { return Random(17, 220) }

func BenchmarkPrint(b *testing.B) {
	m := benchModule()
	b.ReportMetric(float64(countOps(m)), "ops")
	for b.Loop() {
		ir.Print(m)
	}
}

func BenchmarkVerify(b *testing.B) {
	m := benchModule()
	for b.Loop() {
		if errs := ir.Verify(m); errs != nil {
			b.Fatal(errs)
		}
	}
}

func BenchmarkRetype(b *testing.B) {
	m := benchModule()
	for b.Loop() {
		for _, f := range m.Funcs {
			if err := ir.Retype(f); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkEqual(b *testing.B) {
	m := benchModule()
	c := ir.CloneModule(m)
	for b.Loop() {
		if err := ir.Equal(m, c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkClone(b *testing.B) {
	m := benchModule()
	for b.Loop() {
		ir.CloneModule(m)
	}
}

func countOps(m *ir.Module) int {
	n := 0
	for _, f := range m.Funcs {
		f.Walk(func(*ir.Op) { n++ })
	}
	return n
}
