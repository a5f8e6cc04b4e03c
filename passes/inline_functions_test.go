package passes

import (
	"fmt"
	"strings"
	"testing"

	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// Each of these functions calls the one before twice.
func TestInlineFunctionsMayNotMultiplyWithoutBound(t *testing.T) {
	var text strings.Builder
	text.WriteString("@pl.jit.inline\ndef f0(n: pl.Scalar[pl.INDEX]):\n    return n + 1\n\n")
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&text, "@pl.jit.inline\ndef f%d(n: pl.Scalar[pl.INDEX]):\n    return f%d(n) + f%d(n)\n\n", i, i-1, i-1)
	}
	text.WriteString("@pl.jit.incore\ndef k(y: pl.Out[pl.Tensor[[1], pl.INDEX]]):\n    y[0] = f40(y[0])\n")
	var list diag.List
	m := Load(source.NewFile("k.pl", text.String()), check.Options{}, &list)
	if list.HasErrors() {
		t.Fatal(&list)
	}
	list.Merge(Run(m, Options{}))
	if all := list.Sorted(); len(all) != 1 || all[0].Code != diag.InlineGrowth {
		t.Errorf("want one %s, got %v", diag.InlineGrowth, all)
	}
}
