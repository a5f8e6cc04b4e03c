package ir

import (
	"fmt"
	"sort"
)

// Kind is one row of the op table: everything that is true of an op of this kind. The parser, the
// checker, the verifier, the printer, the passes, the executors and docs/ops.md read it; there is no
// second list of ops.
type Kind struct {
	Name       string     // canonical spelling: "pl.add", "pld.system.notify"
	Spell      []Spelling // other spellings, some with fixed arguments
	Doc        string
	Where      Where
	Params     []Param
	Result     func(*Op) ([]Type, error) // type deduction and checks; nil: no result
	Effects    []Effect
	Map        IndexMap
	Linear     bool               // linear in its tile operands: f(a+b) = f(a)+f(b)
	Flops      float64            // arithmetic per element of the result (matmul: per multiply-add)
	DimFold    func(a, b Dim) Dim // on INDEX scalars: the same operation on dims
	Infix      string             // operator that the printer may use
	Scalar     string             // name of the scalar function that an elementwise op applies
	Returns    string             // the memory parameter that the surface expression returns
	Internal   bool               // made by passes only; users may not write it
	Control    bool               // printed and parsed as a statement of its own
	Terminator bool
	Composite  bool // rewritten into others by a pass; no executor implements it

	index map[string]int
}

// Spelling is another name of a kind. Fixed arguments are set, Drop names parameters of the foreign
// spelling that are accepted and ignored, Order (if not nil) gives the foreign parameter order, Want
// is a shape rule on the second operand: "row" [R,1], "col" [1,C].
type Spelling struct {
	Name  string
	Fixed map[string]any
	Order []string
	Drop  []string
	Want  string
}

// Where says in which functions an op is legal.
type Where uint8

const (
	InHost Where = 1 << iota
	InChip
	InKernel
	InGolden
	Device   = InChip | InKernel
	Compute  = InChip | InKernel | InGolden
	Anywhere = InHost | InChip | InKernel | InGolden
)

// Allows reports whether a function of kind k may contain the op. Inline functions take everything:
// their caller decides.
func (w Where) Allows(k FuncKind) bool {
	switch k {
	case Host:
		return w&InHost != 0
	case Chip:
		return w&InChip != 0
	case InCore:
		return w&InKernel != 0
	case Golden:
		return w&InGolden != 0
	}
	return true
}

func (w Where) String() string {
	switch w {
	case Anywhere:
		return "anywhere"
	case InHost:
		return "host functions"
	case InHost | InGolden:
		return "host and golden functions"
	case Device:
		return "chip and incore functions"
	case InKernel:
		return "incore functions"
	case InHost | Device:
		return "host, chip and incore functions"
	}
	return "chip, incore and golden functions"
}

// ParamKind says what a parameter takes. The first group are operands, the second attributes.
type ParamKind uint8

const (
	PMem    ParamKind = iota // a tensor or window
	PTensor                  // memory of this rank only: not a window (used to give good errors)
	PWindow                  // a DistributedTensor
	PTile                    // a tile (a tensor is loaded whole)
	PData                    // a tile or a scalar; a tensor is loaded whole
	PAny                     // a tile or a tensor, as it is
	PInt                     // an integer scalar
	PBool                    // a BOOL scalar
	PScalar                  // any scalar
	PArray
	PBuffer
	PCtx
	PInts   // a list of integer scalars: offsets, shapes
	PValues // a list of any values

	AInt
	AFloat
	ABool
	AStr
	ADType
	AEnum
	AFunc
)

// IsAttr reports whether the parameter is an attribute.
func (k ParamKind) IsAttr() bool { return k >= AInt }

// IsList reports whether the parameter is an operand list.
func (k ParamKind) IsList() bool { return k == PInts || k == PValues }

// Param is one parameter of an op.
type Param struct {
	Name     string
	Also     string // what upstream calls it; accepted as a keyword
	Kind     ParamKind
	Optional bool
	KwOnly   bool
	Default  any       // attributes
	Enum     *EnumType // AEnum
	DTypes   []DType   // allowed element types; nil: all
}

// EffectKind is what an op does to memory or signals.
type EffectKind uint8

const (
	Reads EffectKind = iota // this rank's memory (or the peer's, through a remote view)
	Writes
	RemoteReads // the peer's copy of a window
	RemoteWrites
	Signals // adds to or sets a signal cell of the peer, and releases
	Waits   // blocks on a local signal cell, and acquires
	Fences  // orders this rank's memory accesses, release and acquire
	Allocates
	Blocks // may not return before other ranks act
	Calls  // whatever the callee does
)

// Effect ties an effect to parameters of the op. Empty fields do not apply.
type Effect struct {
	Kind    EffectKind
	Mem     string // memory parameter
	Peer    string
	Offsets string // where; empty: the whole of Mem
	Shape   string // extent: an operand list, or a tile parameter whose shape it is
	Atomic  string // enum parameter: with AtomicType.Add the write is an atomic add
}

// IndexMap says how an op's result index depends on its operands'.
type IndexMap uint8

const (
	NoMap       IndexMap = iota
	Elementwise          // result[i] = f(operands[i]), extents of 1 broadcast
	Reduction            // over the axis attribute
	Contraction          // matmul
	Permutation          // transpose
	Relabel              // reshape, slice: elements keep their values
)

// EnumType is an enumeration of the surface language; a value's position is its ABI number.
type EnumType struct {
	Name   string // "pld.ReduceOp"
	Values []string
}

// Enum is a value of an EnumType.
type Enum struct {
	Type  *EnumType
	Value int
}

func (e Enum) String() string {
	if e.Type == nil || e.Value < 0 || e.Value >= len(e.Type.Values) {
		return fmt.Sprintf("enum(%d)", e.Value)
	}
	return e.Type.Name + "." + e.Type.Values[e.Value]
}

// Is reports whether e is the value called name.
func (e Enum) Is(name string) bool {
	return e.Type != nil && e.Value < len(e.Type.Values) && e.Type.Values[e.Value] == name
}

// Of is the enumeration's value called name; it panics on a name that is not one of them.
func (t *EnumType) Of(name string) Enum {
	for i, v := range t.Values {
		if v == name {
			return Enum{t, i}
		}
	}
	panic("ir: " + t.Name + " has no value " + name)
}

// TypeError is a failed deduction. Param names the offending argument; the checker points there.
type TypeError struct {
	Class ErrorClass
	Param string
	Index int // which element of a list parameter; -1: the whole
	Msg   string
	Help  string
}

func (e *TypeError) Error() string { return e.Msg }

// ErrorClass groups type errors into diagnostic codes.
type ErrorClass uint8

const (
	BadKind   ErrorClass = iota // a tile where a tensor is wanted, ...
	BadDType                    // element type
	BadRank                     // number of dimensions
	BadShape                    // extents
	BadBounds                   // outside of the memory
	BadValue                    // an attribute or constant out of its range
	BadDist                     // a rule of windows, signals and collectives
)

// Errf makes a TypeError about the parameter called param.
func Errf(class ErrorClass, param, format string, args ...any) *TypeError {
	return &TypeError{Class: class, Param: param, Index: -1, Msg: fmt.Sprintf(format, args...)}
}

// ParamIndex is the position of the parameter called name, or -1.
func (k *Kind) ParamIndex(name string) int {
	if i, ok := k.index[name]; ok {
		return i
	}
	return -1
}

// HasEffect reports whether the kind has an effect of any of these kinds.
func (k *Kind) HasEffect(kinds ...EffectKind) bool {
	for _, e := range k.Effects {
		for _, w := range kinds {
			if e.Kind == w {
				return true
			}
		}
	}
	return false
}

// Pure reports whether the op may be removed when nobody uses its results.
func (k *Kind) Pure() bool { return len(k.Effects) == 0 && !k.Control && !k.Terminator }

// Name resolution: spelling -> kind.
var (
	kinds     = map[string]*Kind{}
	spellings = map[string]spelled{}
)

type spelled struct {
	kind *Kind
	sp   *Spelling // nil for the canonical name
}

// register adds a row to the table. Programming errors in a row panic at start.
func register(k Kind) *Kind {
	row := &k
	if kinds[row.Name] != nil {
		panic("ir: two rows called " + row.Name)
	}
	row.index = map[string]int{}
	for i, p := range row.Params {
		row.index[p.Name] = i
		if p.Also != "" {
			row.index[p.Also] = i
		}
	}
	for _, e := range row.Effects {
		for _, p := range []string{e.Mem, e.Peer, e.Offsets, e.Shape, e.Atomic} {
			if p != "" && row.ParamIndex(p) < 0 {
				panic("ir: effect of " + row.Name + " names " + p)
			}
		}
	}
	kinds[row.Name] = row
	spell(row.Name, spelled{row, nil})
	for i := range row.Spell {
		spell(row.Spell[i].Name, spelled{row, &row.Spell[i]})
	}
	return row
}

func spell(name string, s spelled) {
	if spellings[name].kind != nil {
		panic("ir: two ops spelled " + name)
	}
	spellings[name] = s
}

// Lookup finds the kind that name spells; sp is nil for the canonical spelling.
func Lookup(name string) (k *Kind, sp *Spelling) {
	s := spellings[name]
	return s.kind, s.sp
}

// Kinds lists the table, sorted by name.
func Kinds() []*Kind {
	out := make([]*Kind, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, k)
	}
	sort.Slice(out, func(a, b int) bool { return out[a].Name < out[b].Name })
	return out
}

// Spellings lists every name of an op that a program may call, sorted.
func Spellings() []string {
	var out []string
	for _, name := range sortedKeys(spellings) {
		if !spellings[name].kind.Control {
			out = append(out, name)
		}
	}
	return out
}
