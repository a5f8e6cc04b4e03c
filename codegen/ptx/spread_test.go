package ptx

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A copy out of global memory has four vectors of a thread under way before it stores the first; a short one, of
// which no thread has four, has no such loop.
func TestCopiesLoadAhead(t *testing.T) {
	for _, tt := range []struct {
		extent string
		loads  int // in front of the first store
	}{{"8192", 4}, {"N", 4}, {"1024", 1}} {
		name := filepath.Join(t.TempDir(), "k.pl")
		text := fmt.Sprintf("N = pl.dynamic(\"N\")\n\n@pl.jit.incore\ndef k(x: pl.Tensor[[1, %[1]s], pl.BF16], y: pl.Out[pl.Tensor[[1, %[1]s], pl.BF16]]):\n"+
			"    return pl.store(pl.load(x, [0, 0], [1, %[1]s]), [0, 0], y)\n", tt.extent)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := Generate(lowered(t, name), Options{})
		if err != nil {
			t.Fatal(err)
		}
		before, _, ok := strings.Cut(out.LLVM, "store <8 x i16>")
		if n := strings.Count(before, "= load <8 x i16>"); !ok || n != tt.loads {
			t.Errorf("%s elements: %d loads before the first store\n%s", tt.extent, n, out.LLVM)
		}
	}
}
