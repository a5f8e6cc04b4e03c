package gpu

import (
	"fmt"
	"testing"

	"ptoc/tests/cudasim"
)

const wide = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(sig: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(sig))
    pld.system.%s

@pl.jit.host
def main():
    buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(pld.window(buf, [NR, 1], dtype=pl.INT32), device=r)
`

// As on the CPU: a value that no cell holds is a fault, and never cut to 32 bits, where a wait could pass at once.
func TestAValueThatNoCellHoldsIsAFaultOnAGPU(t *testing.T) {
	for _, op := range []string{"wait(sig, [0, 0], (me + 1) * 3000000000)", "notify(sig, me, [0, 0], (me + 1) * 3000000000)"} {
		_, err := program(t, fmt.Sprintf(wide, op), 2, &cudasim.Driver{})
		skipWithoutLLVM(t, err)
		wants(t, err, "E0715", "it must be in [-2147483648, 2147483647]")
	}
}
