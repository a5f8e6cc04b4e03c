package run

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"ptoc/codegen/ptx"
	"ptoc/runtime/tensor"
)

// GPUs add to elements of one or two bytes by swapping the word around them: the last word of a tensor is there as
// a whole, whatever the tensor's size is.
func TestAtomicStoresAtTheEndOfATensor(t *testing.T) {
	const text = `@pl.jit.incore
def k(x: pl.Tensor[[1, %[1]d], pl.%[2]s], y: pl.InOut[pl.Tensor[[1, %[1]d], pl.%[2]s]]):
    return pl.store(pl.load(x, [0, 0], [1, %[1]d]), [0, 0], y, atomic=pld.AtomicType.Add)
`
	all := ways(t)
	if _, err := ptx.Compile("", "sm_80"); !errors.Is(err, ptx.ErrNoLLVM) {
		all = append(all, onPTX, onGPU, onGPUs(t))
	}
	for _, dtype := range []string{"INT8", "BF16"} {
		for n := int64(1); n < 8; n += 2 {
			for _, w := range all {
				out := t.TempDir() + "/y.npy"
				_, err := Run(context.Background(), w.options(Options{File: file(t, fmt.Sprintf(text, n, dtype)),
					Ins: []string{"x=full:2", "y=full:3"}, Outs: []string{"y=" + out}}))
				if err != nil {
					t.Fatalf("%v, %d of %s: %v", w, n, dtype, render(err))
				}
				y, err := tensor.Load(out, "")
				if err != nil {
					t.Fatal(err)
				}
				for i := range n {
					if got := y.Float(i); got != 5 {
						t.Errorf("%v, %d of %s: element %d is %v, not 5", w, n, dtype, i, got)
					}
				}
			}
		}
	}
}
