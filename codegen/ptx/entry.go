package ptx

import (
	ll "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/abi"
	"ptoc/codegen/lower"
	"ptoc/ir"
)

// kernel is the entry being built; what it calls is expanded into it.
type kernel struct {
	g *gen
	builder
	entry *ll.Block // where allocas go

	ctx     val  // i8 addrspace(1)*
	tid     val  // i64
	space   int  // of the arena: shared or global
	arena   val  // its first byte
	async   bool // tiles are copied into it asynchronously
	faulted val  // i1*: an element of a spread loop went wrong
	order
	grid   grid
	faults []fault
	fault  *ll.Block // where all of them go
}

// entry builds the kernel of f.
func (g *gen) entry(f *ir.Func) {
	name := abi.KernelSymbol(f.Name)
	launch := ll.NewParam("launch", bytesIn(global))
	code := g.mod.NewFunc(name, types.Void, launch)
	k := &kernel{g: g, builder: builder{fn: code}, order: newOrder()}
	k.entry = code.NewBlock("entry")
	k.at(k.entry)
	// At least one block: registers are not saved for others that could share the processor, at the price of
	// spilling.
	g.annot = append(g.annot, annotation{code, "kernel", 1}, annotation{code, "reqntidx", Threads}, annotation{code, "minctasm", 1})

	tid := k.sreg("tid.x")
	tid.Metadata = append(tid.Metadata, &metadata.Attachment{Name: "range", Node: threadRange})
	k.tid = k.b.NewZExt(tid, types.I64)
	rank := k.b.NewZExt(k.sreg("ctaid.y"), types.I64)
	mine := k.offset(launch, k.mul(rank, i64(2*abi.Offset[abi.GPULaunch]("Args"))))
	k.ctx = k.pointerAt(mine, abi.Offset[abi.GPULaunch]("Ctx"))
	args := k.pointerAt(mine, abi.Offset[abi.GPULaunch]("Args"))
	k.faulted = k.b.NewAlloca(types.I1)

	info := Kernel{Name: f.Name, Kind: f.Kind, Func: f, Syms: f.DimSyms(), Threads: Threads, Blocks: ir.ConstDim(1)}
	need, compact := g.blockNeed(f)
	k.grid.compact = compact
	if n, ok := need.Const(); ok && n <= maxShared {
		k.space, info.Shared = shared, int(n)
		k.arena = k.typed(g.arena, types.I8)
		k.async = n > 0 && g.copiesTiles(f)
	} else {
		k.space, info.Arena = global, need
		k.arena = k.pointerAt(k.ctx, abi.Offset[abi.GPUCtx]("Arena"))
	}
	e := newFn(k, f, i64(0))
	e.stopIfFailed(g.planOf(f).deals())
	if p := g.planOf(f); p.deals() {
		e.share(p, i64(0))
		info.Grid, info.Blocks = true, g.blocks(f)
		info.Told, info.Tensors = k.openGrid(f)
		info.Common = common(info.Told, info.Tensors, g.need.Of(f))
	}
	info.InTurn = g.planOf(f).undealt
	e.unpack(args)
	e.block(f.Body)
	e.land()
	k.b.NewRet(nil)
	k.faultBlock()
	g.out.Kernels = append(g.out.Kernels, info)
}

// stopIfFailed: of the kernels that are queued behind one that failed, none does anything. A thread that is
// late may see its own kernel's fault: then it would have come upon the same, before the first barrier. Of another
// block's fault all threads of a block must see the same.
func (e *fn) stopIfFailed(blocks bool) {
	code := e.asm(types.I32, "ld.relaxed.sys.global.u32 $0, [$1];", "=r,l", e.pointerAt(e.ctx, abi.Offset[abi.GPUCtx]("Fault")))
	var failed val
	if blocks {
		failed = e.anyThread(code)
	} else {
		failed = e.notZero(code)
	}
	stop, run := e.label("stop"), e.label("run")
	e.b.NewCondBr(failed, stop, run)
	stop.NewRet(nil)
	e.at(run)
}

// openGrid reads which block this is, and where its scratch is.
func (k *kernel) openGrid(f *ir.Func) (told int64, tensors bool) {
	told, tensors = k.g.shared(f)
	told = (told + 63) &^ 63 // tensors are aligned
	k.grid.block, k.grid.blocks = k.b.NewZExt(k.sreg("ctaid.x"), types.I64), k.b.NewZExt(k.sreg("nctaid.x"), types.I64)
	k.grid.first = k.isZero(k.grid.block)
	k.grid.apart = meeting{hazards{}, hazards{}}
	if k.space == global {
		k.arena = k.offset(k.arena, k.mul(k.grid.block, k.load(types.I64, k.offset(k.ctx, i64(abi.Offset[abi.GPUCtx]("ArenaBytes"))), 8)))
	}
	if told > 0 || tensors {
		k.grid.common = k.pointerAt(k.ctx, abi.Offset[abi.GPUCtx]("Common"))
		k.grid.tensors = k.offset(k.grid.common, i64(told))
	}
	return told, tensors
}

// sreg reads a special register.
func (k *kernel) sreg(name string) *ll.InstCall {
	return k.b.NewCall(k.g.extern("llvm.nvvm.read.ptx.sreg."+name, types.I32))
}

// alloca makes a variable of the kernel.
func (k *kernel) alloca(t types.Type) val {
	in := ll.NewAlloca(t)
	k.entry.Insts = append([]ll.Instruction{in}, k.entry.Insts...)
	return in
}

// unpack binds parameters and symbols to the argument slots.
func (e *fn) unpack(args val) {
	slot := int64(0)
	next := func() val {
		x := e.load(types.I64, e.offset(args, i64(8*slot)), 8)
		slot++
		return x
	}
	for _, p := range e.f.Params() {
		switch t := p.Type.(type) {
		case *ir.Tensor:
			m := &memory{Layout: lower.RowMajor(t.Dims), dt: t.DType, root: p}
			if t.Window {
				m.dom = e.domain(next())
				m.ptr = e.offset(m.dom.own, next())
			} else {
				m.ptr = e.b.NewIntToPtr(next(), bytesIn(global))
			}
			e.mems[p] = m
		case *ir.Scalar:
			e.vals[p] = e.unpackScalar(next(), t.DType)
		default:
			lower.Fail(e.f.Span, "%s parameter %s: a kernel takes tensors and scalars, not %s", e.f.Name, p.Name, p.Type)
		}
	}
	for _, s := range e.f.DimSyms() {
		e.syms[s] = next()
	}
}

// unpackScalar turns a slot into a scalar; floats travel as the bits of a double.
func (e *fn) unpackScalar(x val, dt ir.DType) val {
	switch {
	case dt.IsFloat():
		return e.b.NewFPTrunc(e.b.NewBitCast(x, types.Double), types.Float)
	case dt == ir.BOOL:
		return e.icmp(enum.IPredNE, x, i64(0))
	case dt == ir.INDEX || dt == ir.INT64:
		return x
	}
	return e.b.NewTrunc(x, regType(dt).(*types.IntType))
}

// packScalar turns a scalar into what a slot holds.
func (e *fn) packScalar(x val, dt ir.DType) val {
	switch {
	case dt.IsFloat():
		return e.b.NewBitCast(e.b.NewFPExt(x, types.Double), types.I64)
	case dt == ir.BOOL:
		return e.b.NewZExt(x, types.I64)
	}
	return e.widen(x)
}

// domain is what a kernel uses of an abi.Domain, read once.
type domain struct {
	rank, nranks, id val // i64, i64, i32
	table            val // of every rank's segment, in this device's addresses
	own              val // this rank's segment
}

func (e *fn) domain(addr val) *domain {
	p := e.b.NewIntToPtr(addr, bytesIn(global))
	field := func(name string) val { return e.load(types.I32, e.offset(p, i64(abi.Offset[abi.Domain](name))), 4) }
	d := &domain{rank: e.b.NewSExt(field("Rank"), types.I64), nranks: e.b.NewSExt(field("NRanks"), types.I64), id: field("ID"),
		table: e.pointerAt(p, abi.Offset[abi.Domain]("Base"))}
	d.own = e.windowOf(d, d.rank)
	return d
}

func (e *fn) windowOf(d *domain, rank val) val {
	return e.pointerAt(e.offset(d.table, e.mul(rank, i64(8))), 0)
}
