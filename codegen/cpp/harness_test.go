package cpp

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"ptoc/codegen/abi"
	"ptoc/codegen/toolchain"
	"ptoc/ir"
)

var tools = sync.OnceValues(toolchain.Open)

// world is what a kernel sees: the windows of a few ranks, all in this process.
type world struct {
	ranks int
	win   [][]byte
	bases []uintptr
	ctl   []abi.RankCtl
	ctls  []uintptr
	dev   []int32
}

func newWorld(ranks, bytes int) *world {
	w := &world{ranks: ranks, ctl: make([]abi.RankCtl, ranks)}
	for r := range ranks {
		buf := make([]byte, bytes+64)
		off := int(-uintptr(unsafe.Pointer(&buf[0])) & 63)
		w.win = append(w.win, buf[off:off+bytes])
		w.bases = append(w.bases, uintptr(unsafe.Pointer(&w.win[r][0])))
		w.ctls = append(w.ctls, uintptr(unsafe.Pointer(&w.ctl[r])))
		w.dev = append(w.dev, int32(r))
	}
	return w
}

func (w *world) domain(rank int) *abi.Domain {
	return &abi.Domain{Rank: int32(rank), NRanks: int32(w.ranks), Base: uintptr(unsafe.Pointer(&w.bases[0])),
		Ctl: uintptr(unsafe.Pointer(&w.ctls[0])), Device: uintptr(unsafe.Pointer(&w.dev[0]))}
}

// kernel is a compiled entry.
type kernel struct {
	run, arena uintptr
	out        *Output
}

func build(t testing.TB, m *ir.Module, name string) kernel {
	t.Helper()
	out, err := Generate(m)
	if err != nil {
		t.Fatal(err)
	}
	return load(t, out, name)
}

func load(t testing.TB, out *Output, name string) kernel {
	t.Helper()
	if _, err := toolchain.Find(); err != nil {
		t.Skip(err)
	}
	tc, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	res, err := tc.Compile(context.Background(), toolchain.Unit{Name: name + ".cpp", Source: out.Text}, toolchain.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.Text[len(abi.Prelude()):])
	}
	lib, err := purego.Dlopen(res.Path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	k := kernel{out: out}
	if k.run, err = purego.Dlsym(lib, abi.KernelSymbol(name)); err != nil {
		t.Fatal(err)
	}
	k.arena, _ = purego.Dlsym(lib, abi.ArenaSymbol(name))
	return k
}

// call runs the kernel as a rank and returns what went wrong. Memory behind the arena is checked.
func (k kernel) call(t testing.TB, w *world, rank int, args ...int64) abi.Fault {
	t.Helper()
	if len(args) == 0 {
		args = []int64{0}
	}
	size := int64(0)
	if k.arena != 0 {
		r, _, _ := purego.SyscallN(k.arena, uintptr(unsafe.Pointer(&args[0])))
		size = int64(r)
	}
	if size > 1<<30 {
		return abi.Fault{Code: abi.NoMemory, V: [6]int64{size}}
	}
	buf := make([]byte, size+192)
	off := int64(-uintptr(unsafe.Pointer(&buf[0]))&63) + 64
	for i := range buf {
		buf[i] = 0xa5
	}
	var abort int32
	fault := abi.Fault{Site: -1}
	ctx := &abi.Ctx{Arena: uintptr(unsafe.Pointer(&buf[off])), ArenaBytes: size, Abort: uintptr(unsafe.Pointer(&abort)),
		Fault: uintptr(unsafe.Pointer(&fault))}
	if w != nil {
		ctx.Self = w.ctls[rank]
	}
	r, _, _ := purego.SyscallN(k.run, uintptr(unsafe.Pointer(ctx)), uintptr(unsafe.Pointer(&args[0])))
	if abi.Code(int32(r)) != fault.Code {
		t.Errorf("status %d, fault %+v", int32(r), fault)
	}
	for i := range buf {
		if (int64(i) < off || int64(i) >= off+size) && buf[i] != 0xa5 {
			t.Errorf("wrote outside of the arena: byte %d of %d", int64(i)-off, size)
			break
		}
	}
	return fault
}

// prepare returns a call without the checks, for benchmarks.
func (k kernel) prepare(args ...int64) func() abi.Code {
	size := int64(64)
	if k.arena != 0 {
		r, _, _ := purego.SyscallN(k.arena, uintptr(unsafe.Pointer(&args[0])))
		size += int64(r)
	}
	buf := make([]byte, size+64)
	off := int64(-uintptr(unsafe.Pointer(&buf[0])) & 63)
	abort, fault := new(int32), new(abi.Fault)
	ctx := &abi.Ctx{Arena: uintptr(unsafe.Pointer(&buf[off])), ArenaBytes: size, Abort: uintptr(unsafe.Pointer(abort)),
		Fault: uintptr(unsafe.Pointer(fault))}
	return func() abi.Code {
		r, _, _ := purego.SyscallN(k.run, uintptr(unsafe.Pointer(ctx)), uintptr(unsafe.Pointer(&args[0])))
		return abi.Code(int32(r))
	}
}

// guarded is memory of n elements between two guards.
type guarded[T any] struct {
	all   []T
	Elems []T
	guard T
}

func guard[T any](elems []T, g T) *guarded[T] {
	m := &guarded[T]{all: make([]T, len(elems)+32), guard: g}
	for i := range m.all {
		m.all[i] = g
	}
	m.Elems = m.all[16 : 16+len(elems)]
	copy(m.Elems, elems)
	return m
}

// handedOut keeps every buffer whose address a kernel was given: the number alone does not, and the
// collector may run while a kernel does.
var handedOut []any

func (m *guarded[T]) addr() int64 {
	handedOut = append(handedOut, m.all)
	return int64(uintptr(unsafe.Pointer(&m.all[16])))
}

func (m *guarded[T]) check(t testing.TB) {
	t.Helper()
	for i := range m.all {
		if (i < 16 || i >= 16+len(m.Elems)) && fmt.Sprint(m.all[i]) != fmt.Sprint(m.guard) {
			t.Errorf("wrote outside of a tensor of %d at %d", len(m.Elems), i-16)
		}
	}
}

func tensor(dt ir.DType, dims ...ir.Dim) *ir.Tensor { return &ir.Tensor{Dims: dims, DType: dt} }
func window(dt ir.DType, dims ...ir.Dim) *ir.Tensor {
	return &ir.Tensor{Dims: dims, DType: dt, Window: true}
}
func index(ns ...int64) []*ir.Value {
	var out []*ir.Value
	for _, n := range ns {
		out = append(out, ir.Index(n))
	}
	return out
}
func dims(ds ...ir.Dim) []*ir.Value {
	var out []*ir.Value
	for _, d := range ds {
		out = append(out, ir.DimValue(d))
	}
	return out
}

func module(fs ...*ir.Func) *ir.Module { return &ir.Module{Name: "test", Funcs: fs} }

func ptrOf(d *abi.Domain) int64 { return int64(uintptr(unsafe.Pointer(d))) }
