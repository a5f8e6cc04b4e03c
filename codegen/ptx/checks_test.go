package ptx

import "testing"

// Kernels whose accesses are seen to stay within their memory have no way to fail.
func TestChecksThatCannotFailAreLeftOut(t *testing.T) {
	for _, name := range []string{"gemm", "rmsnorm", "softmax", "course/02_three_levels"} {
		out, err := Generate(lowered(t, "../../examples/"+name+".pl"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range out.Sites {
			t.Errorf("%s: %s: %s may fail", name, s.Span, s.Op)
		}
	}
}
