package cpp

import (
	"fmt"
	"regexp"
	"strings"

	"ptoc/codegen/lower"
	"ptoc/codegen/target"
	"ptoc/ir"
)

// fn prints one function.
type fn struct {
	g *gen
	f *ir.Func
	w *writer

	syms    []string          // dim symbols that are run-time arguments
	symName map[string]string // their C++ names
	names   map[*ir.Value]string
	taken   map[string]bool
	mems    map[*ir.Value]*memory // memory values seen so far
	regs    map[*ir.Value]bool    // tiles that live in vector registers
	scopes  []map[string]string   // dims that a variable in scope holds, by their text
	arena   map[*ir.Value]ir.Dim  // offsets of tiles and created tensors
	own     ir.Dim                // bytes of this function's arena
	line    int                   // program line of the last comment
	loops   []*ir.Op              // enclosing loops
	around  map[*ir.Kind]string   // the block of the caller's pl.spmd, if the function asks for it
	sites   map[*ir.Op]int
	checks  lower.Checks
}

// memory is a tensor, window or view as C++ sees it.
type memory struct {
	lower.Layout
	ptr  string // pointer to the first element
	dom  string // windows: the domain
	peer string // a peer's copy: the peer
	dt   ir.DType
}

func newFn(g *gen, f *ir.Func) *fn {
	e := &fn{g: g, f: f, w: &writer{}, syms: f.DimSyms(), symName: map[string]string{}, names: map[*ir.Value]string{},
		taken: map[string]bool{}, mems: map[*ir.Value]*memory{}, sites: map[*ir.Op]int{}, line: -1, checks: lower.ChecksOf(f)}
	for _, w := range reserved {
		e.taken[w] = true
	}
	for _, other := range g.mod.Funcs { // a variable would hide the function
		e.taken["f_"+other.Name] = true
	}
	for _, s := range e.syms {
		e.symName[s] = e.fresh(s)
	}
	e.push()
	e.regs = target.CPU.Registers(f).Rows
	e.placeTiles()
	return e
}

// reserved are words that a variable may not be called: C++'s, and ours.
var reserved = strings.Fields(`ctx arena args k alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
	char32_t class compl const constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit export
	extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq
	private protected public register reinterpret_cast return short signed sizeof static static_assert static_cast struct
	switch template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
	wchar_t while xor xor_eq main f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 f32x16 i32x16 u32x16 u16x16 linux unix status col ix`)

// fresh makes a variable name from a hint.
func (e *fn) fresh(hint string) string {
	var b strings.Builder
	for i, r := range hint {
		if r == '_' || r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			b.WriteRune(r)
		}
	}
	base := b.String()
	if base == "" || strings.Trim(base, "_") == "" {
		base = "v"
	}
	if strings.HasPrefix(base, "ptoc_") || strings.HasPrefix(base, "PTOC_") || strings.HasPrefix(base, "__") {
		base = "v_" + strings.TrimLeft(base, "_")
	}
	name := base
	// A letter and a number is what loop nests call their own variables.
	if ok, _ := regexp.MatchString(`^[a-z][0-9]+$`, base); ok {
		base += "_"
		name = base
	}
	for i := 1; e.taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	e.taken[name] = true
	return name
}

// name is the variable of v.
func (e *fn) name(v *ir.Value) string {
	if n, ok := e.names[v]; ok {
		return n
	}
	n := e.fresh(v.Name)
	e.names[v] = n
	return n
}

// print prints the whole function.
func (e *fn) print() {
	params := []string{"ptoc_ctx* ctx", "u8* arena"}
	for _, p := range e.f.Params() {
		switch t := p.Type.(type) {
		case *ir.Tensor:
			m := &memory{ptr: e.name(p), Layout: lower.RowMajor(t.Dims), dt: t.DType}
			if t.Window {
				m.dom = e.fresh(m.ptr + "_dom")
				params = append(params, "const ptoc_domain* "+m.dom)
			}
			e.mems[p] = m
			params = append(params, memType(t.DType)+"* "+m.ptr)
		case *ir.Scalar:
			params = append(params, regType(t.DType)+" "+e.name(p))
			e.remember(p)
		default:
			lower.Fail(e.f.Span, "%s parameter %s: a kernel takes tensors and scalars, not %s", e.f.Name, p.Name, p.Type)
		}
	}
	for _, s := range e.syms {
		params = append(params, "i64 "+e.symName[s])
	}
	if e.g.askers.Has(e.f) {
		e.around = map[*ir.Kind]string{ir.BlockIdx: e.fresh("block"), ir.BlockNum: e.fresh("blocks")}
		params = append(params, "i64 "+e.around[ir.BlockIdx], "i64 "+e.around[ir.BlockNum])
	}
	e.w.line("// %s %s", e.f.Kind, e.f.Name)
	e.w.open("static i32 f_%s(%s) {", e.f.Name, strings.Join(params, ", "))
	e.block(e.f.Body)
	e.w.line("return 0;")
	e.w.close("}")
}

// push and pop bracket a C++ block: what is known of dims inside it is forgotten after it.
func (e *fn) push() { e.scopes = append(e.scopes, map[string]string{}) }
func (e *fn) pop()  { e.scopes = e.scopes[:len(e.scopes)-1] }

// remember notes that v's variable holds the value of its dim.
func (e *fn) remember(v *ir.Value) {
	if ir.DTypeOf(v.Type) != ir.INDEX {
		return
	}
	key := ir.DimOf(v).String()
	top := e.scopes[len(e.scopes)-1]
	if _, ok := top[key]; !ok {
		top[key] = e.name(v)
	}
}

// comment writes the program's line above the code of op.
func (e *fn) comment(op *ir.Op) {
	if !op.Span.IsValid() {
		return
	}
	n := op.Span.Pos().Line
	if n == e.line {
		return
	}
	e.line = n
	text := strings.TrimSpace(op.Span.File.Line(n))
	if len(text) > 100 {
		text = text[:97] + "..."
	}
	// A backslash at the end would continue the comment.
	e.w.line("// %d: %s", n, strings.TrimRight(text, "\\"))
}

// site is op's number in the table of sites.
func (e *fn) site(op *ir.Op) int {
	if s, ok := e.sites[op]; ok {
		return s
	}
	e.sites[op] = e.g.out.Sites.Add(e.f, op)
	return e.sites[op]
}

// memType is an element in memory, regType a scalar variable. FP16 and BF16 are bits in memory and
// FP32 variables (that hold a value of the narrow type) elsewhere.
func memType(dt ir.DType) string {
	switch dt {
	case ir.BOOL:
		return "u8"
	case ir.FP16, ir.BF16:
		return "u16"
	}
	return regType(dt)
}

func regType(dt ir.DType) string {
	switch dt {
	case ir.BOOL:
		return "bool"
	case ir.INT8:
		return "i8"
	case ir.INT32:
		return "i32"
	case ir.INT64, ir.INDEX:
		return "i64"
	}
	return "f32"
}

// tile is the buffer of a tile.
func (e *fn) tile(v *ir.Value) *memory {
	if m, ok := e.mems[v]; ok {
		return m
	}
	t := v.Type.(*ir.Tile)
	m := &memory{ptr: e.name(v), Layout: lower.RowMajor(t.Dims), dt: t.DType}
	e.mems[v] = m
	return m
}

// data is a tile or tensor as memory.
func (e *fn) data(v *ir.Value) *memory {
	if _, ok := v.Type.(*ir.Tile); ok {
		return e.tile(v)
	}
	m, ok := e.mems[v]
	if !ok {
		lower.Fail(e.f.Span, "%s: no memory for %s", e.f.Name, v.Name)
	}
	return m
}

// declareTile introduces the pointer of a tile that op or a loop makes.
func (e *fn) declareTile(v *ir.Value) *memory {
	m := e.tile(v)
	e.w.line("%s* %s = (%s*)(arena + %s);", memType(m.dt), m.ptr, memType(m.dt), e.dim(e.arena[v]))
	e.checkTile(v)
	return m
}

// checkTile makes sure that a tile's run-time extents are within what was asked for. One that a loop or branch
// makes was made from tiles that were checked, and a fused loop's are checked as the loop's.
func (e *fn) checkTile(v *ir.Value) {
	if v.Def != nil && !v.Def.Kind.Control {
		t := v.Type.(*ir.Tile)
		e.checkExtents(v.Def, t.Dims, t.Storage())
	}
}

// checkExtents makes sure that run-time extents lie between 0 and caps.
func (e *fn) checkExtents(op *ir.Op, dims, caps []ir.Dim) {
	for i, d := range dims {
		if e.checks.Extent(d, caps[i]) {
			continue
		}
		x, c := e.dim(d), e.dim(caps[i])
		e.w.line("if (%s < 0 || %s > %s) return ptoc_fail(ctx, PTOC_BAD_VALUE, %d, %s, 0, %s);", x, x, c, e.site(op), x, c)
	}
}
