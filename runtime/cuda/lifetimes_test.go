package cuda

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"ptoc/codegen/abi"
)

// late is the library in testdata/lifetimes.cpp.
type late struct {
	*libcuda
	handle uintptr
}

func openLate(t *testing.T) *late {
	so := library(t, "lifetimes.cpp")
	l, err := openLibrary([]string{so})
	check(t, err)
	h, err := purego.Dlopen(so, purego.RTLD_NOW)
	check(t, err)
	return &late{l, h}
}

func (l *late) call(t *testing.T, name string, args ...uintptr) int {
	f, err := purego.Dlsym(l.handle, name)
	check(t, err)
	return syscall(f, args...)
}

// fail makes the n-th call of a function fail; with 0, none.
func (l *late) fail(t *testing.T, name string, code, n int) {
	s := cString(name)
	l.call(t, "late_fail", uintptr(unsafe.Pointer(s)), uintptr(code), uintptr(n))
}

// everything is what programs make an engine do: tensors, windows that grow, kernels of all ranks together and of each by
// itself, views of windows, and one more run on fresh windows.
func everything(d Driver) (err error) {
	e, err := Open(Config{Driver: d, Ranks: 2, PTX: "kernels a and b", Timeout: 5 * time.Second,
		Kernels: []Kernel{{Name: "a", Symbol: "a", Threads: 128}, {Name: "b", Symbol: "b", Threads: 128, Shared: 100 << 10,
			Demand: func([]int64) (Demand, error) { return Demand{Blocks: 2, Arena: 1000}, nil }}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	x, err := e.Alloc(1000)
	if err != nil {
		return err
	}
	y, err := e.Alloc(0)
	if err != nil {
		return err
	}
	id, err := e.Domain([]int{0, 1})
	if err != nil {
		return err
	}
	args := []abi.Arg{{Tag: abi.TagHeap, Value: x.Addr}, {Tag: abi.TagHeap, Value: y.Addr}, {Tag: abi.TagDomain, Value: int64(id)}}
	for range 2 {
		for _, size := range []int64{64, 3 << 20} {
			at, err := e.AllocWindow(size)
			if err != nil {
				return err
			}
			for r := range 2 {
				e.Submit(r, 0, args)
				e.Submit(r, r, args)
			}
			if err := e.Wait(context.Background()); err != nil {
				return err
			}
			if _, err := e.Window(1, at, 64); err != nil {
				return err
			}
		}
		e.ResetWindows()
	}
	e.Free(x.Addr)
	return nil
}

// givingBack are the calls after whose failure something may be left.
var givingBack = []string{"cuMemFree_v2", "cuMemFreeAsync", "cuMemFreeHost", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuModuleUnload",
	"cuLinkDestroy", "cuDevicePrimaryCtxRelease_v2", "cuCtxSetCurrent"}

// Whatever call fails, nothing is used that is not there, and unless the GPU stopped everything is given back.
func TestLifetimes(t *testing.T) {
	t.Setenv("PTOC_CACHE", t.TempDir())
	l := openLate(t)
	for _, d := range []Driver{l, Only(l, 1)} {
		l.fail(t, "", 0, 0)
		if err := everything(d); err != nil {
			t.Fatal(err)
		}
		if c, n := l.call(t, "late_complaints"), l.call(t, "late_left"); c != 0 || n != 0 {
			t.Errorf("%d complaints, %d left", c, n)
		}
		for _, name := range symbols {
			for _, code := range []int{2, 719} {
				for n := 1; n <= 32; n *= 2 {
					os.RemoveAll(os.Getenv("PTOC_CACHE"))
					l.fail(t, name, code, n)
					err := everything(d)
					if l.call(t, "late_failed") == 0 {
						break // it is not called as often
					}
					complaints, left := l.call(t, "late_complaints"), l.call(t, "late_left")
					if complaints != 0 || left != 0 && code < 700 && !slices.Contains(givingBack, name) {
						t.Errorf("call %d of %s gives %d: %d complaints, %d left; %v", n, name, code, complaints, left, err)
					}
				}
			}
		}
	}
}
