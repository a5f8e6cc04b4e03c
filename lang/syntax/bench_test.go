package syntax

import (
	"os"
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// kernels returns about n bytes of programs.
func kernels(tb testing.TB, n int) string {
	one, err := os.ReadFile("testdata/kernels.pl")
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Repeat(string(one), n/len(one)+1)
}

func BenchmarkParse250KB(b *testing.B) {
	text := kernels(b, 250_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var list diag.List
		Parse(source.NewFile("bench.pl", text), Strict, &list)
		if list.Len() > 0 {
			b.Fatal(list.Error())
		}
	}
}

func BenchmarkScan250KB(b *testing.B) {
	text := kernels(b, 250_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var list diag.List
		scan(source.NewFile("bench.pl", text), &list)
	}
}
