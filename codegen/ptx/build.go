package ptx

import (
	"fmt"
	"strings"

	ll "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// val is an LLVM value.
type val = value.Value

// Address spaces of the NVPTX backend.
const (
	global = 1
	shared = 3
)

func pointer(t types.Type, space int) *types.PointerType {
	p := types.NewPointer(t)
	p.AddrSpace = types.AddrSpace(space)
	return p
}

// bytes is the type of addresses: i8 in a space.
func bytesIn(space int) *types.PointerType { return pointer(types.I8, space) }

func i64(n int64) val   { return constant.NewInt(types.I64, n) }
func i32(n int64) val   { return constant.NewInt(types.I32, n) }
func f32(x float64) val { return constant.NewFloat(types.Float, x) }
func f64(x float64) val { return constant.NewFloat(types.Double, x) }
func bit(b bool) val    { return constant.NewBool(b) }

// intOf is the value of an integer constant.
func intOf(x val) (int64, bool) {
	if c, ok := x.(*constant.Int); ok && c.X.IsInt64() {
		return c.X.Int64(), true
	}
	return 0, false
}

// builder appends instructions to the current block of a function.
type builder struct {
	fn   *ll.Func
	b    *ll.Block
	made int
}

// label makes an empty block at the end of the function.
func (w *builder) label(hint string) *ll.Block {
	w.made++
	return w.fn.NewBlock(fmt.Sprintf("%s%d", hint, w.made))
}

// at goes on in block b.
func (w *builder) at(b *ll.Block) { w.b = b }

// Integer arithmetic folds what constants decide; LLVM does the rest.
func (w *builder) add(x, y val) val {
	a, okA := intOf(x)
	b, okB := intOf(y)
	switch {
	case okA && okB:
		return constant.NewInt(x.Type().(*types.IntType), a+b)
	case okA && a == 0:
		return y
	case okB && b == 0:
		return x
	}
	return w.b.NewAdd(x, y)
}

func (w *builder) sub(x, y val) val {
	if b, ok := intOf(y); ok && b == 0 {
		return x
	}
	return w.b.NewSub(x, y)
}

func (w *builder) mul(x, y val) val {
	a, okA := intOf(x)
	b, okB := intOf(y)
	switch {
	case okA && okB:
		return constant.NewInt(x.Type().(*types.IntType), a*b)
	case okA && a == 1 || okB && b == 0:
		return y
	case okB && b == 1 || okA && a == 0:
		return x
	}
	return w.b.NewMul(x, y)
}

// div is x / by, rounded towards zero.
func (w *builder) div(x val, by int64) val {
	if n, ok := intOf(x); ok {
		return constant.NewInt(x.Type().(*types.IntType), n/by)
	}
	return w.b.NewSDiv(x, constant.NewInt(x.Type().(*types.IntType), by))
}

func (w *builder) icmp(p enum.IPred, x, y val) val { return w.b.NewICmp(p, x, y) }
func (w *builder) fcmp(p enum.FPred, x, y val) val { return w.b.NewFCmp(p, x, y) }
func (w *builder) sel(c, x, y val) val             { return w.b.NewSelect(c, x, y) }

// offset is p + n bytes.
func (w *builder) offset(p, n val) val {
	if c, ok := intOf(n); ok && c == 0 {
		return p
	}
	return w.b.NewGetElementPtr(types.I8, p, n)
}

// typed is p as a pointer to t, in p's space.
func (w *builder) typed(p val, t types.Type) val {
	want := pointer(t, int(p.Type().(*types.PointerType).AddrSpace))
	if p.Type().Equal(want) {
		return p
	}
	return w.b.NewBitCast(p, want)
}

func (w *builder) load(t types.Type, p val, align int64) val {
	in := w.b.NewLoad(t, w.typed(p, t))
	in.Align = ll.Align(align)
	return in
}

func (w *builder) store(x, p val, align int64) {
	in := w.b.NewStore(x, w.typed(p, x.Type()))
	in.Align = ll.Align(align)
}

// pointerAt reads a device address at byte off of p.
func (w *builder) pointerAt(p val, off int64) val {
	return w.b.NewIntToPtr(w.load(types.I64, w.offset(p, i64(off)), 8), bytesIn(global))
}

// asm is inline assembly with side effects, which nothing moves across.
func (w *builder) asm(ret types.Type, text, constraints string, args ...val) val {
	var params []types.Type
	for _, a := range args {
		params = append(params, a.Type())
	}
	in := ll.NewInlineAsm(types.NewPointer(types.NewFunc(ret, params...)), text, constraints+",~{memory}")
	if constraints == "" {
		in.Constraint = "~{memory}"
	}
	in.SideEffect = true
	return w.b.NewCall(in, args...)
}

// pure is inline assembly that only computes.
func (w *builder) pure(ret types.Type, text, constraints string, args ...val) val {
	var params []types.Type
	for _, a := range args {
		params = append(params, a.Type())
	}
	return w.b.NewCall(ll.NewInlineAsm(types.NewPointer(types.NewFunc(ret, params...)), text, constraints), args...)
}

// loop counts i from start while it is less than stop (signed), and returns what it counted to.
func (w *builder) loop(hint string, start, stop, step val, body func(i val)) val {
	head, in, out := w.label(hint), w.label(hint+"_body"), w.label(hint+"_end")
	from := w.b
	w.b.NewBr(head)
	i := head.NewPhi(ll.NewIncoming(start, from))
	w.at(head)
	head.NewCondBr(w.icmp(enum.IPredSLT, i, stop), in, out)
	w.at(in)
	body(i)
	next := w.b.NewAdd(i, step)
	i.Incs = append(i.Incs, ll.NewIncoming(next, w.b))
	w.b.NewBr(head)
	w.at(out)
	return i
}

// when runs body where c holds.
func (w *builder) when(hint string, c val, body func()) {
	in, out := w.label(hint), w.label(hint+"_end")
	w.b.NewCondBr(c, in, out)
	w.at(in)
	body()
	w.b.NewBr(out)
	w.at(out)
}

// accumulate is a loop that carries one value.
func (w *builder) accumulate(hint string, start, stop, step, first val, body func(i, acc val) val) val {
	head, in, out := w.label(hint), w.label(hint+"_body"), w.label(hint+"_end")
	from := w.b
	w.b.NewBr(head)
	i := head.NewPhi(ll.NewIncoming(start, from))
	acc := head.NewPhi(ll.NewIncoming(first, from))
	w.at(head)
	head.NewCondBr(w.icmp(enum.IPredSLT, i, stop), in, out)
	w.at(in)
	res := body(i, acc)
	next := w.b.NewAdd(i, step)
	i.Incs = append(i.Incs, ll.NewIncoming(next, w.b))
	acc.Incs = append(acc.Incs, ll.NewIncoming(res, w.b))
	w.b.NewBr(head)
	w.at(out)
	return acc
}

// extern is a declared function: an intrinsic.
func (g *gen) extern(name string, ret types.Type, params ...types.Type) *ll.Func {
	if f, ok := g.externs[name]; ok {
		return f
	}
	var ps []*ll.Param
	for _, p := range params {
		ps = append(ps, ll.NewParam("", p))
	}
	f := g.mod.NewFunc(name, ret, ps...)
	g.externs[name] = f
	return f
}

// helper is a function of helpers.ll, whose text follows the module's.
func (g *gen) helper(name string, ret types.Type, params ...types.Type) *ll.Func {
	g.used[name] = true
	if f, ok := g.externs[name]; ok {
		return f
	}
	var ps []*ll.Param
	for _, p := range params {
		ps = append(ps, ll.NewParam("", p))
	}
	f := ll.NewFunc(name, ret, ps...)
	g.externs[name] = f
	return f
}

// annotation is a row of nvvm.annotations.
type annotation struct {
	fn    *ll.Func
	key   string
	value int64
}

// threadRange says what a thread's number can be: with it LLVM sees which loops over a block's threads end after
// one turn, and that their counters are not negative. It is the first of the module's metadata.
var threadRange = &metadata.Tuple{MetadataID: 0, Fields: []metadata.Field{constant.NewInt(types.I32, 0), constant.NewInt(types.I32, Threads)}}

// annotations is the metadata's text: it says which functions are kernels.
func (g *gen) annotations() string {
	var list, rows strings.Builder
	for i, a := range g.annot {
		if i > 0 {
			list.WriteString(", ")
		}
		fmt.Fprintf(&list, "!%d", i+1)
		fmt.Fprintf(&rows, "!%d = !{%s, !%q, i32 %d}\n", i+1, a.fn, a.key, a.value)
	}
	return fmt.Sprintf("!nvvm.annotations = !{%s}\n%s = %s\n%s", &list, threadRange.Ident(), threadRange.LLString(), &rows)
}

func (g *gen) globals() {
	g.arena = ll.NewGlobal("ptoc_arena", types.NewArray(0, types.I8))
	g.arena.AddrSpace, g.arena.Typ.AddrSpace = shared, shared
	g.arena.Linkage = enum.LinkageExternal
	g.arena.Align = 16
	g.scratch = ll.NewGlobalDef("ptoc_scratch", constant.NewUndef(types.NewArray(Threads/32*8, types.I8)))
	g.scratch.AddrSpace, g.scratch.Typ.AddrSpace = shared, shared
	g.scratch.Linkage = enum.LinkageInternal
	g.scratch.Align = 16
	g.mod.Globals = append(g.mod.Globals, g.arena, g.scratch)
}

// cleanName keeps what LLVM and PTX accept in names.
func cleanName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
}

func incoming(x val, from *ll.Block) *ll.Incoming { return ll.NewIncoming(x, from) }

func (w *builder) isZero(x val) val {
	return w.icmp(enum.IPredEQ, x, constant.NewInt(x.Type().(*types.IntType), 0))
}

func (w *builder) notZero(x val) val {
	return w.icmp(enum.IPredNE, x, constant.NewInt(x.Type().(*types.IntType), 0))
}
