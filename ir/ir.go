// Package ir is ptoc's intermediate representation: modules of functions made of generic ops, and
// the op table (Kinds) that says everything about each kind of op.
//
// Values are SSA. Tiles and scalars are immutable values; tensors and windows are memory, and an op
// that writes memory has no result: the surface's `y = pl.store(t, offs, x)` binds y to x's value.
// So loops and branches carry scalars, tiles and arrays, never memory.
package ir

import "ptoc/lang/source"

// Module is one program after checking.
type Module struct {
	Name  string
	Funcs []*Func  // callees may stand after callers; names are unique
	Syms  []string // pl.dynamic symbols, in order of declaration
}

// Func finds a function by name; nil if there is none.
func (m *Module) Func(name string) *Func {
	for _, f := range m.Funcs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// FuncKind says where a function runs.
type FuncKind uint8

const (
	Host   FuncKind = iota // the single controller
	Chip                   // one rank's orchestration
	InCore                 // a kernel on one core of one rank
	Inline                 // spliced into its callers by InlineFunctions
	Golden                 // a specification, run on one device in float64
)

func (k FuncKind) String() string {
	return [...]string{"host", "chip", "incore", "inline", "golden"}[k]
}

// Dir is a parameter's direction.
type Dir uint8

const (
	In Dir = iota
	Out
	InOut
)

func (d Dir) String() string { return [...]string{"In", "Out", "InOut"}[d] }

// Func is one function. Its parameters are the arguments of its body.
type Func struct {
	Name     string
	Kind     FuncKind
	Dirs     []Dir // one per parameter
	Body     *Block
	GoldenOf string // Golden: the function that it specifies
	Doc      string
	Span     source.Span
	Arena    *Dim // bytes of scratch, once PlanMemory has run

	nextID int
}

// Params are the function's parameters.
func (f *Func) Params() []*Value { return f.Body.Args }

// DimSyms are the symbols in the parameter types and the body, sorted: each is a run-time argument.
func (f *Func) DimSyms() []string { return f.dimSyms(map[*Func][]string{}) }

// dimSyms remembers callees in known: each is looked at once, however often it is called.
func (f *Func) dimSyms(known map[*Func][]string) []string {
	if syms, ok := known[f]; ok {
		return syms
	}
	seen := map[string]bool{}
	addDim := func(d Dim) {
		d.Walk(func(a Atom) {
			if a.Op == AtomSym {
				seen[a.Sym] = true
			}
		})
	}
	addType := func(t Type) { eachDim(t, addDim) }
	for _, p := range f.Params() {
		addType(p.Type)
	}
	f.Body.Walk(func(op *Op) {
		for _, a := range op.Args {
			for _, v := range a.Vals {
				if v.IsConst() {
					addDim(v.Const.Dim)
				}
			}
		}
		for _, r := range op.Results {
			addType(r.Type)
		}
		// A callee's symbols that its arguments do not bind come from here.
		if f := op.Callee(); f != nil {
			bind, _ := BindDims(f, op.Vals("args"))
			for _, s := range f.dimSyms(known) {
				if _, ok := bind[s]; !ok {
					seen[s] = true
				}
			}
		}
	})
	known[f] = sortedKeys(seen)
	return known[f]
}

// Block is a list of ops with arguments: a function body, or a region of an op.
type Block struct {
	Args   []*Value
	Ops    []*Op
	Parent *Op // nil for a function body
}

// Walk calls fn for every op, outer before inner, in program order.
func (b *Block) Walk(fn func(*Op)) {
	for _, op := range b.Ops {
		fn(op)
		for _, r := range op.Regions {
			r.Walk(fn)
		}
	}
}

// Terminator is the block's last op if it is a yield or return; nil otherwise.
func (b *Block) Terminator() *Op {
	if n := len(b.Ops); n > 0 && b.Ops[n-1].Kind.Terminator {
		return b.Ops[n-1]
	}
	return nil
}

// Arg is what one parameter of an op is given: values for an operand, Attr for an attribute. A
// parameter that was left out has neither.
type Arg struct {
	Vals []*Value
	Attr any // int64, float64, bool, string, DType, Enum or *Func
}

// Given reports whether the parameter was given.
func (a Arg) Given() bool { return a.Vals != nil || a.Attr != nil }

// Op is one operation.
type Op struct {
	Kind    *Kind
	Args    []Arg // parallel to Kind.Params
	Results []*Value
	Regions []*Block
	Span    source.Span
}

// NewOp makes an op without arguments.
func NewOp(k *Kind, span source.Span) *Op {
	return &Op{Kind: k, Args: make([]Arg, len(k.Params)), Span: span}
}

// Operands are all operand values in parameter order.
func (op *Op) Operands() []*Value {
	n := 0
	for _, a := range op.Args {
		n += len(a.Vals)
	}
	out := make([]*Value, 0, n)
	for _, a := range op.Args {
		out = append(out, a.Vals...)
	}
	return out
}

// Arg is the argument of the parameter called name; the zero Arg if it was left out.
func (op *Op) Arg(name string) Arg {
	if i := op.Kind.ParamIndex(name); i >= 0 {
		return op.Args[i]
	}
	return Arg{}
}

// Val is the single operand called name; nil if it was left out.
func (op *Op) Val(name string) *Value {
	if vs := op.Arg(name).Vals; len(vs) > 0 {
		return vs[0]
	}
	return nil
}

// Vals are the operands of the list parameter called name.
func (op *Op) Vals(name string) []*Value { return op.Arg(name).Vals }

// Set gives operands to a parameter. It panics if the kind has no such parameter.
func (op *Op) Set(name string, vals ...*Value) *Op {
	if vals == nil {
		vals = []*Value{}
	}
	op.Args[op.mustParam(name)] = Arg{Vals: vals}
	return op
}

// SetAttr gives an attribute to a parameter.
func (op *Op) SetAttr(name string, v any) *Op {
	op.Args[op.mustParam(name)] = Arg{Attr: v}
	return op
}

func (op *Op) mustParam(name string) int {
	i := op.Kind.ParamIndex(name)
	if i < 0 {
		panic("ir: " + op.Kind.Name + " has no parameter " + name)
	}
	return i
}

// Int, Float, Bool, Str, DTypeAttr, Enum, Callee read attributes, with the parameter's default.
func (op *Op) Int(name string) int64       { v, _ := op.attr(name).(int64); return v }
func (op *Op) Float(name string) float64   { v, _ := op.attr(name).(float64); return v }
func (op *Op) Bool(name string) bool       { v, _ := op.attr(name).(bool); return v }
func (op *Op) Str(name string) string      { v, _ := op.attr(name).(string); return v }
func (op *Op) DTypeAttr(name string) DType { v, _ := op.attr(name).(DType); return v }
func (op *Op) Enum(name string) Enum       { v, _ := op.attr(name).(Enum); return v }
func (op *Op) Callee() *Func               { v, _ := op.attr("callee").(*Func); return v }

func (op *Op) attr(name string) any {
	i := op.Kind.ParamIndex(name)
	if i < 0 {
		return nil
	}
	return op.attrAt(i)
}

func (op *Op) attrAt(i int) any {
	if op.Args[i].Attr != nil {
		return op.Args[i].Attr
	}
	return op.Kind.Params[i].Default
}

// Result is the op's only result; nil if it has none.
func (op *Op) Result() *Value {
	if len(op.Results) == 0 {
		return nil
	}
	return op.Results[0]
}

// Value is an op's result, a block's argument, or a constant.
type Value struct {
	ID    int    // dense within a function; 0 for constants
	Name  string // a hint for printing, never an identity
	Type  Type
	Def   *Op    // the op whose result this is
	Owner *Block // the block whose argument this is
	Const *Const // not nil for constants, which belong to no block
	Arena *Dim   // tiles: byte offset in the function's arena, once PlanMemory has run
}

// Const is the content of a constant: by the value's dtype, Dim (integers; symbolic for INDEX), F or B.
type Const struct {
	Dim Dim
	F   float64
	B   bool
}

// IsConst reports whether v is a constant.
func (v *Value) IsConst() bool { return v.Const != nil }

// ConstInt reports the value of an integer constant that depends on no symbol.
func (v *Value) ConstInt() (int64, bool) {
	if v == nil || v.Const == nil || !DTypeOf(v.Type).IsInt() {
		return 0, false
	}
	return v.Const.Dim.Const()
}

// Index, DimValue, Float, Bool and TypedInt make constants.
func Index(n int64) *Value    { return DimValue(ConstDim(n)) }
func DimValue(d Dim) *Value   { return &Value{Type: &Scalar{INDEX}, Const: &Const{Dim: d}} }
func BoolValue(b bool) *Value { return &Value{Type: &Scalar{BOOL}, Const: &Const{B: b}} }

// FloatValue is a floating constant, rounded to FP32 when that is its type.
func FloatValue(f float64, dt DType) *Value {
	if dt == FP32 {
		f = float64(float32(f))
	}
	return &Value{Type: &Scalar{dt}, Const: &Const{F: f}}
}

// TypedInt is an integer constant of a type other than INDEX.
func TypedInt(n int64, dt DType) *Value {
	return &Value{Type: &Scalar{dt}, Const: &Const{Dim: ConstDim(n)}}
}

// DimOf is the value as a dim: constants and INDEX arithmetic are expanded to their normal form, any
// other integer is an atom of its own.
func DimOf(v *Value) Dim {
	if v.Const != nil {
		return v.Const.Dim
	}
	if v.Def != nil && v.Def.Kind.DimFold != nil && DTypeOf(v.Type) == INDEX {
		if args := v.Def.Args; len(args) == 2 && len(args[0].Vals) == 1 && len(args[1].Vals) == 1 {
			return v.Def.Kind.DimFold(DimOf(args[0].Vals[0]), DimOf(args[1].Vals[0]))
		}
	}
	return ValueDim(v)
}

// DimsOf maps DimOf.
func DimsOf(vs []*Value) []Dim {
	out := make([]Dim, len(vs))
	for i, v := range vs {
		out[i] = DimOf(v)
	}
	return out
}

// NewFunc makes a function with an empty body.
func NewFunc(name string, kind FuncKind, span source.Span) *Func {
	return &Func{Name: name, Kind: kind, Body: &Block{}, Span: span}
}

// AddParam appends a parameter.
func (f *Func) AddParam(name string, t Type, dir Dir) *Value {
	v := f.NewValue(name, t)
	v.Owner = f.Body
	f.Body.Args = append(f.Body.Args, v)
	f.Dirs = append(f.Dirs, dir)
	return v
}

// NewValue makes a value with the function's next id.
func (f *Func) NewValue(name string, t Type) *Value {
	f.nextID++
	return &Value{ID: f.nextID, Name: name, Type: t}
}

// NewBlockArg appends an argument to b.
func (f *Func) NewBlockArg(b *Block, name string, t Type) *Value {
	v := f.NewValue(name, t)
	v.Owner = b
	b.Args = append(b.Args, v)
	return v
}

// ValueDim is v as a dim of its own, without a look at how it was computed.
func ValueDim(v *Value) Dim {
	if v.Const != nil {
		return v.Const.Dim
	}
	return atomDim(Atom{Op: AtomVal, Val: v})
}
