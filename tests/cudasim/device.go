package cudasim

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"ptoc/runtime/cuda"
	"ptoc/tests/ptxsim"
)

// device is one GPU. All share an address space.
type device struct {
	d       *Driver
	index   int
	streams []*stream
	events  []*recording
	modules []*ptxsim.Module
	entries []entry
}

type entry struct {
	module *ptxsim.Module
	name   string
}

func (d *Driver) memory() int64 { return cmp.Or(d.Memory, 1<<30) }

func (g *device) Info() cuda.Info {
	major := 8
	if slices.Contains(g.d.Old, g.index) {
		major = 7
	}
	return cuda.Info{Index: g.index, Name: fmt.Sprintf("interpreter %d", g.index), Major: major, Multiprocessors: orElse(g.d.SMs, 8), ClockKHz: 1e6,
		Memory: g.d.memory(), SharedPerBlock: 163 << 10, CanCooperate: true, CanPool: true, MaxThreadsPerBlock: 1024}
}

func orElse(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

func (g *device) Malloc(n int64) (cuda.Ptr, error) {
	if g.d.dead != nil {
		return 0, g.d.dead
	}
	if n <= 0 || n > g.d.memory() {
		return 0, &cuda.Error{Call: "cuMemAlloc", Code: 2, Name: "CUDA_ERROR_OUT_OF_MEMORY"}
	}
	p := cuda.Ptr(g.d.mem.Alloc(fmt.Sprintf("memory of GPU %d", g.index), int(n)))
	for i, b := 0, g.d.mem.Bytes(uint64(p), int(n)); i < len(b); i++ {
		b[i] = 0xa5 // nobody may rely on zeros
	}
	g.d.sizes[p] = n
	return p, nil
}

func (g *device) Free(p cuda.Ptr) error {
	if g.d.dead != nil {
		return g.d.dead
	}
	n, ok := g.d.sizes[p]
	if !ok {
		return &cuda.Error{Call: "cuMemFree", Code: 1, Name: "CUDA_ERROR_INVALID_VALUE", Text: "not allocated, or freed already"}
	}
	delete(g.d.sizes, p)
	g.d.free[p] = n
	return nil
}

func (g *device) MallocAsync(_ cuda.Stream, n int64) (cuda.Ptr, error) { return g.Malloc(n) }
func (g *device) FreeAsync(_ cuda.Stream, p cuda.Ptr) error            { return g.Free(p) }

func (g *device) MallocHost(n int64) (cuda.HostMemory, error) {
	if g.d.dead != nil {
		return cuda.HostMemory{}, g.d.dead
	}
	data := make([]byte, n)
	g.d.host++
	return cuda.HostMemory{Data: data, Ptr: cuda.Ptr(g.d.mem.Map("host memory", data))}, nil
}

func (g *device) FreeHost(cuda.HostMemory) error {
	g.d.host--
	return nil
}

func (g *device) push(s cuda.Stream, o op) error {
	if g.d.dead != nil {
		return g.d.dead
	}
	q := g.streams[s-1]
	q.ops = append(q.ops, o)
	return nil
}

// bytes is GPU memory that was not freed.
func (g *device) bytes(p cuda.Ptr, n int64) ([]byte, error) {
	b := g.d.mem.Bytes(uint64(p), int(n))
	if b == nil {
		return nil, &cuda.Error{Call: "copy", Code: 1, Name: "CUDA_ERROR_INVALID_VALUE", Text: fmt.Sprintf("%d bytes at %#x", n, p)}
	}
	if _, freed := g.d.free[p]; freed {
		return nil, &cuda.Error{Call: "copy", Code: 1, Name: "CUDA_ERROR_INVALID_VALUE", Text: fmt.Sprintf("%#x was freed", p)}
	}
	return b, nil
}

func (g *device) Upload(s cuda.Stream, to cuda.Ptr, from []byte) error {
	b, err := g.bytes(to, int64(len(from)))
	if err != nil {
		return err
	}
	return g.push(s, op{do: func() { copy(b, from) }})
}

func (g *device) Download(s cuda.Stream, to []byte, from cuda.Ptr) error {
	b, err := g.bytes(from, int64(len(to)))
	if err != nil {
		return err
	}
	return g.push(s, op{do: func() { copy(to, b) }})
}

func (g *device) Copy(s cuda.Stream, to, from cuda.Ptr, n int64) error {
	a, err := g.bytes(to, n)
	if err != nil {
		return err
	}
	b, err := g.bytes(from, n)
	if err != nil {
		return err
	}
	return g.push(s, op{do: func() { copy(a, b) }})
}

func (g *device) Zero(s cuda.Stream, at cuda.Ptr, n int64) error {
	b, err := g.bytes(at, n)
	if err != nil {
		return err
	}
	return g.push(s, op{do: func() { clear(b) }})
}

func (g *device) NewStream() (cuda.Stream, error) {
	if g.d.dead != nil {
		return 0, g.d.dead
	}
	g.streams = append(g.streams, &stream{})
	return cuda.Stream(len(g.streams)), nil
}

// NewEvent: one that was never recorded is over.
func (g *device) NewEvent() (cuda.Event, error) {
	g.events = append(g.events, &recording{done: true})
	// The number tells the GPU, because events are waited for across GPUs.
	return cuda.Event(g.index<<32 | len(g.events)), nil
}

func (g *device) event(e cuda.Event) **recording {
	o := g.d.devices[e>>32]
	return &o.events[e&0xffffffff-1]
}

func (g *device) Record(e cuda.Event, s cuda.Stream) error {
	r := &recording{}
	*g.event(e) = r
	return g.push(s, op{do: func() { r.done, r.at = true, g.d.Now() }})
}

func (g *device) WaitEvent(s cuda.Stream, e cuda.Event) error {
	return g.push(s, op{wait: *g.event(e), do: func() {}})
}

func (g *device) Done(e cuda.Event) (bool, error) {
	if g.d.dead != nil {
		return false, g.d.dead
	}
	r := *g.event(e)
	g.d.pump()
	if r.done {
		return true, nil
	}
	more, err := g.d.advance()
	if err == nil && !more && !r.done {
		err = fmt.Errorf("cudasim: the event never happens")
	}
	return r.done, err
}

func (g *device) Elapsed(from, to cuda.Event) (time.Duration, error) {
	a, b := *g.event(from), *g.event(to)
	if !a.done || !b.done {
		return 0, &cuda.Error{Call: "cuEventElapsedTime", Code: 600, Name: "CUDA_ERROR_NOT_READY"}
	}
	return b.at.Sub(a.at), nil
}

func (g *device) Load(ptx string) (cuda.Module, error) {
	g.d.Text = ptx
	m, err := ptxsim.Parse(ptx)
	if err != nil {
		return 0, &cuda.Error{Call: "cuLinkAddData", Code: 218, Name: "CUDA_ERROR_INVALID_PTX", Log: err.Error()}
	}
	g.modules = append(g.modules, m)
	return cuda.Module(len(g.modules)), nil
}

func (g *device) Function(m cuda.Module, name string) (cuda.Function, error) {
	mod := g.modules[m-1]
	for _, e := range mod.Entries() {
		if e == name {
			g.entries = append(g.entries, entry{mod, name})
			return cuda.Function(len(g.entries)), nil
		}
	}
	return 0, &cuda.Error{Call: "cuModuleGetFunction", Code: 500, Name: "CUDA_ERROR_NOT_FOUND", Text: name}
}

func (g *device) Occupancy(_ cuda.Function, threads, shared int) (int, error) {
	if g.d.BlocksPerSM > 0 {
		return g.d.BlocksPerSM, nil
	}
	return min(16, 164<<10/(shared+1024), 2048/threads), nil
}

func (g *device) Launch(s cuda.Stream, l cuda.Launch) error {
	e := g.entries[l.Function-1]
	g.d.Launches = append(g.d.Launches, Launch{g.index, e.name, l.GridY, l.GridX, l.Cooperative})
	if g.d.FailLaunches == len(g.d.Launches) {
		return &cuda.Error{Call: "cuLaunchKernel", Code: 701, Name: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}
	}
	per, _ := g.Occupancy(l.Function, l.Threads, l.Shared)
	if l.Cooperative && l.GridX*l.GridY > per*g.Info().Multiprocessors {
		return &cuda.Error{Call: "cuLaunchCooperativeKernel", Code: 720, Name: "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"}
	}
	share := float64(l.GridX*l.GridY) / float64(per*g.Info().Multiprocessors)
	return g.push(s, op{share: share, launch: &ptxsim.Launch{Module: e.module, Config: ptxsim.Config{Entry: e.name, Grid: [3]int{l.GridX, l.GridY, 1},
		Block: [3]int{l.Threads}, Shared: l.Shared, Memory: g.d.mem, Name: fmt.Sprintf("GPU %d", g.index),
		Params: binary.LittleEndian.AppendUint64(nil, uint64(l.Param))}}})
}

func (g *device) EnablePeer(other cuda.Device) error {
	if g.d.NoPeers {
		return fmt.Errorf("GPU %d cannot reach the memory of GPU %d", g.index, other.Info().Index)
	}
	return nil
}

// Handles of memory are its address: all GPUs here are in one process.
func (g *device) ExportMemory(p cuda.Ptr) (h cuda.IPCHandle, err error) {
	_, err = g.bytes(p, 1)
	binary.LittleEndian.PutUint64(h[:], uint64(p))
	return h, err
}

func (g *device) ImportMemory(h cuda.IPCHandle) (cuda.Ptr, error) {
	p := cuda.Ptr(binary.LittleEndian.Uint64(h[:]))
	_, err := g.bytes(p, 1)
	return p, err
}

func (g *device) CloseMemory(cuda.Ptr) error { return nil }
func (g *device) Close() error               { return nil }
