// Package ptx turns a module into PTX: it builds LLVM IR, which LLVM's NVPTX backend compiles.
//
// One thread block runs one instance of a kernel, or its share of the blocks of the kernel's pl.spmd loops. Scalars are computed by every thread alike, so control
// flow is uniform; elementwise loops are spread over the threads, and what one thread wrote for another
// to read lies between block barriers. Signals are inline assembly, made by the block's first thread:
// a barrier stands before a notify and behind a wait, so that what they release and acquire is the whole
// block's.
//
// A kernel's only parameter is the address of an array of abi.GPULaunch, one for each rank that the grid
// runs: the block takes its %ctaid.y's. %ctaid.x is its number within the rank. Chip and incore functions become entries; what they call is
// expanded in place.
package ptx

import (
	"sort"

	ll "github.com/llir/llvm/ir"

	"ptoc/codegen/lower"
	"ptoc/codegen/target"
	"ptoc/ir"
)

// Options say what code is made for.
type Options struct {
	TF32     bool // FP32 products on tensor cores, whose operands keep 10 bits of the fraction
	FastMath bool // the hardware's approximations of division, roots, exp, log, sin, cos and tanh
}

// Threads is the number of threads of a block.
const Threads = target.Threads

// maxShared is how much shared memory a block takes for tiles; with more, they live in global memory.
var maxShared = target.GPU.Shared

// Kernel is one entry.
type Kernel struct {
	Name    string
	Kind    ir.FuncKind
	Func    *ir.Func
	Syms    []string // one i64 slot each, after the parameters
	Threads int      // of a block
	Shared  int      // bytes of dynamic shared memory of each block
	Arena   ir.Dim   // bytes of global scratch of each block, in terms of the parameters and symbols
	InTurn  []InTurn

	// Of a kernel whose pl.spmd loops are dealt to the blocks of a grid; of others, Blocks is 1.
	Grid    bool
	Blocks  ir.Dim // that it can use; may count ranks, too
	Common  ir.Dim // bytes of global scratch of all blocks together
	Told    int64  // of these, for values that a block tells the others
	Tensors bool   // it holds created tensors
}

// Output is a module's LLVM IR and what is needed to call it and to explain its faults.
type Output struct {
	LLVM    string
	Kernels []Kernel
	Sites   lower.Sites
}

// gen is the state of one module.
type gen struct {
	opt      Options
	out      Output
	mod      *ll.Module
	used     map[string]bool     // helpers
	externs  map[string]*ll.Func // intrinsics and helpers
	arena    *ll.Global          // dynamic shared memory
	scratch  *ll.Global          // of block-wide exchanges
	annot    []annotation
	need     lower.Scratch
	inReg    map[*ir.Func]*target.Registers
	swizzles map[*ir.Func]map[*ir.Value]target.Swizzle
	plans    map[*ir.Func]*plan
	checks   map[*ir.Func]lower.Checks
}

func newGen(opt Options) *gen {
	return &gen{opt: opt, mod: ll.NewModule(), used: map[string]bool{}, externs: map[string]*ll.Func{},
		inReg: map[*ir.Func]*target.Registers{}, swizzles: map[*ir.Func]map[*ir.Value]target.Swizzle{}, plans: map[*ir.Func]*plan{}, checks: map[*ir.Func]lower.Checks{}}
}

// Generate builds the LLVM IR of m, after all passes.
func Generate(m *ir.Module, opt Options) (out *Output, err error) {
	defer lower.Catch(&err)
	g := newGen(opt)
	g.mod.TargetTriple = "nvptx64-nvidia-cuda"
	g.mod.DataLayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
	g.globals()
	for _, f := range m.Funcs {
		if lower.Compiles(f) {
			g.entry(f)
		}
	}
	sort.SliceStable(g.out.Kernels, func(i, j int) bool { return g.out.Kernels[i].Name < g.out.Kernels[j].Name })
	g.out.LLVM = g.mod.String() + "\n" + g.helpers() + g.annotations()
	return &g.out, nil
}
