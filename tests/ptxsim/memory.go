package ptxsim

import (
	"fmt"
	"sort"
)

// Memory is the global memory that the ranks of a run share: separate allocations with gaps between
// them, so that an access which leaves its allocation is seen.
type Memory struct {
	allocs  []*alloc // by address
	next    uint64
	modules map[*Module][]uint64 // addresses of their variables
}

type alloc struct {
	name     string
	base     uint64
	data     []byte
	readOnly bool
	cells    []uint8 // log2 of the width+1 with which somebody synchronised on this byte; 0: nobody
	race     *globalShadow
}

const (
	globalStart  = 0x2_0000_0000
	sharedWindow = 0x7f00_0000_0000 // generic addresses of shared memory
	localWindow  = 0x7e00_0000_0000
	windowSize   = 1 << 32
	sharedStart  = 1024 // shared addresses begin here: 0 is never valid
	localStart   = 64
	gap          = 4096
)

// NewMemory makes an empty memory.
func NewMemory() *Memory {
	return &Memory{next: globalStart, modules: map[*Module][]uint64{}}
}

// Alloc reserves zeroed memory and returns its address, a multiple of 256.
func (m *Memory) Alloc(name string, size int) uint64 { return m.Map(name, make([]byte, size)) }

// Map makes data addressable.
func (m *Memory) Map(name string, data []byte) uint64 {
	a := &alloc{name: name, base: m.next, data: data}
	m.allocs = append(m.allocs, a)
	m.next = (a.base + uint64(len(data)) + 2*gap) &^ (gap - 1)
	return a.base
}

// Bytes is the content of n bytes at addr; nil if they are not of one allocation.
func (m *Memory) Bytes(addr uint64, n int) []byte {
	a := m.find(addr)
	if a == nil || addr-a.base+uint64(n) > uint64(len(a.data)) {
		return nil
	}
	return a.data[addr-a.base:][:n:n]
}

// find is the last allocation at or below addr.
func (m *Memory) find(addr uint64) *alloc {
	i := sort.Search(len(m.allocs), func(i int) bool { return m.allocs[i].base > addr }) - 1
	if i < 0 {
		return nil
	}
	return m.allocs[i]
}

// describe says where addr lies.
func (m *Memory) describe(addr uint64) string {
	a := m.find(addr)
	if a == nil {
		return fmt.Sprintf("%#x", addr)
	}
	return fmt.Sprintf("%#x, byte %d of %s, which has %d", addr, addr-a.base, a.name, len(a.data))
}

// load places a module's variables once.
func (m *Memory) load(mod *Module) ([]uint64, error) {
	if at, ok := m.modules[mod]; ok {
		return at, nil
	}
	at := make([]uint64, len(mod.globals))
	for i, v := range mod.globals {
		data := make([]byte, v.size)
		copy(data, v.init)
		at[i] = m.Map(v.name, data)
		m.allocs[len(m.allocs)-1].readOnly = v.space == sConst
	}
	for i, v := range mod.globals {
		for _, r := range v.relocs {
			found := false
			for j, w := range mod.globals {
				if w.name == r.name {
					putUint(m.find(at[i]).data[r.at:], 8, at[j]+uint64(r.add))
					found = true
				}
			}
			if !found {
				return nil, &Error{Msg: "the initialiser of " + v.name + " names " + r.name + ", which is not there"}
			}
		}
	}
	m.modules[mod] = at
	return at, nil
}

// access says what an instruction does to memory.
type access struct {
	size   int
	write  bool
	read   bool
	atomic bool // atom, red
	strong bool // relaxed, acquire, release, volatile, atom, red
	sync   bool // acquire or release: the word is a signal
	elem   int  // width of one element
}

// bytes checks an access of thread t and returns the memory.
func (t *thread) bytes(sp space, addr uint64, a *access) []byte {
	if addr%uint64(a.size) != 0 {
		t.fail("misaligned access: %d bytes at %s address %#x", a.size, sp, addr)
	}
	switch sp {
	case sGeneric:
		switch {
		case addr-sharedWindow < windowSize:
			return t.sharedBytes(addr-sharedWindow, a)
		case addr-localWindow < windowSize:
			return t.localBytes(addr-localWindow, a)
		}
		return t.globalBytes(addr, a)
	case sGlobal, sConst:
		return t.globalBytes(addr, a)
	case sShared:
		return t.sharedBytes(addr, a)
	case sLocal:
		return t.localBytes(addr, a)
	}
	if addr+uint64(a.size) > uint64(len(t.params)) || addr+uint64(a.size) < addr {
		t.fail("out of range: %d bytes at %d of the %d bytes of parameters", a.size, addr, len(t.params))
	}
	return t.params[addr:][:a.size]
}

func (t *thread) globalBytes(addr uint64, a *access) []byte {
	al := t.last
	if al == nil || addr < al.base || addr-al.base+uint64(a.size) > uint64(len(al.data)) {
		al = t.block.mem.find(addr)
		if al == nil || addr-al.base+uint64(a.size) > uint64(len(al.data)) || addr+uint64(a.size) < addr {
			t.fail("out of range: %d bytes at %s", a.size, t.block.mem.describe(addr))
		}
		t.last = al
	}
	off := addr - al.base
	if a.write && al.readOnly {
		t.fail("write to constant memory at %s", t.block.mem.describe(addr))
	}
	if a.sync || al.cells != nil {
		t.checkCell(al, off, a)
	}
	if t.block.run.globalRaces {
		t.globalRace(al, off, a)
	}
	return al.data[off:][:a.size]
}

// checkCell reports accesses that have another width than those which synchronise on the same bytes.
func (t *thread) checkCell(al *alloc, off uint64, a *access) {
	if al.cells == nil {
		al.cells = make([]uint8, len(al.data))
	}
	for i := range a.size {
		c := al.cells[off+uint64(i)]
		if c != 0 && int(c) != a.elem {
			t.fail("mixed widths: %d bytes at %s, a word on which %d-byte accesses synchronise", a.elem,
				t.block.mem.describe(al.base+off), c)
		}
		if a.sync {
			al.cells[off+uint64(i)] = uint8(a.elem)
		}
	}
}

func (t *thread) localBytes(addr uint64, a *access) []byte {
	if addr < localStart || addr+uint64(a.size) > uint64(t.localEnd) {
		t.fail("out of range: %d bytes at local address %#x of %#x", a.size, addr, t.localEnd)
	}
	return t.local[addr:][:a.size]
}

// forget drops what a run noted about cells.
func (m *Memory) forget() {
	for _, a := range m.allocs {
		a.cells, a.race = nil, nil
	}
}

func getUint(b []byte, n int) uint64 {
	x := uint64(0)
	for i := n - 1; i >= 0; i-- {
		x = x<<8 | uint64(b[i])
	}
	return x
}

func putUint(b []byte, n int, x uint64) {
	for i := range n {
		b[i] = byte(x)
		x >>= 8
	}
}
