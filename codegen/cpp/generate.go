// Package cpp prints a module as C++ that includes nothing.
//
// Every chip and incore function becomes a static function with typed parameters, which others call
// directly, and an exported entry that unpacks the argument slots of the kernel ABI. The text follows
// the program: names are kept where they can be, and comments carry the program's lines.
package cpp

import (
	"fmt"
	"sort"
	"strings"

	"ptoc/codegen/abi"
	"ptoc/codegen/lower"
	"ptoc/ir"
)

// Kernel is one exported entry.
type Kernel struct {
	Name   string
	Kind   ir.FuncKind
	Params []Param  // in parameter order
	Syms   []string // one i64 slot each, after the parameters
	Arena  bool     // exports an arena size
}

// Param is one parameter: a tensor (one slot), a distributed tensor (two) or a scalar (one).
type Param struct {
	Name   string
	Dir    ir.Dir
	Type   ir.Type
	Window bool
}

// Slots is the number of argument slots.
func (k Kernel) Slots() int {
	n := len(k.Syms)
	for _, p := range k.Params {
		n++
		if p.Window {
			n++
		}
	}
	return n
}

// Output is a module's text and what is needed to call it and to explain its faults.
type Output struct {
	Text    string
	Parts   []string // the same, in texts that can be compiled side by side
	Sites   lower.Sites
	Kernels []Kernel
}

// Generate prints m. It takes modules after the passes, and before FuseTileOps or PlanMemory too.
func Generate(m *ir.Module) (out *Output, err error) {
	defer lower.Catch(&err)
	g := &gen{mod: m, own: map[*ir.Func]ir.Dim{}, used: map[string]bool{}, done: map[*ir.Func]bool{}, askers: lower.Askers{}}
	g.scratch.Own = func(f *ir.Func) ir.Dim { return g.own[f] }
	for _, f := range m.Funcs {
		if lower.Compiles(f) {
			g.function(f)
		}
	}
	sort.SliceStable(g.out.Kernels, func(i, j int) bool { return g.out.Kernels[i].Name < g.out.Kernels[j].Name })
	head := abi.Prelude() + "\n" + g.helpers()
	g.out.Text = head
	for _, p := range g.printed {
		g.out.Text += p.text
	}
	for _, text := range g.parts() {
		g.out.Parts = append(g.out.Parts, head+text)
	}
	return &g.out, nil
}

// gen is the state of one module.
type gen struct {
	mod     *ir.Module
	out     Output
	printed []printed
	used    map[string]bool     // helpers
	done    map[*ir.Func]bool   // printed, or about to be
	own     map[*ir.Func]ir.Dim // arena bytes, without callees
	scratch lower.Scratch
	askers  lower.Askers
}

// use notes that the text needs a helper and returns its name.
func (g *gen) use(name string) string {
	g.used[name] = true
	return name
}

// libraryNames are functions that compilers call on their own; a kernel would take their place.
var libraryNames = map[string]bool{"memcpy": true, "memmove": true, "memset": true, "memcmp": true}

// function prints f after its callees, once.
func (g *gen) function(f *ir.Func) {
	if g.done[f] {
		return
	}
	g.done[f] = true
	if libraryNames[f.Name] {
		lower.Fail(f.Span, "a kernel cannot be called %s: compiled code uses a function of that name", f.Name)
	}
	f.Body.Walk(func(op *ir.Op) {
		if op.Kind == ir.Call {
			g.function(op.Callee())
		}
	})
	e := newFn(g, f)
	e.print()
	g.printed = append(g.printed, printed{f, e.w.String() + g.entry(e)})
}

// entry gives the text of the exported functions of e's function.
func (g *gen) entry(e *fn) string {
	k := Kernel{Name: e.f.Name, Kind: e.f.Kind, Syms: e.syms}
	w := &writer{}
	w.line("extern \"C\" i32 entry_%s(ptoc_ctx* ctx, const i64* args) __asm__(\"%s\");", e.f.Name, abi.KernelSymbol(e.f.Name))
	w.open("extern \"C\" i32 entry_%s(ptoc_ctx* ctx, const i64* args) {", e.f.Name)
	args := []string{"ctx", "ctx->arena"}
	slot := 0
	for i, p := range e.f.Params() {
		param := Param{Name: p.Name, Dir: e.f.Dirs[i], Type: p.Type}
		switch t := p.Type.(type) {
		case *ir.Tensor:
			param.Window = t.Window
			if t.Window {
				w.line("const ptoc_domain* d%d = (const ptoc_domain*)args[%d];", i, slot)
				args = append(args, fmt.Sprintf("d%d", i), fmt.Sprintf("(%s*)(d%d->base[d%d->rank] + args[%d])", memType(t.DType), i, i, slot+1))
				slot++
			} else {
				args = append(args, fmt.Sprintf("(%s*)args[%d]", memType(t.DType), slot))
			}
		case *ir.Scalar:
			args = append(args, unpack(t.DType, fmt.Sprintf("args[%d]", slot)))
		default:
			lower.Fail(e.f.Span, "%s parameter %s: a kernel takes tensors and scalars, not %s", e.f.Name, p.Name, p.Type)
		}
		slot++
		k.Params = append(k.Params, param)
	}
	for range e.syms {
		args = append(args, fmt.Sprintf("args[%d]", slot))
		slot++
	}
	if g.askers.Has(e.f) { // no loop is around a kernel that the host starts
		args = append(args, "0", "1")
	}
	w.line("return f_%s(%s);", e.f.Name, strings.Join(args, ", "))
	w.close("}")
	k.Arena = g.arenaEntry(w, e)
	w.line("")
	g.out.Kernels = append(g.out.Kernels, k)
	return w.String()
}

// unpack turns a slot into a scalar; floats travel as the bits of a double.
func unpack(dt ir.DType, slot string) string {
	switch {
	case dt.IsFloat():
		return fmt.Sprintf("(f32)__builtin_bit_cast(f64, %s)", slot)
	case dt == ir.BOOL:
		return slot + " != 0"
	case dt == ir.INDEX || dt == ir.INT64:
		return slot
	}
	return fmt.Sprintf("(%s)%s", regType(dt), slot)
}

// arenaEntry prints the function that says how much scratch the kernel needs. It computes with ptoc_size:
// sizes that do not fit 64 bits must not look small.
func (g *gen) arenaEntry(w *writer, e *fn) bool {
	need := g.scratch.Of(e.f)
	if need.Is(0) {
		return false
	}
	w.line("extern \"C\" i64 arena_%s(const i64* args) __asm__(\"%s\");", e.f.Name, abi.ArenaSymbol(e.f.Name))
	w.open("extern \"C\" i64 arena_%s(const i64* args) {", e.f.Name)
	slot := 0
	mentioned := map[any]bool{}
	need.Walk(func(a ir.Atom) {
		if a.Op == ir.AtomVal {
			mentioned[a.Val] = true
		} else {
			mentioned[a.Sym] = true
		}
	})
	for _, p := range e.f.Params() {
		if mentioned[p] {
			w.line("ptoc_size %s = args[%d];", e.names[p], slot)
		}
		if t, ok := p.Type.(*ir.Tensor); ok && t.Window {
			slot++
		}
		slot++
	}
	for _, s := range e.syms {
		if mentioned[s] {
			w.line("ptoc_size %s = args[%d];", e.symName[s], slot)
		}
		slot++
	}
	if c, ok := need.Const(); ok {
		w.line("return %d;", c)
	} else {
		n := e.fresh("n")
		w.line("%s %s = %s;", g.use("ptoc_size"), n, e.plainDim(need))
		w.line("return %s.over ? 0x7fffffffffffffffLL : %s.n < 0 ? 0 : (i64)%s.n;", n, n, n)
	}
	w.close("}")
	return true
}

// writer collects indented lines.
type writer struct {
	b     strings.Builder
	depth int
}

func (w *writer) String() string { return w.b.String() }

func (w *writer) line(format string, args ...any) {
	s := format
	if len(args) > 0 {
		s = fmt.Sprintf(format, args...)
	}
	if s != "" {
		w.b.WriteString(strings.Repeat("    ", w.depth))
		w.b.WriteString(s)
	}
	w.b.WriteByte('\n')
}

func (w *writer) open(format string, args ...any) {
	w.line(format, args...)
	w.depth++
}

func (w *writer) close(s string) {
	w.depth--
	w.line("%s", s)
}

// reopen closes a block and opens the next: "} else {".
func (w *writer) reopen(s string) {
	w.close(s)
	w.depth++
}
