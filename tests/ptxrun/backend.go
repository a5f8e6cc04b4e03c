// Package ptxrun lets the controller run a program's kernels as PTX on the interpreter: a backend of ranks
// on a GPU that is not there.
package ptxrun

import (
	"context"
	"encoding/binary"
	"fmt"

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
}

// Backend is a controller.Backend.
type Backend struct {
	cfg     Config
	ranks   int
	out     *ptx.Output
	mod     *ptxsim.Module
	mem     *ptxsim.Memory
	windows []uint64 // each rank's segment
	used    int64    // of the segments
	ctl     []uint64
	fault   []uint64
	abort   uint64
	domains [][]uint64 // [id][device] address of the domain; 0 for those who are not in it
	queue   [][]command
	Text    string // the PTX
	Steps   int64  // executed so far
}

type command struct {
	kernel int
	args   []int64
}

const segment = 1 << 20

// New compiles the kernels of a lowered module and makes ranks.
func New(m *ir.Module, ranks int, cfg Config) (*Backend, error) {
	b := &Backend{cfg: cfg, ranks: ranks, mem: ptxsim.NewMemory()}
	var err error
	if b.out, err = ptx.Generate(m, cfg.Options); err != nil {
		return nil, err
	}
	arch := cfg.Options.Arch
	if arch == "" {
		arch = "sm_80"
	}
	if b.Text, err = ptx.Compile(b.out.LLVM, arch); err != nil {
		return nil, err
	}
	if cfg.Edit != nil {
		b.Text = cfg.Edit(b.Text)
	}
	if b.mod, err = ptxsim.Parse(b.Text); err != nil {
		return nil, err
	}
	b.abort = b.mem.Alloc("abort word", 4)
	for r := range ranks {
		b.windows = append(b.windows, b.mem.Alloc(fmt.Sprintf("windows of rank %d", r), segment))
		b.ctl = append(b.ctl, b.mem.Alloc(fmt.Sprintf("control block of rank %d", r), int(abi.Offset[abi.RankCtl]("Fault"))+128))
		b.fault = append(b.fault, b.mem.Alloc(fmt.Sprintf("fault of rank %d", r), 56))
	}
	b.queue = make([][]command, ranks)
	return b, nil
}

func (b *Backend) Ranks() int { return b.ranks }

func (b *Backend) Alloc(name string, bytes int64) (controller.Buffer, error) {
	data := make([]byte, bytes)
	return controller.Buffer{Addr: int64(b.mem.Map(name, data)), Data: data}, nil
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
	if b.used > segment {
		return 0, fmt.Errorf("window %s: %d bytes of windows, the interpreter has %d", name, b.used, segment)
	}
	return at, nil
}

func (b *Backend) ResetWindows() {
	b.used = 0
	for _, w := range b.windows {
		clear(b.mem.Bytes(w, segment))
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
	return nil
}

// Wait runs everything that was dispatched: each rank's kernels in order, the ranks side by side.
func (b *Backend) Wait(context.Context) error {
	var launches []ptxsim.Launch
	last := make([]int, b.ranks)
	for d, q := range b.queue {
		for _, c := range q {
			l, err := b.launch(d, c)
			if err != nil {
				return err
			}
			l.After = last[d]
			launches = append(launches, l)
			last[d] = len(launches)
		}
		b.queue[d] = nil
	}
	st, err := ptxsim.RunAll(launches)
	b.Steps += st.Steps
	if err != nil {
		return err
	}
	return b.failures()
}

// launch makes the arguments of one kernel.
func (b *Backend) launch(d int, c command) (ptxsim.Launch, error) {
	k := b.out.Kernels[c.kernel]
	slots := b.mem.Alloc("arguments", max(8*len(c.args), 8))
	for i, x := range c.args {
		b.put(slots+uint64(8*i), 8, uint64(x))
	}
	ctx := b.mem.Alloc("context", 64)
	put := func(field string, x uint64) { b.put(ctx+uint64(abi.Offset[abi.GPUCtx](field)), 8, x) }
	put("Abort", b.abort)
	put("Fault", b.fault[d])
	put("Self", b.ctl[d])
	put("Patience", uint64(b.cfg.Patience))
	if n, err := k.ArenaBytes(c.args); err != nil {
		return ptxsim.Launch{}, err
	} else if n > 0 {
		put("Arena", b.mem.Alloc("arena", int(n)))
	}
	rec := b.mem.Alloc("launch record", 16)
	b.put(rec, 8, ctx)
	b.put(rec+8, 8, slots)
	return ptxsim.Launch{Module: b.mod, Config: ptxsim.Config{
		Entry: abi.KernelSymbol(k.Name), Block: [3]int{k.Threads}, Shared: k.Shared, Memory: b.mem, Name: fmt.Sprintf("rank %d", d),
		Params: binary.LittleEndian.AppendUint64(nil, rec), Seed: b.cfg.Seed, StepLimit: b.cfg.StepLimit, GlobalRaces: b.cfg.Races,
	}}, nil
}

// failures turns the ranks' faults into a failure.
func (b *Backend) failures() error {
	f := &failure.Failure{First: -1}
	for r := range b.ranks {
		code := abi.Code(b.get(b.fault[r], 4))
		rank := failure.Rank{Rank: r, Code: code}
		if code != abi.OK {
			rank.State, rank.At = failure.Failed, b.place(int32(b.get(b.fault[r]+4, 4)))
			for i := range rank.V {
				rank.V[i] = b.get(b.fault[r]+8+uint64(8*i), 8)
			}
			if f.First < 0 || f.Ranks[f.First].Code == abi.TimedOut && code != abi.TimedOut {
				f.First = r
			}
		}
		if code == abi.Aborted || code == abi.TimedOut {
			rank.State, rank.Wait = failure.Waiting, b.wait(r)
		}
		f.Ranks = append(f.Ranks, rank)
	}
	if f.First < 0 {
		return nil
	}
	if f.Ranks[f.First].Code == abi.TimedOut {
		f.Cause, f.First = failure.Timeout, -1
	}
	return f
}

func (b *Backend) wait(r int) *failure.Wait {
	field := func(name string, size int) int64 { return b.get(b.ctl[r]+uint64(abi.Offset[abi.RankCtl](name)), size) }
	return &failure.Wait{At: b.place(int32(field("WaitSite", 4))), Domain: int(field("WaitDom", 4)), Offset: field("WaitCell", 8),
		Cmp: abi.Cmp(field("WaitCmp", 4)), Want: field("WaitWant", 4), Seen: field("WaitSeen", 4)}
}

func (b *Backend) place(site int32) failure.Place {
	if site < 0 || int(site) >= len(b.out.Sites) {
		return failure.Place{}
	}
	s := b.out.Sites[site]
	return failure.Place{Span: s.Span, Op: s.Op}
}

func (b *Backend) Recover() error {
	for _, p := range b.fault {
		clear(b.mem.Bytes(p, 56))
	}
	return nil
}

func (b *Backend) Close() error { return nil }

var _ controller.Backend = (*Backend)(nil)

// ErrMissing says that there is no LLVM on this machine: tests skip.
var ErrMissing = ptx.ErrNoLLVM
