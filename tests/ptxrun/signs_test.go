package ptxrun

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/codegen/ptx"
	"ptoc/ir"
	"ptoc/runtime/controller"
	"ptoc/runtime/sim"
)

// The sign bits of negative integers, by themselves and in what division, remainders by 2^k - 1 and shifts make of
// them, are what they are on the simulator, whichever LLVM compiles: see repair in codegen/ptx.
func TestSignsOfIntegers(t *testing.T) {
	all := ptx.Installed()
	if len(all) == 0 {
		t.Skip(ErrMissing)
	}
	const n = 64
	for dtype, bits := range map[ir.DType]int{ir.INT64: 64, ir.INT32: 32, ir.INT8: 8} {
		text, rows := "", 0
		add := func(format string, args ...any) {
			text += fmt.Sprintf("    c[%d, :] = ", rows) + fmt.Sprintf(format, args...) + "\n"
			rows++
		}
		for _, by := range []int{1, 2, 3, 5, 7, 15, 31, 63, 127, -3, -7} {
			add("x %% %d", by)
			add("x // %d", by)
		}
		for _, mask := range []int{1, 3, 7, 31, 127} {
			for _, shift := range []int{1, bits / 2, bits - 3, bits - 2, bits - 1} {
				add("pl.bitand(pl.shr(x, %d), %d)", shift, mask)
			}
			add("pl.sel(x < 0, pl.full([%d], pl.%s, %d), pl.full([%d], pl.%s, 0))", n, dtype, mask, n, dtype)
		}
		for from, shift := range map[string]int{"INT8": 7, "INT32": 31} {
			wide := fmt.Sprintf("pl.cast(pl.max(pl.cast(x, pl.%s), -99), pl.%s)", from, dtype)
			add("pl.shl(%s, %d)", wide, shift%bits)
			add("%s * %d", wide, int64(1)<<shift>>(shift/bits*8))
			add("%s * %d", wide, -int64(1)<<shift>>(shift/bits*8))
		}
		m := lowered(t, fmt.Sprintf(`import ptoc.language as pl

@pl.jit.incore
def step(a: pl.Tensor[[%d], pl.%s], c: pl.Out[pl.Tensor[[%d, %d], pl.%s]]):
    x = pl.load(a, [0], [%d])
%s    return c
`, n, dtype, rows, n, dtype, n, text), true)
		run := func(b controller.Backend) []byte {
			a, _ := b.Alloc("a", int64(n*bits/8))
			for i := range n {
				var x [8]byte
				binary.LittleEndian.PutUint64(x[:], uint64(int64(i-n/2)*0x0123_4567_89ab_cdef>>(i%60)))
				copy(a.Data[i*bits/8:(i+1)*bits/8], x[:])
			}
			c, _ := b.Alloc("c", int64(rows*n*bits/8))
			k, err := b.Kernel(m.Func("step"))
			if err == nil {
				err = b.Dispatch(0, k, []abi.Arg{{Tag: abi.TagHeap, Value: a.Addr}, {Tag: abi.TagHeap, Value: c.Addr}})
			}
			if err == nil {
				err = b.Wait(context.Background())
			}
			if err != nil {
				t.Fatal(err)
			}
			return c.Data
		}
		s, err := controller.NewSim(sim.Config{Ranks: 1})
		if err != nil {
			t.Fatal(err)
		}
		want := run(s)
		for i, l := range all {
			if i > 0 && bits < 64 {
				continue // all are right
			}
			t.Setenv("PTOC_LLVM", l.Path)
			got := run(backend(t, m, Config{}))
			if row := n * bits / 8; !bytes.Equal(got, want) {
				for i := range rows {
					if !bytes.Equal(got[i*row:(i+1)*row], want[i*row:(i+1)*row]) {
						t.Errorf("%s, %s: row %d differs\n%s", l, dtype, i, text)
						break
					}
				}
			}
		}
	}
}
