package load

import (
	"strings"
	"testing"

	"ptoc/verify"
)

// A tile keeps the storage that was asked for through arithmetic and fusion, and fillpad extends it to that: the
// comparison between passes finds nothing to complain about, and every byte of the output is known.
func TestAPaddedTileIsTheSameBeforeAndAfterFusion(t *testing.T) {
	u := unit(t, `
@pl.jit.incore
def k(x: pl.Tensor[[1, 40], pl.FP32], y: pl.Out[pl.Tensor[[1, 40], pl.FP32]]):
    v = pl.load(x, [0, 0], [1, 40], valid_shape=[1, 7])
    y[0:1, :] = pl.fillpad(v * 2.0, value=1.5)

@pl.jit.host
def main(x: pl.Tensor[[1, 40], pl.FP32], y: pl.Out[pl.Tensor[[1, 40], pl.FP32]]):
    k(x, y, device=0)

@pl.golden(of=main)
def expected(x, y):
    y[:, :] = pl.full([1, 40], pl.FP32, 1.5)
    y[:, 0:7] = x[:, 0:7] * 2.0
`)
	wantProved(t, reportOf(t, u, 1, 1, 1, []string{"values"}))
}

func TestAGoldenFunctionThatForgetsAnOutputProvesNothing(t *testing.T) {
	u := unit(t, strings.Replace(around(`    pl.store(pl.full([1, 64], pl.FP32, 1.0), [0, 0], y)
`), `N = pl.dynamic("N")`, "N = 4", 1)+`
@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(1):
        y[r, :, 0:63] = pl.full([1, 63], pl.FP32, 1.0)
`)
	r := reportOf(t, u, 1, 1, 1, []string{"values"})
	if text := reasons(r); r.Status() != verify.NotChecked || !strings.Contains(text, "says nothing of 1 of 64 elements") {
		t.Errorf("%s: %s", r.Status(), text)
	}
}
