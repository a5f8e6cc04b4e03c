package cuda

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"ptoc/internal/sharedlib"
)

// libcuda is the driver's library. Symbols are those of CUDA 11.4 and later, with the version suffixes
// that cuda.h hides.
type libcuda struct {
	version int
	fn      map[string]uintptr
}

// symbols that every driver since CUDA 11.4 has.
var symbols = []string{
	"cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString",
	"cuDeviceGet", "cuDeviceGetCount", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDeviceTotalMem_v2", "cuDeviceCanAccessPeer", "cuDeviceGetP2PAttribute",
	"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuCtxSetCurrent", "cuCtxEnablePeerAccess",
	"cuMemAlloc_v2", "cuMemFree_v2", "cuMemAllocAsync", "cuMemFreeAsync", "cuDeviceGetDefaultMemPool", "cuMemPoolSetAttribute",
	"cuMemHostAlloc", "cuMemFreeHost", "cuMemHostGetDevicePointer_v2", "cuMemHostRegister_v2", "cuMemHostUnregister",
	"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async",
	"cuStreamCreate", "cuStreamDestroy_v2", "cuStreamWaitEvent", "cuEventCreate", "cuEventDestroy_v2", "cuEventRecord", "cuEventQuery", "cuEventElapsedTime",
	"cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete", "cuLinkDestroy",
	"cuModuleLoadDataEx", "cuModuleUnload", "cuModuleGetFunction", "cuFuncSetAttribute", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
	"cuLaunchKernel", "cuLaunchCooperativeKernel",
	"cuIpcGetMemHandle", "cuIpcOpenMemHandle_v2", "cuIpcCloseMemHandle",
}

// environment is set before the library starts, whatever the user has set, for another program: a hardware queue for
// each of many streams, so that ranks which run side by side do not wait for each other's launches; modules loaded
// whole, because loading a kernel late would wait for the kernels that run; and launches that do not wait for their
// kernel, which may wait for one that is launched next.
var environment = map[string]string{"CUDA_DEVICE_MAX_CONNECTIONS": "32", "CUDA_MODULE_LOADING": "EAGER", "CUDA_LAUNCH_BLOCKING": "0"}

var system = sync.OnceValues(func() (*libcuda, error) { return openLibrary(libraryNames()) })

// System is the machine's driver. Its error wraps ErrNoGPU.
func System() (Driver, error) {
	l, err := system()
	if err != nil {
		return nil, err
	}
	return l, nil
}

func libraryNames() []string {
	if p := os.Getenv("PTOC_LIBCUDA"); p != "" {
		return []string{p}
	}
	return []string{"libcuda.so.1", "libcuda.so"}
}

// cannotOpen says what is wrong with the library that was looked for first: it is not there, or it is there and cannot
// be opened, or is something else.
func cannotOpen(name string, err error) error {
	if os.Getenv("PTOC_LIBCUDA") != "" {
		return fmt.Errorf("%w: PTOC_LIBCUDA: %s is no use: %w", ErrNoGPU, name, err)
	}
	if strings.Contains(err.Error(), name+": cannot open shared object file: No such file") {
		return fmt.Errorf("%w: NVIDIA's driver is not installed (%s cannot be opened)", ErrNoGPU, name)
	}
	return fmt.Errorf("%w: NVIDIA's driver cannot be opened: %w", ErrNoGPU, err)
}

// openLibrary opens the first library that is there and starts it.
func openLibrary(names []string) (*libcuda, error) {
	setEnvironment()
	var h uintptr
	var first, err error
	for _, n := range names {
		if h, err = sharedlib.Open(n); err == nil {
			break
		}
		if first == nil {
			first = err
		}
	}
	if err != nil {
		return nil, cannotOpen(names[0], first)
	}
	l := &libcuda{fn: map[string]uintptr{}}
	for i, s := range symbols {
		if l.fn[s], err = purego.Dlsym(h, s); err != nil && i == 0 {
			return nil, cannotOpen(names[0], fmt.Errorf("it is not NVIDIA's driver: it has no %s", s))
		} else if err != nil {
			return nil, fmt.Errorf("%w: the driver is too old: it has no %s, which CUDA 11.4 brought", ErrNoGPU, s)
		}
	}
	if r := l.do("cuInit", 0); r != success {
		return nil, l.cannotStart(r)
	}
	var v int32
	l.do("cuDriverGetVersion", uintptr(unsafe.Pointer(&v)))
	l.version = int(v)
	return l, nil
}

func (l *libcuda) cannotStart(r int) error {
	if r == errorNoDevice {
		return fmt.Errorf("%w: the driver is installed and finds no GPU", ErrNoGPU)
	}
	return fmt.Errorf("%w: %w", ErrNoGPU, l.failed("cuInit", r))
}

// setEnvironment calls the C library's setenv: os.Setenv does not reach C code.
func setEnvironment() {
	h, err := purego.Dlopen("", purego.RTLD_NOW)
	if err != nil {
		return
	}
	setenv, err := purego.Dlsym(h, "setenv")
	if err != nil {
		return
	}
	for name, value := range environment {
		const overwrite = 1
		n, v := cString(name), cString(value)
		syscall(setenv, uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(v)), overwrite)
	}
}

// syscall calls a C function. Pointers are converted to uintptr in the call itself: then what they point
// to stays where it is until the call returns.
//
//go:uintptrescapes
//go:noinline
func syscall(fn uintptr, args ...uintptr) int {
	r, _, _ := purego.SyscallN(fn, args...)
	return int(int32(r))
}

// do calls a function of the driver that needs no context.
//
//go:uintptrescapes
//go:noinline
func (l *libcuda) do(name string, args ...uintptr) int {
	return syscall(l.fn[name], args...)
}

// failed describes a result that is not success.
func (l *libcuda) failed(call string, result int) error {
	e := &Error{Call: call, Code: result, Name: "unknown error"}
	var s uintptr
	if l.do("cuGetErrorName", uintptr(result), uintptr(unsafe.Pointer(&s))) == success && s != 0 {
		e.Name = goString(s)
	}
	if l.do("cuGetErrorString", uintptr(result), uintptr(unsafe.Pointer(&s))) == success && s != 0 {
		e.Text = goString(s)
	}
	return e
}

func (l *libcuda) Version() int { return l.version }

// Count is how many GPUs the machine has; none is an error.
func (l *libcuda) Count() (int, error) {
	var n int32
	if r := l.do("cuDeviceGetCount", uintptr(unsafe.Pointer(&n))); r != success {
		return 0, l.failed("cuDeviceGetCount", r)
	}
	if n == 0 {
		return 0, fmt.Errorf("%w: the driver is installed and finds no GPU", ErrNoGPU)
	}
	return int(n), nil
}

// Open makes a context on the i-th GPU.
func (l *libcuda) Open(i int) (Device, error) {
	g, err := l.open(i)
	if err != nil {
		return nil, err // no *gpu that is nil
	}
	return g, nil
}

// Reaches asks without a context on either. Signals are atomic additions to the other GPU's memory, which not
// every connection has.
func (l *libcuda) Reaches(i, j int) error {
	var from, to, can int32
	for n, d := range map[int]*int32{i: &from, j: &to} {
		if r := l.do("cuDeviceGet", uintptr(unsafe.Pointer(d)), uintptr(n)); r != success {
			return l.failed("cuDeviceGet", r)
		}
	}
	if r := l.do("cuDeviceCanAccessPeer", uintptr(unsafe.Pointer(&can)), uintptr(from), uintptr(to)); r != success {
		return l.failed("cuDeviceCanAccessPeer", r)
	}
	if can == 0 {
		return fmt.Errorf("GPU %d cannot reach the memory of GPU %d", i, j)
	}
	var atomics int32
	if r := l.do("cuDeviceGetP2PAttribute", uintptr(unsafe.Pointer(&atomics)), peerAtomics, uintptr(from), uintptr(to)); r != success {
		return l.failed("cuDeviceGetP2PAttribute", r)
	}
	if atomics == 0 {
		return fmt.Errorf("GPU %d has no atomic operations on the memory of GPU %d, only loads and stores", i, j)
	}
	return nil
}

// AddsToHost asks whether the connection has atomic operations. PCIe has none that others see.
func (l *libcuda) AddsToHost(i int) bool {
	var dev, can int32
	return l.do("cuDeviceGet", uintptr(unsafe.Pointer(&dev)), uintptr(i)) == success &&
		l.do("cuDeviceGetAttribute", uintptr(unsafe.Pointer(&can)), attrHostAtomics, uintptr(dev)) == success && can != 0
}

// cString is a zero-terminated copy.
func cString(s string) *byte { return &append([]byte(s), 0)[0] }

func goString(p uintptr) string {
	base := *(*unsafe.Pointer)(unsafe.Pointer(&p))
	n := 0
	for *(*byte)(unsafe.Add(base, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(base), n))
}

// bytesAt is C memory as a slice.
func bytesAt(p uintptr, n int64) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), n)
}
