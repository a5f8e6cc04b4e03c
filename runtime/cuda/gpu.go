package cuda

import (
	"fmt"
	"math"
	"runtime"
	"time"
	"unsafe"
)

// gpu is a Device of the machine's driver: its primary context, which other users of the GPU in this
// process share.
type gpu struct {
	lib  *libcuda
	dev  int32
	ctx  uintptr
	info Info

	streams []Stream // what Close destroys
	events  []Event
	modules []Module
}

// Attributes of a device, as cuda.h numbers them.
const (
	attrMaxThreads     = 1
	attrClock          = 13
	attrProcessors     = 16
	attrMemoryClock    = 36
	attrMemoryBus      = 37
	attrMajor          = 75
	attrMinor          = 76
	attrHostAtomics    = 86
	attrCooperative    = 95
	attrSharedOptIn    = 97
	attrPools          = 115
	funcMaxShared      = 8
	poolThreshold      = 4
	peerAtomics        = 3
	hostPortableMapped = 1 | 2
	streamNonBlocking  = 1
)

// open makes a context on the i-th GPU.
func (l *libcuda) open(i int) (*gpu, error) {
	g := &gpu{lib: l, info: Info{Index: i}}
	if r := l.do("cuDeviceGet", uintptr(unsafe.Pointer(&g.dev)), uintptr(i)); r != success {
		return nil, l.failed("cuDeviceGet", r)
	}
	if r := l.do("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&g.ctx)), uintptr(g.dev)); r != success {
		return nil, l.failed("cuDevicePrimaryCtxRetain", r)
	}
	if err := g.describe(); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

func (g *gpu) describe() error {
	name := make([]byte, 256)
	if err := g.call("cuDeviceGetName", uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(g.dev)); err != nil {
		return err
	}
	in := &g.info
	in.Name = goString(uintptr(unsafe.Pointer(&name[0])))
	runtime.KeepAlive(name)
	if err := g.call("cuDeviceTotalMem_v2", uintptr(unsafe.Pointer(&in.Memory)), uintptr(g.dev)); err != nil {
		return err
	}
	var cooperate, pools int
	for attr, to := range map[int]*int{attrMajor: &in.Major, attrMinor: &in.Minor, attrProcessors: &in.Multiprocessors, attrClock: &in.ClockKHz,
		attrSharedOptIn: &in.SharedPerBlock, attrCooperative: &cooperate, attrPools: &pools, attrMaxThreads: &in.MaxThreadsPerBlock,
		attrMemoryClock: &in.MemoryClockKHz, attrMemoryBus: &in.MemoryBusBits} {
		var x int32
		err := g.call("cuDeviceGetAttribute", uintptr(unsafe.Pointer(&x)), uintptr(attr), uintptr(g.dev))
		if err != nil && (attr == attrMajor || attr == attrProcessors) {
			return err
		}
		*to = int(x) // 0: the driver does not know it
	}
	in.CanCooperate, in.CanPool = cooperate != 0, pools != 0
	if in.CanPool {
		g.keepPool()
	}
	return nil
}

// keepPool lets the pool keep what is freed, for the next tensor.
func (g *gpu) keepPool() {
	var pool uintptr
	if g.call("cuDeviceGetDefaultMemPool", uintptr(unsafe.Pointer(&pool)), uintptr(g.dev)) == nil {
		all := uint64(math.MaxUint64)
		g.call("cuMemPoolSetAttribute", pool, poolThreshold, uintptr(unsafe.Pointer(&all)))
	}
}

// result calls a function of the driver in this GPU's context.
//
//go:uintptrescapes
//go:noinline
func (g *gpu) result(name string, args ...uintptr) int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if r := g.lib.do("cuCtxSetCurrent", g.ctx); r != success {
		return r
	}
	return syscall(g.lib.fn[name], args...)
}

// call is result as an error.
//
//go:uintptrescapes
//go:noinline
func (g *gpu) call(name string, args ...uintptr) error {
	if r := g.result(name, args...); r != success {
		return g.lib.failed(name, r)
	}
	return nil
}

func (g *gpu) Info() Info { return g.info }

// Close destroys what was made in the context, which others may go on using. Memory is the maker's.
func (g *gpu) Close() error {
	for _, m := range g.modules {
		g.call("cuModuleUnload", uintptr(m))
	}
	for _, e := range g.events {
		g.call("cuEventDestroy_v2", uintptr(e))
	}
	for _, s := range g.streams {
		g.call("cuStreamDestroy_v2", uintptr(s))
	}
	g.modules, g.events, g.streams = nil, nil, nil
	if r := g.lib.do("cuDevicePrimaryCtxRelease_v2", uintptr(g.dev)); r != success {
		return g.lib.failed("cuDevicePrimaryCtxRelease", r)
	}
	return nil
}

func (g *gpu) Malloc(bytes int64) (p Ptr, err error) {
	err = g.call("cuMemAlloc_v2", uintptr(unsafe.Pointer(&p)), uintptr(bytes))
	return p, g.memory(err, bytes)
}

// memory says how much was asked for.
func (g *gpu) memory(err error, bytes int64) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%d bytes on %s, which has %d: %w", bytes, g.info.Name, g.info.Memory, err)
}

func (g *gpu) Free(p Ptr) error { return g.call("cuMemFree_v2", uintptr(p)) }

func (g *gpu) MallocAsync(s Stream, bytes int64) (p Ptr, err error) {
	if !g.info.CanPool {
		return g.Malloc(bytes)
	}
	err = g.call("cuMemAllocAsync", uintptr(unsafe.Pointer(&p)), uintptr(bytes), uintptr(s))
	return p, g.memory(err, bytes)
}

func (g *gpu) FreeAsync(s Stream, p Ptr) error {
	if !g.info.CanPool {
		return g.Free(p)
	}
	return g.call("cuMemFreeAsync", uintptr(p), uintptr(s))
}

func (g *gpu) MallocHost(bytes int64) (HostMemory, error) {
	var host, dev uintptr
	if err := g.call("cuMemHostAlloc", uintptr(unsafe.Pointer(&host)), uintptr(bytes), hostPortableMapped); err != nil {
		return HostMemory{}, fmt.Errorf("%d bytes of host memory: %w", bytes, err)
	}
	if err := g.call("cuMemHostGetDevicePointer_v2", uintptr(unsafe.Pointer(&dev)), host, 0); err != nil {
		g.call("cuMemFreeHost", host)
		return HostMemory{}, err
	}
	data := bytesAt(host, bytes)
	clear(data)
	return HostMemory{data, Ptr(dev)}, nil
}

func (g *gpu) FreeHost(h HostMemory) error { return g.call("cuMemFreeHost", address(h.Data)) }

// address of host memory that is not Go's: it does not move.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

func (g *gpu) Upload(s Stream, to Ptr, from []byte) error {
	return g.call("cuMemcpyHtoDAsync_v2", uintptr(to), address(from), uintptr(len(from)), uintptr(s))
}

func (g *gpu) Download(s Stream, to []byte, from Ptr) error {
	return g.call("cuMemcpyDtoHAsync_v2", address(to), uintptr(from), uintptr(len(to)), uintptr(s))
}

func (g *gpu) Copy(s Stream, to, from Ptr, bytes int64) error {
	return g.call("cuMemcpyDtoDAsync_v2", uintptr(to), uintptr(from), uintptr(bytes), uintptr(s))
}

func (g *gpu) Zero(s Stream, at Ptr, bytes int64) error {
	return g.call("cuMemsetD8Async", uintptr(at), 0, uintptr(bytes), uintptr(s))
}

func (g *gpu) NewStream() (s Stream, err error) {
	if err = g.call("cuStreamCreate", uintptr(unsafe.Pointer(&s)), streamNonBlocking); err == nil {
		g.streams = append(g.streams, s)
	}
	return s, err
}

func (g *gpu) NewEvent() (e Event, err error) {
	if err = g.call("cuEventCreate", uintptr(unsafe.Pointer(&e)), 0); err == nil {
		g.events = append(g.events, e)
	}
	return e, err
}

func (g *gpu) Record(e Event, s Stream) error {
	return g.call("cuEventRecord", uintptr(e), uintptr(s))
}

func (g *gpu) WaitEvent(s Stream, e Event) error {
	return g.call("cuStreamWaitEvent", uintptr(s), uintptr(e), 0)
}

func (g *gpu) Done(e Event) (bool, error) {
	switch r := g.result("cuEventQuery", uintptr(e)); r {
	case success:
		return true, nil
	case errorNotReady:
		return false, nil
	default:
		return false, g.lib.failed("cuEventQuery", r)
	}
}

func (g *gpu) Elapsed(from, to Event) (time.Duration, error) {
	var ms float32
	err := g.call("cuEventElapsedTime", uintptr(unsafe.Pointer(&ms)), uintptr(from), uintptr(to))
	return time.Duration(float64(ms) * 1e6), err
}

func (g *gpu) Occupancy(f Function, threads, shared int) (int, error) {
	if err := g.allowShared(f, shared); err != nil {
		return 0, err
	}
	var n int32
	err := g.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", uintptr(unsafe.Pointer(&n)), uintptr(f), uintptr(threads), uintptr(shared))
	return int(n), err
}

// allowShared: more than 48 KB of shared memory must be asked for.
func (g *gpu) allowShared(f Function, shared int) error {
	if shared > g.info.SharedPerBlock {
		return fmt.Errorf("a kernel takes %d bytes of shared memory, a block of %s has at most %d", shared, g.info.Name, g.info.SharedPerBlock)
	}
	if shared <= 48<<10 {
		return nil
	}
	return g.call("cuFuncSetAttribute", uintptr(f), funcMaxShared, uintptr(shared))
}

func (g *gpu) Launch(s Stream, l Launch) error {
	if err := g.allowShared(l.Function, l.Shared); err != nil {
		return err
	}
	param := l.Param
	params := []unsafe.Pointer{unsafe.Pointer(&param)}
	if l.Cooperative {
		return g.call("cuLaunchCooperativeKernel", uintptr(l.Function), uintptr(l.GridX), uintptr(l.GridY), 1,
			uintptr(l.Threads), 1, 1, uintptr(l.Shared), uintptr(s), uintptr(unsafe.Pointer(&params[0])))
	}
	return g.call("cuLaunchKernel", uintptr(l.Function), uintptr(l.GridX), uintptr(l.GridY), 1,
		uintptr(l.Threads), 1, 1, uintptr(l.Shared), uintptr(s), uintptr(unsafe.Pointer(&params[0])), 0)
}

func (g *gpu) EnablePeer(other Device) error {
	o := other.(*gpu)
	if err := g.lib.Reaches(g.info.Index, o.info.Index); err != nil {
		return err
	}
	if r := g.result("cuCtxEnablePeerAccess", o.ctx, 0); r != success && r != errorPeerEnabled {
		return g.lib.failed("cuCtxEnablePeerAccess", r)
	}
	return nil
}
