package check

import (
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// kernelText is a kernel of about 200 lines.
func kernelText() string {
	var b strings.Builder
	b.WriteString("@pl.jit.incore\ndef f(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):\n")
	for i := 0; i < 20; i++ {
		b.WriteString(`    acc = pl.full([1, 64], dtype=pl.FP32, value=0.0)
    for i in pl.range(n):
        t = pl.load(x, [i, 0], [1, 64])
        if i % 2 == 0:
            acc = acc + pl.exp(t) * 0.5
        else:
            acc = pl.max(acc, t - 1.0)
        for j in pl.range(0, i, 2):
            acc = acc * x[j : j + 1, :]
    y = pl.store(acc, [` + itoa(i) + `, 0], y)
`)
	}
	return b.String() + "    return y\n"
}

func BenchmarkCheck200Lines(b *testing.B) {
	src := source.NewFile("bench.pl", kernelText())
	for b.Loop() {
		var list diag.List
		f := syntax.Parse(src, syntax.Strict, &list)
		File(f, Options{}, &list)
		if list.HasErrors() {
			b.Fatal(list.Err())
		}
	}
}

func BenchmarkParse200Lines(b *testing.B) {
	src := source.NewFile("bench.pl", kernelText())
	for b.Loop() {
		var list diag.List
		syntax.Parse(src, syntax.Strict, &list)
	}
}
