package ptx

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/abi"
	"ptoc/codegen/lower"
	"ptoc/codegen/target"
	"ptoc/ir"
)

// fn expands one function into the kernel.
type fn struct {
	*kernel
	*target.Registers // tiles that live in registers

	f      *ir.Func
	vals   map[*ir.Value]val     // scalars; arrays: their variable
	mems   map[*ir.Value]*memory // tiles, tensors, views; contexts: their domain
	syms   map[string]val
	sites  map[*ir.Op]int
	base   val    // i64: where the function's scratch begins in the block's arena
	outer  val    // and in that of all blocks
	end    ir.Dim // what it calls has scratch behind this
	loops  []*ir.Op
	around spmdBlock           // of the caller's pl.spmd
	plan   *plan               // nil where only this block is concerned
	regs   map[*ir.Value][]val // a thread's pieces of them

	swizzles map[*ir.Value]target.Swizzle

	checks lower.Checks

	inElement bool // inside the body of a spread loop, where threads differ
}

func newFn(k *kernel, f *ir.Func, base val) *fn {
	e := &fn{kernel: k, f: f, vals: map[*ir.Value]val{}, mems: map[*ir.Value]*memory{}, syms: map[string]val{}, sites: map[*ir.Op]int{},
		base: base, Registers: k.g.registers(f), regs: map[*ir.Value][]val{}, checks: k.g.checksOf(f), around: spmdBlock{i64(0), i64(1)}}
	if f.Arena != nil {
		e.end = *f.Arena
	}
	if k.space == shared { // global memory has no banks
		e.swizzles = k.g.swizzlesOf(f)
	}
	return e
}

// checksOf are the checks that f needs; it may be expanded many times.
func (g *gen) checksOf(f *ir.Func) lower.Checks {
	if _, ok := g.checks[f]; !ok {
		g.checks[f] = lower.ChecksOf(f)
	}
	return g.checks[f]
}

// registers are the tiles of f that live in registers.
func (g *gen) registers(f *ir.Func) *target.Registers {
	if g.inReg[f] == nil {
		g.inReg[f] = target.GPU.Registers(f)
	}
	return g.inReg[f]
}

// spmdBlock is a block of a pl.spmd loop.
type spmdBlock struct{ index, of val }

// swizzlesOf are the tiles of f that lie swizzled where they lie in shared memory.
func (g *gen) swizzlesOf(f *ir.Func) map[*ir.Value]target.Swizzle {
	if g.swizzles[f] == nil {
		g.swizzles[f] = target.Swizzles(f, g.registers(f))
	}
	return g.swizzles[f]
}

// memory is a tensor, window, view or tile.
type memory struct {
	lower.Layout
	ptr  val     // first element, as bytes
	dom  *domain // windows
	dt   ir.DType
	root any // what barriers keep apart: a parameter, or the arena
	// Of the arena the bytes [lo, hi), if they are known; else hi is 0.
	lo, hi  int64
	swizzle target.Swizzle // of tiles
}

// byteAt is the address of byte off of m.
func (e *fn) byteAt(m *memory, off val) val {
	if m.swizzle != 0 {
		moved := e.b.NewAnd(e.b.NewLShr(off, i64(int64(m.swizzle))), i64(target.Bits))
		off = e.b.NewXor(off, moved)
	}
	return e.offset(m.ptr, off)
}

func (m *memory) at() place { return place{m.root, m.lo, m.hi} }

// memType is an element in memory, regType a scalar. FP16 and BF16 scalars are FP32 variables that hold a
// value of the narrow type.
func memType(dt ir.DType) types.Type {
	switch dt {
	case ir.BOOL:
		return types.I8
	case ir.FP16:
		return types.Half
	case ir.BF16:
		return types.I16
	}
	return regType(dt)
}

func regType(dt ir.DType) types.Type {
	switch dt {
	case ir.BOOL:
		return types.I1
	case ir.INT8:
		return types.I8
	case ir.INT32:
		return types.I32
	case ir.INT64, ir.INDEX:
		return types.I64
	}
	return types.Float
}

// data is a tile or tensor as memory.
func (e *fn) data(v *ir.Value) *memory {
	if m, ok := e.mems[v]; ok {
		return m
	}
	t, ok := v.Type.(*ir.Tile)
	if !ok {
		lower.Fail(e.f.Span, "%s: no memory for %s", e.f.Name, v.Name)
	}
	m := &memory{Layout: lower.RowMajor(t.Dims), dt: t.DType, ptr: e.place(v), root: arenaRoot, swizzle: e.swizzles[v]}
	m.lo, m.hi = e.bytesOf(e.base, v, t.Storage())
	e.mems[v] = m
	return m
}

// tileAt is the place of a tile that is not in registers.
func (e *fn) tileAt(v *ir.Value) place {
	lo, hi := e.bytesOf(e.base, v, v.Type.(*ir.Tile).Storage())
	return place{arenaRoot, lo, hi}
}

// bytesOf is where in an arena v lies, if that and its size are known now.
func (e *fn) bytesOf(base val, v *ir.Value, dims []ir.Dim) (lo, hi int64) {
	from, ok1 := intOf(base)
	size, ok2 := ir.Product(dims).Const()
	if v.Arena == nil || !ok1 || !ok2 {
		return 0, 0
	}
	at, ok := v.Arena.Const()
	if !ok {
		return 0, 0
	}
	return from + at, from + at + size*int64(ir.DTypeOf(v.Type).Size())
}

const arenaRoot = "arena"

// place is the address of v in the block's arena, placeIn in any, at an offset.
func (e *fn) place(v *ir.Value) val { return e.placeIn(e.arena, e.base, v) }

func (e *fn) placeIn(arena, base val, v *ir.Value) val {
	if v.Arena == nil {
		if v.Def != nil && v.Def.Kind == ir.Reshape {
			return e.data(v.Def.Val("x")).ptr
		}
		lower.Fail(e.f.Span, "%s: %s has no place in the arena: PlanMemory has not run", e.f.Name, v.Name)
	}
	return e.offset(arena, e.add(base, e.dim(*v.Arena)))
}

// declareTile is the tile that op makes. A fused loop's are checked as the loop's.
func (e *fn) declareTile(v *ir.Value) *memory {
	if v.Def.Kind != ir.Fused {
		t := v.Type.(*ir.Tile)
		e.checkExtents(v.Def, t.Dims, t.Storage())
	}
	return e.data(v)
}

// checkExtents makes sure that run-time extents lie between 0 and caps.
func (e *fn) checkExtents(op *ir.Op, dims, caps []ir.Dim) {
	for i, d := range dims {
		if e.checks.Extent(d, caps[i]) {
			continue
		}
		x, c := e.dim(d), e.dim(caps[i])
		e.check(op, e.b.NewOr(e.icmp(enum.IPredSLT, x, i64(0)), e.icmp(enum.IPredSGT, x, c)), abi.BadValue, x, i64(0), c)
	}
}

// site is op's number in the table of sites.
func (e *fn) site(op *ir.Op) int {
	if s, ok := e.sites[op]; ok {
		return s
	}
	e.sites[op] = e.g.out.Sites.Add(e.f, op)
	return e.sites[op]
}

// dim is a dim as i64.
func (e *fn) dim(d ir.Dim) val {
	sum := i64(0)
	first := true
	d.Terms(func(coef int64, atoms []ir.Atom) {
		x := i64(coef)
		for _, a := range atoms {
			x = e.mul(x, e.atom(a))
		}
		if first {
			sum, first = x, false
		} else {
			sum = e.add(sum, x)
		}
	})
	return sum
}

func (e *fn) atom(a ir.Atom) val {
	switch a.Op {
	case ir.AtomSym:
		if x, ok := e.syms[a.Sym]; ok {
			return x
		}
		lower.Fail(e.f.Span, "%s: the symbol %s has no value here", e.f.Name, a.Sym)
	case ir.AtomVal:
		return e.scalarAs(a.Val, ir.INDEX)
	}
	x, y := e.dim(a.A), e.dim(a.B)
	switch a.Op {
	case ir.AtomDiv:
		return e.divided(e.checks.Division(a.A, a.B), x, y)
	case ir.AtomMod:
		return e.remainder(e.checks.Division(a.A, a.B), x, y)
	case ir.AtomMin:
		return e.sel(e.icmp(enum.IPredSLT, x, y), x, y)
	}
	return e.sel(e.icmp(enum.IPredSGT, x, y), x, y)
}

// divided and remainder are Python's // and %.
func (e *fn) divided(how lower.Division, x, y val) val {
	if how != lower.Floored {
		return e.b.NewUDiv(x, y)
	}
	return e.b.NewCall(e.g.helper("ptoc_floordiv", types.I64, types.I64, types.I64), x, y)
}

func (e *fn) remainder(how lower.Division, x, y val) val {
	switch how {
	case lower.Once:
		return e.sel(e.icmp(enum.IPredULT, x, y), x, e.sub(x, y))
	case lower.Unsigned:
		return e.b.NewURem(x, y)
	}
	return e.b.NewCall(e.g.helper("ptoc_floormod", types.I64, types.I64, types.I64), x, y)
}
