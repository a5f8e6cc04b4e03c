// Package products makes random loops around matrix products, for tests of what passes and code generators do to
// their loads.
package products

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"strings"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/passes"
	"ptoc/runtime/controller"
)

// Loop writes a kernel, step, around a loop that multiplies tiles: a [12, 60] and b [60, 8] by 4 columns and rows
// a turn, some of them out of bounds. Sums of products are exact, so that it does not matter how they are added up.
func Loop(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.Intn(len(of))] }
	stop := pick("0", "4", "8", "12", "16", "20", "24", "32", "60", "64", "n", "n", "n * 4", "n * 2 + 4", "56 - n")
	bounds := pick("0, ", "0, ", "4, ", "8, ", "n, ") + stop + ", " + pick("4", "4", "4", "8", "3")
	head := fmt.Sprintf(pick("pl.range(%s)", "pl.parallel(%s)", "pl.pipeline(%s, stage=2)", "pl.pipeline(%s, stage=3)", "pl.pipeline(%s, stage=5)"), bounds)
	at := pick("k", "k", "k", "60 - k - 4", "k // 2 * 2", "k % 20")
	lines := []string{
		"t = pl.load(a, [0, " + at + "], [12, 4])",
		"u = pl.load(b, [" + pick("k", "k", at) + ", 0], [4, 8])",
		pick("acc = pl.matmul_acc(acc, t, u)", "acc = pl.matmul(t, u)", "acc = pl.matmul(t, u) - acc", "acc = pl.matmul_acc(acc, t, u) + pl.sum(t, axis=1, keepdims=True)"),
	}
	for _, extra := range []string{
		"pl.store(acc, [0, 0], d[k // 4 + 1])",
		"pl.store(pl.matmul(t, u), [0, 0], d[turns])",
		"turns = turns + 1",
		"turns = (turns * 5 + k) % 14",
		"b = pl.store(u + 1.0, [(k + 4) % 57, 0], b)",
		"acc = acc + pl.load(d[k % 15], [0, 0], [12, 8])",
		"if k % 8 == 0:\n    acc = acc + 1.0",
		"for j in pl.range(k % 3):\n    acc = pl.matmul_acc(acc, t, u)",
		"for j in pl.range(0, n, 4):\n    acc = pl.matmul_acc(acc, t, pl.load(b, [j, 0], [4, 8]))",
	} {
		if r.Intn(5) == 0 {
			lines = append(lines, extra)
		}
	}
	loop := "for k in " + head + ":\n    " + strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\n    ")
	if r.Intn(4) == 0 {
		loop = "for again in " + pick("pl.range(3)", "pl.range(n // 8)") + ":\n    " + strings.ReplaceAll(loop, "\n", "\n    ")
	}
	return `import ptoc.language as pl

@pl.jit.incore
def step(a: pl.Tensor[[12, 60], pl.FP32], b: pl.InOut[pl.Tensor[[60, 8], pl.FP32]], c: pl.Out[pl.Tensor[[12, 8], pl.FP32]],
         d: pl.InOut[pl.Tensor[[15, 12, 8], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    acc = pl.full([12, 8], pl.FP32, 0.25)
    turns = 0
    ` + strings.ReplaceAll(loop, "\n", "\n    ") + `
    c = pl.store(acc + pl.cast(turns, pl.FP32), [0, 0], c)
    return b, c, d
`
}

// Turns draws n, which decides how many turns a loop makes.
func Turns(r *rand.Rand) int64 { return []int64{-3, 0, 1, 3, 4, 5, 8, 13, 14, 15, 20, 61}[r.Intn(12)] }

// Lower runs the passes for GPUs on a program, with PipelineLoads or without.
func Lower(text string, pipelined bool) (*ir.Module, error) {
	list := &diag.List{}
	m := passes.Load(source.NewFile("products.pl", text), check.Options{}, list)
	if list.HasErrors() {
		return nil, list.Err()
	}
	var names []string
	for _, p := range passes.Passes() {
		if pipelined || p.Name != "PipelineLoads" {
			names = append(names, p.Name)
		}
	}
	list = passes.Run(m, passes.Options{Target: "cuda", Passes: names, VerifyEach: true, Reparse: passes.Reparse})
	return m, list.Err()
}

// Run gives what step, of a lowered program of Loop, leaves in its tensors.
func Run(b controller.Backend, m *ir.Module, n int64) ([]byte, error) {
	k, err := b.Kernel(m.Func("step"))
	if err != nil {
		return nil, err
	}
	var args []abi.Arg
	var out [][]byte
	for i, count := range []int{12 * 60, 60 * 8, 12 * 8, 15 * 12 * 8} {
		t, err := b.Alloc(fmt.Sprint("tensor ", i), int64(4*count))
		if err != nil {
			return nil, err
		}
		for j := range count {
			binary.LittleEndian.PutUint32(t.Data[4*j:], math.Float32bits(float32(j*(7+2*i)%23)/8-1))
		}
		out = append(out, t.Data)
		args = append(args, abi.Arg{Tag: abi.TagHeap, Value: t.Addr})
	}
	if err := b.Dispatch(0, k, append(args, abi.Arg{Value: n})); err != nil {
		return nil, err
	}
	err = b.Wait(context.Background())
	return bytes.Join(out, nil), err
}
