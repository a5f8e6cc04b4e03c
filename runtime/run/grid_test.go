package run

import (
	"context"
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/diag/diagtest"
	"ptoc/lang/source"
)

// A loop whose blocks a GPU cannot run side by side is named when the program is compiled.
func TestBlocksThatRunInTurnAreNamed(t *testing.T) {
	row, ok := diag.Lookup(diag.BlocksInTurn.String())
	if !ok {
		t.Fatal("no such code")
	}
	name := file(t, row.Example)
	_, warnings, err := Build(context.Background(), BuildOptions{File: name, Target: "cuda", Emit: "llvm"})
	if err != nil {
		t.Fatal(err)
	}
	diagtest.Check(t, source.NewFile(name, row.Example), warnings)
	if _, warnings, err = Build(context.Background(), BuildOptions{File: name, Emit: "cpp"}); err != nil || warnings.Len() > 0 {
		t.Errorf("a CPU has one core for all: %v %v", warnings, err)
	}
}

// What makes the value that is in the way is named as the program has it.
func TestWhatBlocksNeedIsNamed(t *testing.T) {
	const text = `
N = pl.dynamic("N")

@pl.jit.incore
def f(x: pl.Tensor[[4, N], pl.FP32], y: pl.Out[pl.Tensor[[4, N], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[4], pl.INT32]]):
    a = pl.load(x, [0, 0], [1, N]) * 2.0
    y = pl.store(a, [0, 0], y)
    b = pl.load(x, [1, 0], [1, N])
    c = b
    d = b
    for i in pl.range(3):
        pld.notify(s, 0, [i], 1)
        b = b + 1.0
    if x[0, 0] > 0.0:
        pld.notify(s, 0, [3], 1)
        c = c + 1.0
    while x[1, 1] > pl.cast(s[0], pl.FP32):
        d = d + 1.0
    for k in pl.spmd(4):
        pl.store(BY, [k, 0], y)
`
	for by, want := range map[string]string{
		"a": "they need a, a pl.Tile[[1, N], pl.FP32], which the loop that stores elements in line 7 makes",
		"b": "they need b, a pl.Tile[[1, N], pl.FP32], which the loop in line 11 makes",
		"c": "they need c, a pl.Tile[[1, N], pl.FP32], which the if in line 14 makes",
		"d": "they need d, a pl.Tile[[1, N], pl.FP32], which the loop in line 17 makes",
	} {
		name := file(t, strings.Replace(text, "BY", by, 1))
		_, warnings, err := Build(context.Background(), BuildOptions{File: name, Target: "cuda", Emit: "llvm"})
		if err != nil {
			t.Fatal(err)
		}
		if got := warnings.Error(); warnings.Len() != 1 || !strings.Contains(got, want+": that cannot be done more than once") {
			t.Errorf("%s: %s", by, got)
		}
	}
}
