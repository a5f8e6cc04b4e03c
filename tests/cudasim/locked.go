package cudasim

import (
	"sync"
	"time"

	"ptoc/runtime/cuda"
)

// Locked lets several engines use one driver, each in a goroutine of its own, as processes share a GPU.
func Locked(d *Driver) func() cuda.Driver {
	mu := &sync.Mutex{}
	return func() cuda.Driver { return &lockedDriver{d, mu} }
}

type lockedDriver struct {
	*Driver
	mu *sync.Mutex
}

func (l *lockedDriver) Devices() ([]cuda.Device, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ds, err := l.Driver.Devices()
	for i := range ds {
		ds[i] = &lockedDevice{ds[i], l.mu}
	}
	return ds, err
}

func (l *lockedDriver) Now() time.Time { return withLock(l.mu, l.Driver.Now) }

func (l *lockedDriver) Sleep(t time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Driver.Sleep(t)
}

func withLock[T any](mu *sync.Mutex, f func() T) T {
	mu.Lock()
	defer mu.Unlock()
	return f()
}

// lockedDevice locks what changes the driver's state.
type lockedDevice struct {
	cuda.Device
	mu *sync.Mutex
}

func (l *lockedDevice) lock() func() {
	l.mu.Lock()
	return l.mu.Unlock
}

func (l *lockedDevice) Malloc(n int64) (cuda.Ptr, error) {
	defer l.lock()()
	return l.Device.Malloc(n)
}

func (l *lockedDevice) MallocAsync(s cuda.Stream, n int64) (cuda.Ptr, error) {
	defer l.lock()()
	return l.Device.MallocAsync(s, n)
}

func (l *lockedDevice) Free(p cuda.Ptr) error {
	defer l.lock()()
	return l.Device.Free(p)
}

func (l *lockedDevice) FreeAsync(s cuda.Stream, p cuda.Ptr) error {
	defer l.lock()()
	return l.Device.FreeAsync(s, p)
}

func (l *lockedDevice) MallocHost(n int64) (cuda.HostMemory, error) {
	defer l.lock()()
	return l.Device.MallocHost(n)
}

func (l *lockedDevice) Upload(s cuda.Stream, to cuda.Ptr, from []byte) error {
	defer l.lock()()
	return l.Device.Upload(s, to, from)
}

func (l *lockedDevice) Download(s cuda.Stream, to []byte, from cuda.Ptr) error {
	defer l.lock()()
	return l.Device.Download(s, to, from)
}

func (l *lockedDevice) Copy(s cuda.Stream, to, from cuda.Ptr, n int64) error {
	defer l.lock()()
	return l.Device.Copy(s, to, from, n)
}

func (l *lockedDevice) Zero(s cuda.Stream, at cuda.Ptr, n int64) error {
	defer l.lock()()
	return l.Device.Zero(s, at, n)
}

func (l *lockedDevice) NewStream() (cuda.Stream, error) {
	defer l.lock()()
	return l.Device.NewStream()
}

func (l *lockedDevice) NewEvent() (cuda.Event, error) {
	defer l.lock()()
	return l.Device.NewEvent()
}

func (l *lockedDevice) Record(e cuda.Event, s cuda.Stream) error {
	defer l.lock()()
	return l.Device.Record(e, s)
}

func (l *lockedDevice) WaitEvent(s cuda.Stream, e cuda.Event) error {
	defer l.lock()()
	return l.Device.WaitEvent(s, e)
}

func (l *lockedDevice) Done(e cuda.Event) (bool, error) {
	defer l.lock()()
	return l.Device.Done(e)
}

func (l *lockedDevice) Elapsed(a, b cuda.Event) (time.Duration, error) {
	defer l.lock()()
	return l.Device.Elapsed(a, b)
}

func (l *lockedDevice) Load(ptx string) (cuda.Module, error) {
	defer l.lock()()
	return l.Device.Load(ptx)
}

func (l *lockedDevice) Function(m cuda.Module, name string) (cuda.Function, error) {
	defer l.lock()()
	return l.Device.Function(m, name)
}

func (l *lockedDevice) Launch(s cuda.Stream, x cuda.Launch) error {
	defer l.lock()()
	return l.Device.Launch(s, x)
}

func (l *lockedDevice) ExportMemory(p cuda.Ptr) (cuda.IPCHandle, error) {
	defer l.lock()()
	return l.Device.ExportMemory(p)
}

func (l *lockedDevice) ImportMemory(h cuda.IPCHandle) (cuda.Ptr, error) {
	defer l.lock()()
	return l.Device.ImportMemory(h)
}
