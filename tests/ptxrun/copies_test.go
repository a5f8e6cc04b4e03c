package ptxrun

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"ptoc/codegen/ptx"
)

// A copy moves bits: what a NaN carries is there on the other side, whichever way the elements go.
func TestCopiesChangeNoBit(t *testing.T) {
	const n = 1 << 16
	all := make([]byte, 2*n)
	for i := range n {
		binary.LittleEndian.PutUint16(all[2*i:], uint16(i))
	}
	for _, dtype := range []string{"BF16", "FP16"} {
		for name, body := range map[string]string{ // what is in row 0 is in row 1, too
			"vectors":       "y = pl.store(pl.load(x, [0, 0], [1, %[2]d]), [0, 0], y)",
			"elements":      "y = pl.store(pl.load(x, [0, 0], [1, 1]), [0, 0], y)\n    y = pl.store(pl.load(x, [0, 1], [1, %[2]d - 1]), [0, 1], y)",
			"by way of it":  "for i in pl.range(0, %[2]d, 4096):\n        a = pl.load(x, [0, i], [1, 4096])\n        y = pl.store(pl.concat(a, a, axis=0), [0, i], y)",
			"to two places": "a = pl.load(x, [0, 0], [1, %[2]d])\n    y = pl.store(a, [0, 0], y)\n    y = pl.store(a, [1, 0], y)",
			"beside others": "z = pl.create_tensor([1, %[2]d], dtype=pl.%[1]s)\n    a = pl.load(x, [0, 1], [1, %[2]d - 1])\n" +
				"    y = pl.store(a, [0, 1], y)\n    z = pl.store(a + 1.0, [0, 1], z)\n    y = pl.store(pl.load(x, [0, 0], [2, 1]), [0, 0], y)\n" +
				"    y = pl.store(a, [1, 1], y)",
			"stretched": "y = pl.store(pl.expand(pl.load(x, [0, 0], [1, %[2]d]), [2, %[2]d]), [0, 0], y)",
			"through registers": "for i in pl.range(0, %[2]d, 512):\n        a = pl.load(x, [0, i], [1, 512])\n" +
				"        for j in pl.range(2):\n            y = pl.store(a, [j, i], y)",
		} {
			rows := 2
			if name == "vectors" || name == "elements" {
				rows = 1
			}
			text := fmt.Sprintf("@pl.jit.incore\ndef k(x: pl.Tensor[[%[3]d, %[2]d], pl.%[1]s], y: pl.Out[pl.Tensor[[%[3]d, %[2]d], pl.%[1]s]]):\n    "+body+
				"\n    return y\n", dtype, n, rows)
			in := bytes.Repeat(all, rows)
			if got := runKernel(t, text, ptx.Options{}, in); !bytes.Equal(got, in) {
				for i := range rows * n {
					if w, g := binary.LittleEndian.Uint16(in[2*i:]), binary.LittleEndian.Uint16(got[2*i:]); w != g {
						t.Errorf("%s, %s: element %d is %#04x, not %#04x", dtype, name, i, g, w)
						break
					}
				}
			}
		}
	}
}

// So does one that gives an element to a whole row.
func TestWhatIsStretchedChangesNoBit(t *testing.T) {
	const n = 1 << 16
	for _, dtype := range []string{"BF16", "FP16"} {
		for _, cols := range []int{3, 8} { // elements, and vectors
			var in []byte
			for i := range n * cols {
				in = binary.LittleEndian.AppendUint16(in, uint16(i/cols))
			}
			text := fmt.Sprintf(`@pl.jit.incore
def k(x: pl.Tensor[[%[1]d, %[2]d], pl.%[3]s], y: pl.Out[pl.Tensor[[%[1]d, %[2]d], pl.%[3]s]]):
    return pl.store(pl.expand(pl.load(x, [0, 0], [%[1]d, 1]), [%[1]d, %[2]d]), [0, 0], y)
`, n, cols, dtype)
			got := runKernel(t, text, ptx.Options{}, in)
			for i := 0; i < len(in); i += 2 {
				if w, g := binary.LittleEndian.Uint16(in[i:]), binary.LittleEndian.Uint16(got[i:]); w != g {
					t.Errorf("%s, rows of %d: %#04x comes as %#04x", dtype, cols, w, g)
					break
				}
			}
		}
	}
}
