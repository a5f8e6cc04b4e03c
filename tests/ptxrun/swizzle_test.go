package ptxrun

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"ptoc/codegen/abi"
)

// The eight rows that a warp loads of a matrix at a time are in different banks, however long they are, and the
// product is what it is in any layout.
func TestRowsOfMatricesAreInDifferentBanks(t *testing.T) {
	const text = `import ptoc.language as pl

@pl.jit.incore
def multiply(a: pl.Tensor[[%[2]d, %[3]d], pl.BF16], b: pl.Tensor[[%[4]d, %[5]d], pl.BF16], c: pl.Out[pl.Tensor[[%[6]d, %[7]d], pl.FP32]]):
    acc = pl.full([%[6]d, %[7]d], pl.FP32, 0.0)
    for again in pl.range(2):
        acc = pl.matmul_acc(acc, pl.load(a, [0, 0], [%[2]d, %[3]d])%[8]s, pl.load(b, [0, 0], [%[4]d, %[5]d])%[1]s)
    return pl.store(acc, [0, 0], c)
`
	for _, shape := range [][3]int{{64, 64, 32}, {16, 128, 16}, {128, 16, 64}, {32, 32, 128}, {64, 256, 16}, {64, 48, 32}} {
		for trans := range 4 {
			rows, cols, deep := shape[0], shape[1], shape[2]
			how, left, right := "", [2]int{rows, deep}, [2]int{deep, cols}
			if trans&1 != 0 {
				how, left = ", a_trans=True", [2]int{deep, rows}
			}
			if trans&2 != 0 {
				how, right = how+", b_trans=True", [2]int{cols, deep}
			}
			for scale, scaled := range []string{"", " * 2.0"} { // loaded as it is, and computed
				program := fmt.Sprintf(text, how, left[0], left[1], right[0], right[1], rows, cols, scaled)
				b := backend(t, lowered(t, program, true), Config{Races: true})
				k, err := b.Kernel(b.out.Kernels[0].Func)
				if err != nil {
					t.Fatal(err)
				}
				x, _ := b.Alloc("a", int64(2*rows*deep))
				y, _ := b.Alloc("b", int64(2*deep*cols))
				z, _ := b.Alloc("c", int64(4*rows*cols))
				value := func(i int) float32 { return float32(i*7%31) - 15 }
				for _, m := range [][]byte{x.Data, y.Data} {
					for i := range len(m) / 2 {
						binary.LittleEndian.PutUint16(m[2*i:], uint16(math.Float32bits(value(i))>>16))
					}
				}
				if err := b.Dispatch(0, k, []abi.Arg{{Tag: abi.TagHeap, Value: x.Addr}, {Tag: abi.TagHeap, Value: y.Addr}, {Tag: abi.TagHeap, Value: z.Addr}}); err != nil {
					t.Fatal(err)
				}
				if err := b.Wait(context.Background()); err != nil {
					t.Fatalf("%s\n%v", program, err)
				}
				at := func(i, j int, m [2]int, turned bool) float32 {
					if turned {
						i, j = j, i
					}
					return value(i*m[1] + j)
				}
				for i := range rows {
					for j := range cols {
						want := float32(0)
						for k := range deep {
							want += float32(2*(scale+1)) * at(i, k, left, trans&1 != 0) * at(k, j, right, trans&2 != 0)
						}
						if got := math.Float32frombits(binary.LittleEndian.Uint32(z.Data[4*(i*cols+j):])); got != want {
							t.Fatalf("element %d, %d is %g, not %g\n%s", i, j, got, want, program)
						}
					}
				}
				// Rows of 96 bytes lie as they come.
				if odd := cols == 48 && trans&2 == 0; b.Stats.Products == 0 || b.Stats.Conflicts > 0 && !odd {
					t.Errorf("%d conflicts of %d products\n%s", b.Stats.Conflicts, b.Stats.Products, program)
				}
			}
		}
	}
}
