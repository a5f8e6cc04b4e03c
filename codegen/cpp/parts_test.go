package cpp_test

import (
	"fmt"
	"strings"
	"testing"

	"ptoc/codegen/cpp"
)

func TestALargeModuleHasPartsAndCallsStayWithinOne(t *testing.T) {
	var text strings.Builder
	for i := range 12 {
		fmt.Fprintf(&text, `
@pl.jit.incore
def k%d(x: pl.InOut[pl.Tensor[[64, 64], pl.FP32]]):
    t = pl.load(x, [0, 0], [64, 64])
    x[:, :] = pl.matmul(t, pl.transpose(t)) - pl.amax(t, axis=0, keepdims=True)
`, i)
		if i%3 == 2 {
			fmt.Fprintf(&text, "    k%d(x)\n    k%d(x)\n", i-1, i-2)
		}
	}
	out, err := cpp.Generate(compile(t, text.String(), true))
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Parts) < 2 || len(out.Parts) > 4 {
		t.Fatalf("%d parts of %d bytes", len(out.Parts), len(out.Text))
	}
	home := map[string]int{}
	for i, part := range out.Parts {
		for _, k := range out.Kernels {
			if strings.Contains(part, fmt.Sprintf("i32 f_%s(", k.Name)) {
				if j, twice := home[k.Name]; twice {
					t.Errorf("%s stands in part %d and in part %d", k.Name, j, i)
				}
				home[k.Name] = i
			}
		}
	}
	if len(home) != 12 {
		t.Errorf("%d of 12 kernels are there", len(home))
	}
	for i := 2; i < 12; i += 3 {
		if a, b, c := home[fmt.Sprint("k", i)], home[fmt.Sprint("k", i-1)], home[fmt.Sprint("k", i-2)]; a != b || a != c {
			t.Errorf("k%d calls into another part", i)
		}
	}
}
