package ptx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ptoc/ir"
	"ptoc/tests/ptxas"
)

// The largest sums that loops carry in registers leave room for all else.
func TestSumsInRegistersSpillNothing(t *testing.T) {
	llvm, err := Find()
	if err != nil {
		t.Skip(err)
	}
	const text = `import ptoc.language as pl

@pl.jit.incore
def multiply(a: pl.Tensor[[%[4]d, 1024], pl.%[1]s], b: pl.Tensor[[1024, 64], pl.%[1]s], c: pl.Out[pl.Tensor[[%[4]d, 64], pl.%[2]s]], n: pl.Scalar[pl.INDEX]):
    %[3]s
    return c
`
	const one = `acc = pl.full([%[2]d, 64], pl.%[1]s, 0)
    for again in pl.range(n):
        for k in pl.range(0, 1024, 32):
            acc = pl.matmul_acc(acc, pl.load(a, [0, k], [%[2]d, 32]), pl.load(b, [k, 0], [32, 64]))
    c = pl.store(acc, [0, 0], c)`
	const two = `top = pl.full([%[3]d, 64], pl.%[1]s, 0)
    low = pl.full([%[3]d, 64], pl.%[1]s, 0)
    for k in pl.range(0, 1024, 32):
        right = pl.load(b, [k, 0], [32, 64])
        top = pl.matmul_acc(top, pl.load(a, [0, k], [%[3]d, 32]), right)
        low = pl.matmul_acc(low, pl.load(a, [%[3]d, k], [%[3]d, 32]), right)
    c = pl.store(top, [0, 0], c)
    c = pl.store(low, [%[3]d, 0], c)`
	for _, kind := range []struct {
		dtype, sum string
		rows       int // of the largest sum
		opt        Options
	}{{"BF16", "FP32", 128, Options{}}, {"FP16", "FP32", 128, Options{}}, {"FP32", "FP32", 64, Options{}}, {"FP32", "FP32", 64, Options{TF32: true}}, {"INT8", "INT32", 128, Options{}}} {
		for _, body := range []string{one, two} {
			name := filepath.Join(t.TempDir(), "multiply.pl")
			program := fmt.Sprintf(text, kind.dtype, kind.sum, fmt.Sprintf(body, kind.sum, kind.rows, kind.rows/2), kind.rows)
			if err := os.WriteFile(name, []byte(program), 0o644); err != nil {
				t.Fatal(err)
			}
			m := lowered(t, name)
			f := m.Func("multiply")
			carried := 0
			for v := range newGen(kind.opt).registers(f).Fragments {
				if v.Owner != nil && v.Owner.Parent != nil && v.Owner.Parent.Kind == ir.For {
					carried++
				}
			}
			if carried != 2 { // both loops' or both tiles
				t.Errorf("%d carried tiles in registers\n%s", carried, ir.Print(m))
			}
			out, err := Generate(m, kind.opt)
			if err != nil {
				t.Fatal(err)
			}
			use, err := assemble(t, llvm, name, out.LLVM, "sm_80")
			if errors.Is(err, ptxas.ErrMissing) {
				t.Skip(err)
			}
			for _, u := range use {
				if t.Logf("%s %+v: %+v", kind.dtype, kind.opt, u); u.SpillStores+u.SpillLoads+u.Stack != 0 {
					t.Errorf("%s %+v: %+v\n%s", kind.dtype, kind.opt, u, program)
				}
			}
		}
	}
}
