package check

import (
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

func TestReadLeavesDimsToTheRun(t *testing.T) {
	const text = `
import ptoc.language as pl

N = pl.dynamic("N")
SIZE = 4

@pl.jit.incore
def f(x: pl.InOut[pl.Tensor[[N, SIZE], pl.FP32]]):
    x[0, 0] = 1.0
`
	read := func(n, size string) (string, map[string]int64, *diag.List) {
		list := &diag.List{}
		m, dims := Read(source.NewFile("f.pl", text), Options{Defines: map[string]string{"N": n, "SIZE": size}}, list)
		return m.Funcs[0].Params()[0].Type.String(), dims, list
	}
	typ, dims, list := read("5", "2 * 3")
	if typ != "pl.Tensor[[N, 6], pl.FP32]" || len(dims) != 1 || dims["N"] != 5 || list.HasErrors() {
		t.Errorf("%s, %v, %v", typ, dims, list)
	}
	if _, _, list = read("many", "6"); !list.HasErrors() || !strings.Contains(list.Err().Error(), "N is a dimension, so it takes a whole number") {
		t.Errorf("-D N=many: %v", list.Err())
	}
}
