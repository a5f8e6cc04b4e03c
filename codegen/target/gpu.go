package target

import "ptoc/ir"

// Threads is the number of threads of a block. A thread takes up to eight elements of a tile in registers:
// of rows in whole blocks four neighbours at a time, 16 bytes of FP32.
const (
	Threads  = 128
	gpuLanes = 4
	gpuBlock = gpuLanes * Threads
	gpuRow   = 8 * Threads
)

// GPU keeps rows of a bounded length in the registers of a block's threads: what one fused loop leaves in a
// thread's registers the next one finds there, without a barrier. A block takes up to 96 KiB of shared memory for
// other tiles; with more, they live in global memory.
var GPU = &Target{Name: "cuda", Block: gpuBlock, Shared: 96 << 10, Stages: 2, fragments: true, fits: func(t *ir.Tile) bool { return PerThread(t) > 0 }, serves: rowLoop}

// PerThread is how many registers of a thread hold a tile; 0 if registers cannot.
func PerThread(t *ir.Tile) int64 {
	last, ok := Row(t.Storage())
	n, known := last.Const()
	if !ok || !known || n <= 0 || n > gpuRow {
		return 0
	}
	return (n + Threads - 1) / Threads
}

// Neighbours is how many neighbouring elements of such a row one thread has: thread t owns the elements
// n*t to n*t + n-1, then those n*Threads further, and so on.
func Neighbours(row ir.Dim) int64 {
	if n, ok := row.Const(); ok && n%gpuBlock == 0 {
		return gpuLanes
	}
	return 1
}

// rowLoop reports whether a fused loop runs over one row whose operands are rows or single elements, and v is
// such a row. A single element is for all threads to read: it is not in registers.
func rowLoop(op *ir.Op, v *ir.Value, regs map[*ir.Value]bool) bool {
	row, ok := Row(ir.DimsOf(op.Vals("shape")))
	if !ok {
		return false
	}
	is := func(v *ir.Value) bool {
		n, ok := Row(ir.ShapeOf(v.Type))
		return ok && n.Equal(row)
	}
	if !is(v) {
		return false
	}
	for _, x := range append(operands(op), op.Vals("outs")...) {
		if n, ok := Row(ir.ShapeOf(x.Type)); !ok || !n.Is(1) && !is(x) {
			return false
		}
		if regs[x] && PerThread(x.Type.(*ir.Tile)) != PerThread(v.Type.(*ir.Tile)) {
			return false
		}
	}
	return true
}
