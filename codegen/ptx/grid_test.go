package ptx

import "testing"

// Created tensors that all blocks share lie in global memory: they take no shared memory, and push no tiles out of it.
func TestSharedMemoryIsForWhatIsABlocksOwn(t *testing.T) {
	out, err := Generate(lowered(t, "../../tests/grid/room.pl"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	const tile = 8 * 24 * 4
	for _, k := range out.Kernels {
		n, ok := k.Common.Const()
		if arena := k.Arena; !arena.Is(0) || k.Shared < tile || k.Shared > 4*tile || !ok || n < 5*100*tile {
			t.Errorf("%s takes %d bytes of shared memory, %s of scratch for each block and %s for all", k.Name, k.Shared, k.Arena, k.Common)
		}
	}
}
