package cuda

import (
	"fmt"
	"slices"
	"unsafe"

	"ptoc/codegen/abi"
)

// windows is every rank's window segment, the domains that share them, and what the host looks at.
type windows struct {
	segments []scratch // by rank, all of one size
	used     int64
	filled   int64 // of the segments, what kernels may have written: the rest is zero
	dirty    int64 // what they wrote before the last reset
	handles  map[int]IPCHandle
	domains  [][]int
	stale    bool    // segments or domains have changed since the GPUs were told
	where    [][]Ptr // domain, rank -> abi.Domain; 0 for those who are not in it
	views    []*view
}

// view is part of a window that the host may read and write.
type view struct {
	rank   int
	offset int64
	memory HostMemory
}

// Domain returns the number of an ordered set of devices that share windows.
func (e *Engine) Domain(devices []int) (int, error) {
	for _, d := range devices {
		if d < 0 || d >= e.cfg.Ranks {
			return 0, fmt.Errorf("a domain has no device %d: there are %d", d, e.cfg.Ranks)
		}
	}
	w := &e.windows
	if i := slices.IndexFunc(w.domains, func(o []int) bool { return slices.Equal(o, devices) }); i >= 0 {
		return i, nil
	}
	w.domains = append(w.domains, slices.Clone(devices))
	w.stale = true
	return len(w.domains) - 1, nil
}

// AllocWindow makes a zeroed window at the same offset of every rank's segment.
func (e *Engine) AllocWindow(bytes int64) (int64, error) {
	w := &e.windows
	least := e.groups[0].dev.Info().Memory
	at, end := w.used, w.used+(max(bytes, 1)+abi.CacheLine-1)&^(abi.CacheLine-1)
	if perGPU := end * int64(len(e.groups[0].ranks)); bytes < 0 || perGPU > least {
		return 0, fmt.Errorf("a window of %d bytes: with it, %d ranks on %s need %d of its %d bytes", bytes, len(e.groups[0].ranks),
			e.groups[0].dev.Info().Name, perGPU, least)
	}
	w.used = end
	return at, nil
}

// ResetWindows frees all windows.
func (e *Engine) ResetWindows() {
	if e.broken != nil {
		return
	}
	w := &e.windows
	w.used = 0
	for _, v := range w.views {
		e.home[v.rank].dev.FreeHost(v.memory)
	}
	w.views = nil
	w.dirty, w.filled = max(w.dirty, w.filled), 0
}

// renew zeroes what was filled before the windows were freed. Where other processes write into them, all
// have to be done before, and none may begin until all are zeroed.
func (e *Engine) renew() error {
	w := &e.windows
	share := e.cfg.Share
	if share != nil && w.dirty > 0 {
		if _, err := share.Exchange(nil); err != nil {
			return err
		}
	}
	for _, r := range e.local() {
		s, g := w.segments[r], e.home[r]
		if n := min(w.dirty, s.size); n > 0 {
			if err := g.dev.Zero(g.main, s.at, n); err != nil {
				return err
			}
		}
	}
	w.dirty = 0
	if err := e.growWindows(); err != nil || share == nil {
		return err
	}
	for _, g := range e.groups {
		if err := g.finish(g.main, g.ready); err != nil {
			return err
		}
	}
	return e.exchange()
}

// exchange tells the other processes of this one's segments, and opens theirs. Memory that others may
// still have open is not freed: segments grow by doubling.
func (e *Engine) exchange() error {
	w := &e.windows
	mine := map[int]IPCHandle{}
	for _, r := range e.local() {
		if w.segments[r].at == 0 {
			continue
		}
		h, err := e.home[r].dev.ExportMemory(w.segments[r].at)
		if err != nil {
			return fmt.Errorf("windows of rank %d: %w", r, err)
		}
		mine[r] = h
	}
	all, err := e.cfg.Share.Exchange(mine)
	if err != nil {
		return err
	}
	if w.handles == nil {
		w.handles = map[int]IPCHandle{}
	}
	for r, h := range all {
		s := &w.segments[r]
		if e.home[r] != nil || w.handles[r] == h && s.at != 0 {
			continue
		}
		if s.at != 0 {
			e.groups[0].dev.CloseMemory(s.at)
		}
		if s.at, err = e.groups[0].dev.ImportMemory(h); err != nil {
			return fmt.Errorf("windows of rank %d, in another process: %w", r, err)
		}
		w.handles[r], w.stale = h, true
	}
	return nil
}

// Window is part of a rank's window as the host sees it: read now and after every Wait, and written back
// before the next.
func (e *Engine) Window(rank int, offset, bytes int64) ([]byte, error) {
	for _, v := range e.windows.views {
		if v.rank == rank && v.offset == offset && int64(len(v.memory.Data)) == max(bytes, 1) {
			return v.memory.Data[:bytes], nil
		}
	}
	if e.broken != nil {
		return nil, e.broken
	}
	if e.home[rank] == nil {
		return nil, fmt.Errorf("rank %d has another process", rank)
	}
	look := e.renew
	if e.cfg.Share != nil { // the processes meet only in Wait
		look = e.growWindows
	}
	if err := look(); err != nil {
		return nil, err
	}
	g := e.home[rank]
	m, err := g.dev.MallocHost(max(bytes, 1))
	if err != nil {
		return nil, err
	}
	v := &view{rank, offset, m}
	e.windows.views = append(e.windows.views, v)
	if bytes > 0 {
		err = g.dev.Download(g.main, m.Data, e.windows.segments[rank].at+Ptr(offset))
	}
	if err == nil {
		err = g.finish(g.main, g.ready)
	}
	return m.Data[:bytes], err
}

// growWindows makes the segments large enough for all windows. Nothing may run.
func (e *Engine) growWindows() error {
	const least = 2 << 20
	w := &e.windows
	for _, r := range e.local() {
		old := w.segments[r]
		if w.used <= old.size {
			continue
		}
		g := e.home[r]
		size := (max(w.used, 2*old.size) + least - 1) &^ (least - 1)
		if 2*old.size > w.used && size*int64(len(g.ranks)) > g.dev.Info().Memory/2 {
			size = (w.used + least - 1) &^ (least - 1)
		}
		at, err := g.dev.Malloc(size)
		if err != nil {
			return fmt.Errorf("windows of rank %d: %w", r, err)
		}
		w.segments[r], w.stale = scratch{at, size}, true
		err = g.dev.Zero(g.main, at, size)
		if err == nil && old.at != 0 {
			if err = g.dev.Copy(g.main, at, old.at, old.size); err == nil {
				err = g.finish(g.main, g.ready)
			}
		}
		if old.at != 0 && e.cfg.Share == nil {
			g.dev.Free(old.at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tell writes the domains into the memory of every GPU: each has those of its own ranks.
func (e *Engine) tell() error {
	w := &e.windows
	if !w.stale {
		return nil
	}
	w.where = make([][]Ptr, len(w.domains))
	for i := range w.where {
		w.where[i] = make([]Ptr, e.cfg.Ranks)
	}
	for _, g := range e.groups {
		size := int64(0)
		for _, d := range w.domains {
			size += int64(len(d)) * (int64(unsafe.Sizeof(abi.Domain{})) + 32)
			size += 64
		}
		if err := g.tables.reset(g.dev, size); err != nil {
			return err
		}
		for id := range w.domains {
			e.writeDomain(g, id)
		}
		if err := g.tables.upload(g.dev, g.main); err != nil {
			return err
		}
	}
	w.stale = false
	return nil
}

// writeDomain writes the tables of a domain, and what each of its ranks on g knows of it.
func (e *Engine) writeDomain(g *group, id int) {
	w := &e.windows
	members := w.domains[id]
	n := int64(len(members))
	base, baseAt := g.tables.add(8 * n)
	ctl, ctlAt := g.tables.add(8 * n)
	dev, devAt := g.tables.add(4 * n)
	for i, d := range members {
		put(base[8*i:], w.segments[d].at)
		if e.home[d] != nil {
			put(ctl[8*i:], e.home[d].controlOf(d))
		}
		put(dev[4*i:], int32(d))
	}
	for i, d := range members {
		if e.home[d] != g {
			continue
		}
		data, at := g.tables.add(int64(unsafe.Sizeof(abi.Domain{})))
		put(data, abi.Domain{Rank: int32(i), NRanks: int32(n), ID: int32(id), Base: uintptr(baseAt), Ctl: uintptr(ctlAt), Device: uintptr(devAt)})
		w.where[id][d] = at
	}
}

// controlOf is the address of a rank's control block.
func (g *group) controlOf(rank int) Ptr {
	return g.control + Ptr(controlBytes*int64(slices.Index(g.ranks, rank)))
}
