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
		for name, body := range map[string]string{
			"vectors":      "y = pl.store(pl.load(x, [0, 0], [1, %[2]d]), [0, 0], y)",
			"elements":     "y = pl.store(pl.load(x, [0, 0], [1, 1]), [0, 0], y)\n    y = pl.store(pl.load(x, [0, 1], [1, %[2]d - 1]), [0, 1], y)",
			"by way of it": "for i in pl.range(0, %[2]d, 4096):\n        a = pl.load(x, [0, i], [1, 4096])\n        y = pl.store(pl.concat(a, a, axis=0), [0, i], y)",
		} {
			rows := 1
			if name == "by way of it" {
				rows = 2
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
