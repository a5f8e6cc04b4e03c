package target

import (
	"testing"

	"ptoc/ir"
)

// Whatever the rows' length is, 16 bytes at one place of eight rows in a row lie at eight places of their lines, and
// no two bytes come to lie at one place.
func TestSwizzlesKeepRowsApart(t *testing.T) {
	for _, cols := range []int64{16, 32, 64, 128, 256, 1024} {
		tile := ir.NewTile([]ir.Dim{ir.ConstDim(16), ir.ConstDim(cols)}, nil, ir.BF16)
		s := swizzleOf(&ir.Value{Type: tile})
		if s == 0 {
			t.Fatalf("rows of %d elements are not swizzled", cols)
		}
		row := 2 * cols
		at := func(o int64) int64 { return o ^ o>>s&Bits }
		taken := map[int64]bool{}
		for o := int64(0); o < 16*row; o += 16 {
			if p := at(o); taken[p] || p >= 16*row || p%16 != 0 {
				t.Errorf("rows of %d bytes: byte %d lies at %d", row, o, p)
			}
			taken[at(o)] = true
		}
		for x := int64(0); x < row; x += 16 {
			for first := int64(0); first < 16; first += 8 {
				places := map[int64]bool{}
				for y := range int64(8) {
					places[at((first+y)*row+x)/16%8] = true
				}
				if len(places) != 8 {
					t.Errorf("rows of %d bytes, byte %d: %d places", row, x, len(places))
				}
			}
		}
	}
	for _, cols := range []int64{8, 24, 48} { // 16 bytes in a row never meet; others are no power of two
		tile := ir.NewTile([]ir.Dim{ir.ConstDim(16), ir.ConstDim(cols)}, nil, ir.BF16)
		if swizzleOf(&ir.Value{Type: tile}) != 0 {
			t.Errorf("rows of %d elements are swizzled", cols)
		}
	}
}
