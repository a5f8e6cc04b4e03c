package ptxrun

import (
	"testing"

	"ptoc/codegen/ptx"
)

// What each LLVM that is here makes of a representative of each kind of kernel (tensor cores, reductions, a ring, signals)
// gives what the golden function says, without a race.
func TestEveryLLVMThatIsInstalled(t *testing.T) {
	all := ptx.Installed()
	if len(all) == 0 {
		t.Skip(ErrMissing)
	}
	for _, l := range all {
		t.Run(l.String(), func(t *testing.T) {
			t.Setenv("PTOC_LLVM", l.Path)
			for _, file := range []string{"allreduce.pl", "gemm_allreduce.pl", "softmax.pl", "course/10_allreduce_ring.pl", "course/16_composition.pl"} {
				checkExample(t, "../../examples/"+file, 3)
			}
		})
	}
}
