package cudasim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ptoc/runtime/cuda"
)

func (g *device) Register(data []byte) (cuda.Ptr, error) {
	return cuda.Ptr(g.d.mem.Map("registered memory", data)), nil
}

func (g *device) Unregister([]byte) error { return nil }

// Shared is a driver of GPUs that several processes use: memory of a GPU is a file in a folder, and kernels
// take turns, of a round each, by a lock on another one. Time is the wall's.
type Shared struct {
	Dir           string
	GPUs          int
	NoPeers       bool
	NoHostAtomics bool
	FailLaunches  int   // as of Driver, in each process
	StepLimit     int64 // the same; 0: none

	driver *Driver
	lock   *os.File
	files  int
}

// sharedEnv tells the processes which driver they have.
const sharedEnv = "PTOC_TEST_GPUS"

// Offer makes s the driver of the processes that this one starts, until the function that it returns is called.
func (s *Shared) Offer() (withdraw func(), err error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return func() { os.Unsetenv(sharedEnv) }, os.Setenv(sharedEnv, string(text))
}

// Offered is the driver that a process was offered.
func Offered() (cuda.Driver, error) {
	s := &Shared{}
	return s, json.Unmarshal([]byte(os.Getenv(sharedEnv)), s)
}

func (s *Shared) Version() int { return (&Driver{}).Version() }

func (s *Shared) inner() *Driver {
	if s.driver == nil {
		s.driver = &Driver{GPUs: s.GPUs, NoPeers: s.NoPeers, FailLaunches: s.FailLaunches, StepLimit: cmp.Or(s.StepLimit, 1e15)}
	}
	return s.driver
}

func (s *Shared) Count() (int, error)    { return s.inner().Count() }
func (s *Shared) Reaches(i, j int) error { return s.inner().Reaches(i, j) }
func (s *Shared) AddsToHost(int) bool    { return !s.NoHostAtomics }

func (s *Shared) Open(i int) (cuda.Device, error) {
	d, err := s.inner().Open(i)
	if err != nil {
		return nil, err
	}
	if s.lock == nil {
		if s.lock, err = os.OpenFile(filepath.Join(s.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
			return nil, err
		}
	}
	return &sharedDevice{device: d.(*device), s: s, names: map[cuda.Ptr]string{}, opened: map[cuda.Ptr]bool{}}, nil
}

type sharedDevice struct {
	*device
	s      *Shared
	names  map[cuda.Ptr]string // of memory that has a handle
	opened map[cuda.Ptr]bool
}

func invalid(call, format string, args ...any) error {
	return &cuda.Error{Call: call, Code: 1, Name: "CUDA_ERROR_INVALID_VALUE", Text: fmt.Sprintf(format, args...)}
}

func (g *sharedDevice) Malloc(n int64) (cuda.Ptr, error) {
	g.s.files++
	name := fmt.Sprintf("%d-%d", os.Getpid(), g.s.files)
	f, err := os.Create(filepath.Join(g.s.Dir, name))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := f.Truncate(n); err != nil {
		return 0, err
	}
	p, data, err := g.mapFile(f, n)
	if err != nil {
		return 0, err
	}
	for i := range min(len(data), 1<<16) {
		data[i] = 0xa5 // nobody may rely on zeros
	}
	g.names[p], g.d.sizes[p] = name, n
	return p, nil
}

func (g *sharedDevice) mapFile(f *os.File, n int64) (cuda.Ptr, []byte, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return 0, nil, err
	}
	return cuda.Ptr(g.d.mem.Map("memory of "+f.Name(), data)), data, nil
}

func (g *sharedDevice) Free(p cuda.Ptr) error {
	if name, ok := g.names[p]; ok {
		delete(g.names, p)
		os.Remove(filepath.Join(g.s.Dir, name))
	}
	return g.device.Free(p)
}

// ExportMemory takes what Malloc made, and nothing else, as the driver does.
func (g *sharedDevice) ExportMemory(p cuda.Ptr) (h cuda.IPCHandle, err error) {
	name, ok := g.names[p]
	if !ok {
		return h, invalid("cuIpcGetMemHandle", "%#x is not from cuMemAlloc", p)
	}
	copy(h[:], name)
	return h, nil
}

// ImportMemory takes handles of other processes only.
func (g *sharedDevice) ImportMemory(h cuda.IPCHandle) (cuda.Ptr, error) {
	name := strings.TrimRight(string(h[:]), "\x00")
	if strings.HasPrefix(name, fmt.Sprintf("%d-", os.Getpid())) {
		return 0, &cuda.Error{Call: "cuIpcOpenMemHandle", Code: 201, Name: "CUDA_ERROR_INVALID_CONTEXT", Text: "it was exported by this process"}
	}
	f, err := os.OpenFile(filepath.Join(g.s.Dir, name), os.O_RDWR, 0)
	if err != nil {
		return 0, invalid("cuIpcOpenMemHandle", "%v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	p, _, err := g.mapFile(f, info.Size())
	g.opened[p] = true
	return p, err
}

func (g *sharedDevice) CloseMemory(p cuda.Ptr) error {
	if !g.opened[p] {
		return invalid("cuIpcCloseMemHandle", "%#x is not open", p)
	}
	delete(g.opened, p)
	return nil
}

// Done lets kernels run: of all processes' one at a time, because the interpreter's accesses are no single ones.
// The lock of one that is killed is free.
func (g *sharedDevice) Done(e cuda.Event) (bool, error) {
	fd := int(g.s.lock.Fd())
	for {
		if err := unix.Flock(fd, unix.LOCK_EX); err == nil {
			break
		} else if err != unix.EINTR {
			return false, err
		}
	}
	defer unix.Flock(fd, unix.LOCK_UN)
	return g.device.Done(e)
}
