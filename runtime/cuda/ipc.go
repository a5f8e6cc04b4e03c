package cuda

import (
	"runtime"
	"unsafe"
)

// ExportMemory names memory from Malloc to other processes.
func (g *gpu) ExportMemory(p Ptr) (h IPCHandle, err error) {
	err = g.call("cuIpcGetMemHandle", uintptr(unsafe.Pointer(&h)), uintptr(p))
	return h, err
}

// ImportMemory opens another process's memory.
func (g *gpu) ImportMemory(h IPCHandle) (p Ptr, err error) {
	const lazyPeerAccess = 1
	w := (*[8]uintptr)(unsafe.Pointer(&h))
	out := new(Ptr)
	if runtime.GOARCH == "arm64" { // a struct of 64 bytes goes by address
		err = g.call("cuIpcOpenMemHandle_v2", uintptr(unsafe.Pointer(out)), uintptr(unsafe.Pointer(w)), lazyPeerAccess)
	} else { // it goes onto the stack: behind what fills the argument registers
		err = g.call("cuIpcOpenMemHandle_v2", uintptr(unsafe.Pointer(out)), lazyPeerAccess, 0, 0, 0, 0,
			w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7])
	}
	return *out, err
}

func (g *gpu) CloseMemory(p Ptr) error { return g.call("cuIpcCloseMemHandle", uintptr(p)) }

// Register pins memory that several processes map, and maps it for this GPU.
func (g *gpu) Register(data []byte) (p Ptr, err error) {
	at := address(data)
	if err := g.call("cuMemHostRegister_v2", at, uintptr(len(data)), hostPortableMapped); err != nil {
		return 0, err
	}
	if err := g.call("cuMemHostGetDevicePointer_v2", uintptr(unsafe.Pointer(&p)), at, 0); err != nil {
		g.call("cuMemHostUnregister", at)
		return 0, err
	}
	return p, nil
}

func (g *gpu) Unregister(data []byte) error { return g.call("cuMemHostUnregister", address(data)) }
