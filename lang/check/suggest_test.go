package check

import (
	"fmt"
	"testing"

	"ptoc/lang/diag"
)

func TestErrorsSayWhatWasProbablyMeant(t *testing.T) {
	const program = `import ptoc.language as pl
import ptoc.distributed as pld

@pl.jit.incore
def f(x: pl.Tensor[[4], pl.FP32], n: pl.Scalar[pl.INDEX]):
    a = %s
`
	for expr, want := range map[string]string{
		"pl.exq(x)":                     "did you mean pl.exp?",
		"pl.rank(x)":                    "did you mean pld.rank?",
		"pl.alreduce(x)":                "did you mean pld.allreduce?",
		"pld.tile.exq(x)":               "did you mean pl.exp?",
		"...":                           "x[...] is all of x; as a statement of its own, ... does nothing",
		"1\n    class C:\n        pass": "move C to the top level, as @pl.program",
		"pl.foo(x)":                     "",
		"pl.fr(x)":                      "", // pl.for is an op, but no name
		"pld.world_size()":              "the size of a window's domain is pld.nranks(pld.get_comm_ctx(w))",
		"n + 1.5":                       "convert one of them with pl.cast(..., pl.FP32)",
		"(n > 0) + n":                   "convert one of them with pl.cast(..., pl.INDEX)",
		"pl.exp(n)":                     "convert it first: pl.cast(..., pl.FP32)",
		"n / 2":                         "use // for an integer quotient, or pl.cast to FP32 first",
		"1.5 * n":                       "convert one of them with pl.cast(..., pl.FP32)",
	} {
		_, _, list := checkText("suggest.pl", fmt.Sprintf(program, expr), Options{})
		if !list.HasErrors() {
			t.Errorf("%s: no error", expr)
			continue
		}
		got := ""
		if d := list.Sorted()[0]; len(d.Helps) > 0 {
			got = d.Helps[0]
		}
		if got != want {
			t.Errorf("%s: got help %q, want %q", expr, got, want)
		}
	}
}

func TestAWrongElementTypePointsToTheDeclaration(t *testing.T) {
	const text = `@pl.jit.incore
def f(x: pl.InOut[pl.Tensor[[4], pl.FP32]], sig: pl.InOut[pld.DistributedTensor[[4, 1], pl.FP32]]):
    pld.system.notify(sig, 0, [0, 0], 1)
`
	_, _, list := checkText("p.pl", text, Options{})
	d := list.Sorted()[0]
	if d.Code != diag.WrongDType || len(d.Notes) != 1 || d.Notes[0].Text != "sig is a pld.DistributedTensor[[4, 1], pl.FP32]" || d.Notes[0].At.Text() != "sig" {
		t.Errorf("%v %v", d, d.Notes)
	}
}
