package sim

import (
	"encoding/binary"

	"ptoc/ir"
)

// Alloc is one allocation: a host tensor, a rank's copy of a window, or a kernel's own tensor.
type Alloc struct {
	ID     int
	Name   string
	Device int // the rank whose memory it is; -1: the host's
	Window bool
	Offset int64 // windows: in each rank's window segment
	Data   []byte
	In     *Block // a kernel's own tensor: the block that made it; nil: none did

	// What a kernel last saw it as, to name its elements.
	Shape []int64
	Elem  int64
}

// Loop is one run of a loop whose iterations are apart (ir.IterationsApart) and of which there are several.
type Loop struct {
	Op *ir.Op
	N  int64
	In *Block // the block around it
}

// Block is one iteration of such a loop.
type Block struct {
	Loop  *Loop
	Index int64
}

// Range is some bytes of an Alloc.
type Range struct{ Off, Len int64 }

// Access is one access of a rank to memory. Everything that kernels read and write goes through one
// Memory as an Access, so that another Memory can delay, watch or refuse it.
type Access struct {
	Device int // who
	Mem    *Alloc
	Ranges []Range // in the order of the bytes that are read or written
	Op     *ir.Op
}

// Bytes is the size of an access.
func (a *Access) Bytes() int64 {
	n := int64(0)
	for _, r := range a.Ranges {
		n += r.Len
	}
	return n
}

// Cell is a signal cell.
type Cell struct {
	Mem *Alloc
	Off int64
}

// Memory decides what ranks see of each other's writes.
type Memory interface {
	Read(a *Access, dst []byte)
	Write(a *Access, src []byte)
	// Update reads, changes and writes each range as one atomic access.
	Update(a *Access, change func(at int64, b []byte))
	// Notify adds to a cell, or sets it, and releases what the device did before.
	Notify(device int, c Cell, op *ir.Op, value int32, set bool)
	// Peek is what the owner of a cell sees there, without acquiring anything.
	Peek(c Cell) int32
	// Acquire ends a wait: the device now sees what the notifies that it needed had released.
	Acquire(w Blocked)
	Fence(device int, op *ir.Op)
}

// Sequential is the memory in which every access takes effect at once, for everybody.
type Sequential struct{}

func (Sequential) Read(a *Access, dst []byte) {
	at := int64(0)
	for _, r := range a.Ranges {
		copy(dst[at:at+r.Len], a.Mem.Data[r.Off:])
		at += r.Len
	}
}

func (Sequential) Write(a *Access, src []byte) {
	at := int64(0)
	for _, r := range a.Ranges {
		copy(a.Mem.Data[r.Off:r.Off+r.Len], src[at:])
		at += r.Len
	}
}

func (Sequential) Update(a *Access, change func(int64, []byte)) {
	at := int64(0)
	for _, r := range a.Ranges {
		change(at, a.Mem.Data[r.Off:r.Off+r.Len])
		at += r.Len
	}
}

func (s Sequential) Notify(_ int, c Cell, _ *ir.Op, value int32, set bool) {
	if !set {
		value += s.Peek(c)
	}
	binary.LittleEndian.PutUint32(c.Mem.Data[c.Off:], uint32(value))
}

func (Sequential) Peek(c Cell) int32           { return int32(binary.LittleEndian.Uint32(c.Mem.Data[c.Off:])) }
func (Sequential) Acquire(Blocked)             {}
func (Sequential) Fence(device int, op *ir.Op) {}
