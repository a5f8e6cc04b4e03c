package native

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"ptoc/internal/sharedlib"
)

// library is the compiled engine, loaded into this process. It stays loaded:
// its signal handlers do.
type library struct {
	startFn, syncFn, joinFn uintptr
	orderFn                 uintptr // only where the thread sanitizer watches
}

func openLibrary(path string) (*library, error) {
	h, err := sharedlib.Open(path)
	if err != nil {
		return nil, fmt.Errorf("loading the engine: %w", err)
	}
	lib := &library{}
	for name, fn := range map[string]*uintptr{
		"ptoc_engine_start": &lib.startFn, "ptoc_engine_sync": &lib.syncFn, "ptoc_engine_join": &lib.joinFn,
	} {
		if *fn, err = purego.Dlsym(h, name); err != nil {
			return nil, fmt.Errorf("loading the engine: %w", err)
		}
	}
	if fn, err := purego.Dlsym(h, "ptoc_engine_order"); err == nil {
		lib.orderFn = fn
	}
	return lib, nil
}

// order tells the thread sanitizer that the host has waited for ranks.
func (l *library) order() {
	if l.orderFn != 0 {
		purego.SyscallN(l.orderFn, 0)
	}
}

// call calls a C function with a pointer to its argument struct.
func call[T any](fn uintptr, args *T) {
	purego.SyscallN(fn, uintptr(unsafe.Pointer(args)))
	runtime.KeepAlive(args)
}

func (l *library) start(r *region, first, count int) (uintptr, error) {
	c := &startCall{Region: uintptr(unsafe.Pointer(&r.bytes[0])), First: int32(first), Count: int32(count)}
	call(l.startFn, c)
	if msg := cString(c.Error[:]); msg != "" {
		return c.Proc, fmt.Errorf("starting ranks: %s", msg)
	}
	return c.Proc, nil
}

// sync resolves the first rows of each table.
func (l *library) sync(proc uintptr, modules, kernels, domains int32) error {
	c := &syncCall{Proc: proc, Modules: modules, Kernels: kernels, Domains: domains}
	call(l.syncFn, c)
	if c.OK == 0 {
		return errors.New(cString(c.Error[:]))
	}
	return nil
}

// join returns how many ranks did not stop in time. A negative grace: wait for ever.
func (l *library) join(proc uintptr, grace time.Duration) int {
	c := &joinCall{Proc: proc, GraceMS: grace.Milliseconds()}
	if grace < 0 {
		c.GraceMS = -1
	}
	call(l.joinFn, c)
	return int(c.Left)
}

func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
