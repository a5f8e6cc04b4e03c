package cuda

import (
	"fmt"
	"slices"
	"unsafe"

	"ptoc/codegen/abi"
)

// heap is the host's tensors. With one GPU each has a copy there, which a Wait brings up to date before
// the kernels run, and whose results it fetches. Several GPUs read and write the host's own memory: two of
// them may write parts of one tensor, which copies could not be put together from.
type heap struct {
	buffers []*Buffer // by address
}

// Buffer is a tensor that host and ranks share.
type Buffer struct {
	Addr int64 // as kernels know it
	Data []byte
	host HostMemory
	dev  Ptr // 0: the ranks use the host's memory
}

// Alloc makes a zeroed tensor.
func (e *Engine) Alloc(bytes int64) (*Buffer, error) {
	if e.broken != nil {
		return nil, e.broken
	}
	if bytes < 0 {
		return nil, fmt.Errorf("a tensor of %d bytes", bytes)
	}
	g := e.groups[0]
	room := max((bytes+3)&^3, 4) // where GPUs add to narrow elements, they swap whole words
	host, err := g.dev.MallocHost(room)
	if err != nil {
		return nil, fmt.Errorf("a tensor of %w", err)
	}
	b := &Buffer{Addr: int64(host.Ptr), Data: host.Data[:bytes:bytes], host: host}
	if len(e.groups) == 1 {
		if b.dev, err = g.dev.MallocAsync(g.main, room); err != nil {
			g.dev.FreeHost(host)
			return nil, fmt.Errorf("a tensor of %w", err)
		}
		b.Addr = int64(b.dev)
	}
	i, _ := slices.BinarySearchFunc(e.heap.buffers, b.Addr, byAddress)
	e.heap.buffers = slices.Insert(e.heap.buffers, i, b)
	return b, nil
}

func byAddress(b *Buffer, addr int64) int {
	switch {
	case b.Addr < addr:
		return -1
	case b.Addr > addr:
		return 1
	}
	return 0
}

// Free gives the tensor at addr back.
func (e *Engine) Free(addr int64) {
	if e.broken != nil { // Close frees it, if that can be
		return
	}
	if i, ok := slices.BinarySearchFunc(e.heap.buffers, addr, byAddress); ok {
		e.freeBuffer(e.heap.buffers[i])
		e.heap.buffers = slices.Delete(e.heap.buffers, i, i+1)
	}
}

func (e *Engine) freeBuffer(b *Buffer) {
	g := e.groups[0]
	if b.dev != 0 {
		g.dev.FreeAsync(g.main, b.dev)
	}
	g.dev.FreeHost(b.host)
}

// find is the tensor in which addr lies.
func (h *heap) find(addr int64) *Buffer {
	i, exact := slices.BinarySearchFunc(h.buffers, addr, byAddress)
	if exact {
		return h.buffers[i]
	}
	if i == 0 {
		return nil
	}
	return h.buffers[i-1]
}

// traffic is which tensors the queued kernels use, and which of them they may write.
func (e *Engine) traffic() (used, written []*Buffer) {
	if len(e.groups) > 1 {
		return nil, nil
	}
	uses := map[*Buffer]bool{}
	for _, q := range e.queue {
		for _, c := range q {
			for i, a := range c.args {
				if a.Tag != abi.TagHeap {
					continue
				}
				if b := e.heap.find(a.Value); b != nil {
					uses[b] = uses[b] || i >= len(e.cfg.Kernels[c.kernel].Writes) || e.cfg.Kernels[c.kernel].Writes[i]
				}
			}
		}
	}
	for _, b := range e.heap.buffers {
		w, ok := uses[b]
		if ok && len(b.Data) > 0 {
			used = append(used, b)
		}
		if w && len(b.Data) > 0 {
			written = append(written, b)
		}
	}
	return used, written
}

// staging is host memory and the GPU memory that it is copied to.
type staging struct {
	host HostMemory
	dev  scratch
	used int64
}

// reset makes room for n bytes. Nothing may run that still reads what was there.
func (s *staging) reset(d Device, n int64) error {
	s.used = 0
	if n <= s.dev.size {
		return nil
	}
	n = max(2*s.dev.size, n, 4096)
	if s.dev.at != 0 {
		d.Free(s.dev.at)
		d.FreeHost(s.host)
	}
	*s = staging{}
	var err error
	if s.host, err = d.MallocHost(n); err != nil {
		return err
	}
	if s.dev.at, err = d.Malloc(n); err != nil {
		d.FreeHost(s.host)
		*s = staging{}
		return err
	}
	s.dev.size = n
	return nil
}

// add reserves n bytes, aligned to 16, and says where the GPU will see them.
func (s *staging) add(n int64) (data []byte, at Ptr) {
	lo := s.used
	s.used += (n + 15) &^ 15
	return s.host.Data[lo : lo+n : lo+n], s.dev.at + Ptr(lo)
}

func (s *staging) upload(d Device, on Stream) error {
	if s.used == 0 {
		return nil
	}
	return d.Upload(on, s.dev.at, s.host.Data[:s.used])
}

// put writes a value that has the same layout on both sides.
func put[T any](data []byte, x T) {
	*(*T)(unsafe.Pointer(unsafe.SliceData(data[:unsafe.Sizeof(x)]))) = x
}
