// Package ptxrun lets the controller run a program's kernels as PTX on the interpreter, or their LLVM IR as
// machine code: a backend of ranks on a GPU that is not there.
package ptxrun

import (
	"context"
	"encoding/binary"
	"fmt"
	"unsafe"

	"ptoc/codegen/abi"
	"ptoc/codegen/ptx"
	"ptoc/ir"
	"ptoc/runtime/controller"
	"ptoc/runtime/failure"
	"ptoc/tests/ptxsim"
)

// Config says how the interpreter runs.
type Config struct {
	Options   ptx.Options
	Seed      uint64
	Races     bool // report races on global memory too
	StepLimit int64
	Patience  int64                   // of waits, in executed instructions; 0: for ever
	Edit      func(ptx string) string // mutants
	Host      bool                    // as machine code: faster, and nothing is checked on the way
	Blocks    int                     // of a rank at most; 0: 3
	Alone     int64                   // nanoseconds after which waits give up: there is no host's pulse; 0: never
}

// Backend is a controller.Backend.
type Backend struct {
	cfg     Config
	ranks   int
	out     *ptx.Output
	mem     machine
	windows []uint64 // each rank's segment
	used    int64    // of the segments
	ctl     []uint64
	fault   []uint64
	abort   uint64
	domains [][]uint64 // [id][device] address of the domain; 0 for those who are not in it
	queue   [][]command
	first   int  // the rank that failed first, or -1
	late    bool // nothing went on
	moved   int64
	seen    int64
	given   []int64 // kernels dispatched, by rank
	Text    string  // the PTX
	Stats   ptxsim.Stats
	Grid    int // the most blocks of a rank that were launched
}

type command struct {
	kernel int
	args   []int64
}

// machine is what has memory and runs kernels.
type machine interface {
	Alloc(name string, bytes int) uint64
	Map(name string, data []byte) uint64
	Bytes(addr uint64, n int) []byte
	// run runs every rank's jobs in order, the ranks side by side, and calls watch again and again meanwhile,
	// with the time as Config.Patience measures it.
	run(ranks [][]job, watch func(now int64)) error
	segment() int // bytes of a rank's windows
	close()
}

// job is one launch of a kernel.
type job struct {
	kernel *ptx.Kernel
	record uint64 // an abi.GPULaunch
	blocks int
}

// New compiles the kernels of a lowered module and makes ranks.
func New(m *ir.Module, ranks int, cfg Config) (*Backend, error) {
	b := &Backend{cfg: cfg, ranks: ranks, first: -1, given: make([]int64, ranks)}
	var err error
	if b.out, err = ptx.Generate(m, cfg.Options); err != nil {
		return nil, err
	}
	if b.mem, err = b.machine(); err != nil {
		return nil, err
	}
	b.abort = b.mem.Alloc("abort word and pulse", abi.Pulse+4)
	for r := range ranks {
		b.windows = append(b.windows, b.mem.Alloc(fmt.Sprintf("windows of rank %d", r), b.mem.segment()))
		b.ctl = append(b.ctl, b.mem.Alloc(fmt.Sprintf("control block of rank %d", r), int(abi.Offset[abi.RankCtl]("Fault"))+128))
		b.fault = append(b.fault, b.mem.Alloc(fmt.Sprintf("fault of rank %d", r), 56))
	}
	b.queue = make([][]command, ranks)
	return b, nil
}

func (b *Backend) machine() (machine, error) {
	if b.cfg.Host {
		if b.cfg.Patience == 0 {
			b.cfg.Patience = 60e9
		}
		return newHost(b.out, b.ranks)
	}
	if b.cfg.Patience == 0 {
		b.cfg.Patience = 1e8
	}
	s, err := newInterpreter(b.out, b.cfg, &b.Stats)
	if err != nil {
		return nil, err
	}
	b.Text = s.text
	return s, nil
}

func (b *Backend) Ranks() int { return b.ranks }

func (b *Backend) Alloc(name string, bytes int64) (controller.Buffer, error) {
	room := make([]byte, (bytes+3)&^3) // whole words, as on a GPU
	return controller.Buffer{Addr: int64(b.mem.Map(name, room)), Data: room[:bytes:bytes]}, nil
}

func (b *Backend) Free(controller.Buffer) {}

// Domain writes one abi.Domain for each of the devices.
func (b *Backend) Domain(devices []int) (int, error) {
	id := len(b.domains)
	table := func(name string, of []uint64) uint64 {
		p := b.mem.Alloc(name, 8*len(devices))
		for i, d := range devices {
			b.put(p+uint64(8*i), 8, of[d])
		}
		return p
	}
	base, ctl := table("table of windows", b.windows), table("table of control blocks", b.ctl)
	byDevice := make([]uint64, b.ranks)
	for rank, d := range devices {
		p := b.mem.Alloc(fmt.Sprintf("domain %d of rank %d", id, d), 64)
		put := func(field string, size int, x uint64) { b.put(p+uint64(abi.Offset[abi.Domain](field)), size, x) }
		put("Rank", 4, uint64(rank))
		put("NRanks", 4, uint64(len(devices)))
		put("ID", 4, uint64(id))
		put("Base", 8, base)
		put("Ctl", 8, ctl)
		byDevice[d] = p
	}
	b.domains = append(b.domains, byDevice)
	return id, nil
}

func (b *Backend) put(addr uint64, size int, x uint64) {
	data := b.mem.Bytes(addr, size)
	for i := range size {
		data[i] = byte(x >> (8 * i))
	}
}

func (b *Backend) get(addr uint64, size int) int64 {
	data := b.mem.Bytes(addr, size)
	if size == 4 {
		return int64(int32(binary.LittleEndian.Uint32(data)))
	}
	return int64(binary.LittleEndian.Uint64(data))
}

func (b *Backend) AllocWindow(name string, bytes int64) (int64, error) {
	at := b.used
	b.used = (at + bytes + 63) &^ 63
	if b.used > int64(b.mem.segment()) {
		return 0, fmt.Errorf("window %s: %d bytes of windows, there are %d", name, b.used, b.mem.segment())
	}
	return at, nil
}

func (b *Backend) ResetWindows() {
	b.used = 0
	for _, w := range b.windows {
		clear(b.mem.Bytes(w, b.mem.segment()))
	}
}

func (b *Backend) Window(device int, offset, bytes int64) []byte {
	return b.mem.Bytes(b.windows[device]+uint64(offset), int(bytes))
}

func (b *Backend) Kernel(f *ir.Func) (controller.Kernel, error) {
	for i, k := range b.out.Kernels {
		if k.Func == f {
			return controller.Kernel{ID: i, Syms: k.Syms}, nil
		}
	}
	return controller.Kernel{}, fmt.Errorf("no kernel %s", f.Name)
}

func (b *Backend) Dispatch(device int, k controller.Kernel, args []abi.Arg) error {
	c := command{kernel: k.ID}
	for _, a := range args {
		x := a.Value
		switch a.Tag {
		case abi.TagDomain:
			x = int64(b.domains[x][device])
		case abi.TagWindow:
			x += int64(b.windows[device])
		}
		c.args = append(c.args, x)
	}
	b.queue[device] = append(b.queue[device], c)
	b.given[device]++
	return nil
}

// Wait runs everything that was dispatched: each rank's kernels in order, the ranks side by side.
func (b *Backend) Wait(context.Context) error {
	jobs := make([][]job, b.ranks)
	for d, q := range b.queue {
		for _, c := range q {
			j, err := b.job(d, c)
			if err != nil {
				return err
			}
			jobs[d] = append(jobs[d], j)
		}
		b.queue[d] = nil
	}
	if err := b.mem.run(jobs, b.watch); err != nil {
		return err
	}
	b.watch(0)
	return b.failures()
}

// watch is what the host does while kernels run: it stops all ranks when one has failed, or when none has
// got on for too long.
func (b *Backend) watch(steps int64) {
	progress := int64(0)
	for r := range b.ranks {
		progress += b.ctlField(r, "Progress", 8)
		if b.first < 0 && !b.late && b.get(b.fault[r], 4) != 0 {
			b.first = r
		}
	}
	if progress != b.seen || steps < b.moved {
		b.seen, b.moved = progress, steps
	}
	b.late = b.late || b.first < 0 && steps-b.moved > b.cfg.Patience
	if b.late || b.first >= 0 {
		b.put(b.abort, 4, 1)
	}
}

func (b *Backend) ctlField(r int, name string, size int) int64 {
	return b.get(b.ctl[r]+uint64(abi.Offset[abi.RankCtl](name)), size)
}

// job makes the arguments of one kernel.
func (b *Backend) job(d int, c command) (job, error) {
	k := &b.out.Kernels[c.kernel]
	slots := b.mem.Alloc("arguments", max(8*len(c.args), 8))
	for i, x := range c.args {
		b.put(slots+uint64(8*i), 8, uint64(x))
	}
	ctx := b.mem.Alloc("context", int(unsafe.Sizeof(abi.GPUCtx{})))
	put := func(field string, x uint64) { b.put(ctx+uint64(abi.Offset[abi.GPUCtx](field)), 8, x) }
	put("Abort", b.abort)
	put("Fault", b.fault[d])
	put("Self", b.ctl[d])
	put("Patience", uint64(b.cfg.Alone))
	need, err := k.Demand(c.args, b.ranks)
	if err != nil {
		return job{}, err
	}
	most := b.cfg.Blocks
	if most == 0 {
		most = 3
	}
	blocks := min(int(need.Blocks), most)
	if need.Arena = (need.Arena + 63) &^ 63; need.Arena > 0 {
		put("Arena", b.mem.Alloc("scratch of blocks", blocks*int(need.Arena)))
		put("ArenaBytes", uint64(need.Arena))
	}
	if need.Common > 0 {
		put("Common", b.mem.Alloc("scratch of all blocks", int(need.Common)))
	}
	rec := b.mem.Alloc("launch record", 16)
	b.put(rec, 8, ctx)
	b.put(rec+8, 8, slots)
	b.Grid = max(b.Grid, blocks)
	return job{k, rec, blocks}, nil
}

// failures turns the ranks' faults into a failure.
func (b *Backend) failures() error {
	if b.first < 0 && !b.late {
		return nil
	}
	f := &failure.Failure{First: b.first, After: "a while"}
	if b.late {
		f.Cause = failure.Timeout
	}
	for r := range b.ranks {
		f.Ranks = append(f.Ranks, b.rank(r))
	}
	return f
}

func (b *Backend) rank(r int) failure.Rank {
	f := abi.Fault{Code: abi.Code(b.get(b.fault[r], 4)), Site: int32(b.get(b.fault[r]+4, 4))}
	for i := range f.V {
		f.V[i] = b.get(b.fault[r]+8+uint64(8*i), 8)
	}
	f.Settle()
	out := failure.Rank{Rank: r, Submitted: b.given[r], Completed: b.given[r], Code: f.Code, V: f.V}
	if out.Code == abi.OK {
		return out
	}
	out.State, out.At, out.Completed = failure.Failed, b.place(f.Site), b.given[r]-1
	out.Kernel = out.At.Op
	if s := int(f.Site); s >= 0 && s < len(b.out.Sites) {
		out.Kernel = b.out.Sites[s].Func
	}
	if out.Code != abi.Aborted {
		return out
	}
	out.State = failure.Running
	if abi.WaitState(b.ctlField(r, "Waiting", 4)) == abi.WaitAborted {
		out.State = failure.Waiting
		out.Wait = &failure.Wait{At: b.place(int32(b.ctlField(r, "WaitSite", 4))), Domain: int(b.ctlField(r, "WaitDom", 4)),
			Offset: b.ctlField(r, "WaitCell", 8), Cmp: abi.Cmp(b.ctlField(r, "WaitCmp", 4)), Want: b.ctlField(r, "WaitWant", 4),
			Seen: b.ctlField(r, "WaitSeen", 4)}
	}
	return out
}

func (b *Backend) place(site int32) failure.Place {
	if site < 0 || int(site) >= len(b.out.Sites) {
		return failure.Place{}
	}
	s := b.out.Sites[site]
	return failure.Place{Span: s.Span, Op: s.Op}
}

func (b *Backend) Recover() error {
	for r, p := range b.fault {
		clear(b.mem.Bytes(p, 56))
		clear(b.mem.Bytes(b.ctl[r], int(abi.Offset[abi.RankCtl]("Fault"))))
	}
	b.put(b.abort, 4, 0)
	b.first, b.late, b.seen, b.moved = -1, false, 0, 0
	return nil
}

func (b *Backend) Close() error {
	b.mem.close()
	return nil
}

var _ controller.Backend = (*Backend)(nil)

// ErrMissing says that there is no LLVM on this machine: tests skip.
var ErrMissing = ptx.ErrNoLLVM
