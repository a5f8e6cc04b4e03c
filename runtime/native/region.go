package native

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptoc/codegen/abi"
)

// region is the engine's memory as this process maps it. Only what is touched
// costs memory: it is made large, and never grows.
type region struct {
	layout
	bytes  []byte
	file   *os.File // the memory file that workers map; nil in mode Threads
	shared bool
}

// newRegion maps a region for cfg. Where address space is short, it takes less
// than the defaults.
func newRegion(cfg *Config) (*region, error) {
	for {
		l := makeLayout(cfg.Ranks, cfg.WindowBytes, cfg.HeapBytes)
		r, err := mapRegion(l, cfg.Mode)
		if err == nil {
			r.initControl(cfg)
			return r, nil
		}
		if cfg.WindowBytes <= 64<<20 {
			return nil, fmt.Errorf("reserving %d bytes for %d ranks: %w", l.total, cfg.Ranks, err)
		}
		cfg.WindowBytes, cfg.HeapBytes = cfg.WindowBytes/2, max(cfg.HeapBytes/2, 64<<20)
	}
}

func mapRegion(l layout, mode Mode) (*region, error) {
	if mode == Threads {
		b, err := unix.Mmap(-1, 0, int(l.total), unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
		return &region{layout: l, bytes: b}, err
	}
	// A memory file has no name: the kernel frees it with the last process
	// that maps it, however that ends.
	fd, err := unix.MemfdCreate("ptoc", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "ptoc")
	if err := unix.Ftruncate(fd, l.total); err != nil {
		f.Close()
		return nil, err
	}
	r, err := mapShared(l, f)
	if err != nil {
		f.Close()
	}
	return r, err
}

func mapShared(l layout, f *os.File) (*region, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, int(l.total), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	return &region{layout: l, bytes: b, file: f, shared: true}, nil
}

func (r *region) unmap() error {
	if r.file != nil {
		r.file.Close()
	}
	return unix.Munmap(r.bytes)
}

func (r *region) initControl(cfg *Config) {
	*r.control() = control{
		Ranks: int32(cfg.Ranks), First: -1, Spins: spins(cfg.Ranks),
		ModuleTab: r.modules, KernelTab: r.kernels, DomainTab: r.domains,
		Ctl: r.ctl, Rings: r.rings, Windows: r.windows, WindowStride: r.windowStride, Heap: r.heap,
	}
	if cfg.Mode == Threads {
		r.control().OneProcess = 1
	}
	for i := range cfg.Ranks {
		r.rank(i).Kernel = -1
	}
}

// spins is how often a wait looks at its cell before it yields the core: hardly
// at all where the peers need this very core. Where every rank has a core of its
// own, it is some 25 to 100 microseconds: a yield would give the core to whatever
// else the machine does, for as long as that likes.
func spins(ranks int) int32 {
	if ranks > runtime.NumCPU() {
		return 4
	}
	return 2000
}

func at[T any](r *region, off int64, index int) *T {
	var t T
	return (*T)(unsafe.Pointer(&r.bytes[off+int64(index)*int64(unsafe.Sizeof(t))]))
}

func (r *region) control() *control       { return at[control](r, 0, 0) }
func (r *region) rank(i int) *abi.RankCtl { return at[abi.RankCtl](r, r.ctl, i) }
func (r *region) ring(i int) *ring        { return at[ring](r, r.rings, i) }
func (r *region) module(i int) *module    { return at[module](r, r.modules, i) }
func (r *region) kernel(i int) *kernel    { return at[kernel](r, r.kernels, i) }
func (r *region) domain(i int) *domain    { return at[domain](r, r.domains, i) }
func (r *region) window(rank int) []byte {
	lo := r.windows + int64(rank)*r.windowStride
	return r.bytes[lo : lo+r.windowStride : lo+r.windowStride]
}

// zero clears part of the region. Large parts go back to the system, which
// hands out zeroes.
func (r *region) zero(b []byte) {
	const page = 4096
	if len(b) < 64<<20 {
		clear(b)
		return
	}
	skip := int(-uintptr(unsafe.Pointer(&b[0])) % page)
	clear(b[:skip])
	whole := (len(b) - skip) / page * page
	clear(b[skip+whole:])
	advice := unix.MADV_DONTNEED
	if r.shared {
		advice = unix.MADV_REMOVE
	}
	if unix.Madvise(b[skip:skip+whole], advice) != nil {
		clear(b[skip : skip+whole])
	}
}

// wantHuge asks for large pages where they pay.
func (r *region) wantHuge(b []byte) {
	lo := int(-uintptr(unsafe.Pointer(&b[0])) % hugePage)
	if hi := len(b); hi-lo >= hugePage {
		unix.Madvise(b[lo:hi], unix.MADV_HUGEPAGE) // a wish
	}
}

const (
	futexWait    = 0
	futexWake    = 1
	futexPrivate = 128
)

func (r *region) futexOp(op uintptr) uintptr {
	if r.shared {
		return op
	}
	return op | futexPrivate
}

// wake wakes who sleeps on the 32 bits at word.
func (r *region) wake(word unsafe.Pointer) {
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(word), r.futexOp(futexWake), 1<<30, 0, 0, 0)
}

// sleep sleeps while *word is seen, d at most.
func (r *region) sleep(word *int32, seen int32, d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), r.futexOp(futexWait),
		uintptr(seen), uintptr(unsafe.Pointer(&ts)), 0, 0)
}

func yieldCore() { syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
