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

// The first file of a process pays for building the grammar.
func BenchmarkBuildGrammar(b *testing.B) {
	for b.Loop() {
		buildGrammar()
	}
}

func BenchmarkFormat250KB(b *testing.B) {
	f := source.NewFile("bench.pl", kernels(b, 250_000))
	b.SetBytes(int64(len(f.Text)))
	for b.Loop() {
		var list diag.List
		FormatSource(f, &list)
	}
}
