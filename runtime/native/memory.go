package native

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"ptoc/codegen/abi"
)

// windowSpace hands out offsets that are the same in every rank's segment.
type windowSpace struct {
	mu   sync.Mutex
	next int64
}

// AllocWindow reserves bytes at the same offset of every rank's window
// segment: zeroed and aligned to a cache line.
func (e *Engine) AllocWindow(bytes int64) (offset int64, err error) {
	w := &e.windows
	w.mu.Lock()
	defer w.mu.Unlock()
	if bytes < 0 || max(bytes, 1) > e.region.windowStride-w.next { // the rest is whole cache lines
		return 0, fmt.Errorf("a window of %d bytes: %d of %d are in use", bytes, w.next, e.region.windowStride)
	}
	end := w.next + roundUp(max(bytes, 1), abi.CacheLine)
	offset, w.next = w.next, end
	if !e.region.shared {
		for r := range e.cfg.Ranks {
			e.region.wantHuge(e.region.window(r)[offset:end])
		}
	}
	return offset, nil
}

// ResetWindows frees all windows and zeroes what they held. No rank may run.
func (e *Engine) ResetWindows() {
	w := &e.windows
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range e.cfg.Ranks {
		e.region.zero(e.region.window(r)[:w.next])
	}
	w.next = 0
}

// Window returns bytes of a rank's window segment.
func (e *Engine) Window(rank int, offset, bytes int64) []byte {
	return e.region.window(rank)[offset : offset+bytes : offset+bytes]
}

// Buffer is memory of the heap, which the host and all ranks share.
type Buffer struct {
	Offset int64
	Data   []byte
}

// heapSpace is a first-fit allocator; host tensors are few and large.
type heapSpace struct {
	mu    sync.Mutex
	free  []span // sorted, never adjacent
	fresh int64  // nothing from here on was ever used: it is zero
}

type span struct{ lo, hi int64 }

func (h *heapSpace) init(bytes int64) { h.free = []span{{0, bytes}} }

func heapSize(bytes int64) int64 { return roundUp(max(bytes, 1), abi.CacheLine) }

// Alloc returns zeroed memory, aligned to a cache line.
func (e *Engine) Alloc(bytes int64) (Buffer, error) {
	h := &e.heap
	h.mu.Lock()
	defer h.mu.Unlock()
	size := heapSize(bytes)
	for i := range h.free {
		s := &h.free[i]
		if bytes < 0 || s.hi-s.lo < max(bytes, 1) { // spans are whole cache lines
			continue
		}
		lo := s.lo
		if s.lo += size; s.lo == s.hi {
			h.free = slices.Delete(h.free, i, i+1)
		}
		mem := e.region.bytes[e.region.heap+lo : e.region.heap+lo+size]
		if used := min(h.fresh, lo+size) - lo; used > 0 {
			e.region.zero(mem[:used])
		}
		h.fresh = max(h.fresh, lo+size)
		if !e.region.shared {
			e.region.wantHuge(mem)
		}
		return Buffer{lo, mem[:bytes:bytes]}, nil
	}
	return Buffer{}, fmt.Errorf("a tensor of %d bytes does not fit into the heap of %d", bytes, e.region.heapBytes)
}

// Free returns a buffer. No command that was given it may still run.
func (e *Engine) Free(b Buffer) {
	h := &e.heap
	h.mu.Lock()
	defer h.mu.Unlock()
	s := span{b.Offset, b.Offset + heapSize(int64(len(b.Data)))}
	i, _ := slices.BinarySearchFunc(h.free, s.lo, func(f span, lo int64) int { return int(f.lo - lo) })
	h.free = slices.Insert(h.free, i, s)
	if i+1 < len(h.free) && h.free[i].hi == h.free[i+1].lo {
		h.free[i].hi = h.free[i+1].hi
		h.free = slices.Delete(h.free, i+1, i+2)
	}
	if i > 0 && h.free[i-1].hi == h.free[i].lo {
		h.free[i-1].hi = h.free[i].hi
		h.free = slices.Delete(h.free, i, i+1)
	}
}

// OffsetOf returns the heap offset of a slice that points into a Buffer.
func (e *Engine) OffsetOf(b []byte) int64 {
	base := unsafe.Pointer(&e.region.bytes[e.region.heap])
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(base))
}
