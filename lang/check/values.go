package check

import (
	"fmt"
	"math"
	"strings"

	"ptoc/ir"
	"ptoc/lang/source"
)

// A value is what an expression means to the checker: an *ir.Value, or something that exists only
// while compiling:
//
//	int64, float64, bool, string   Python's constants
//	ir.Dim                         an integer that depends on symbols: NR * 4
//	ir.DType, ir.Enum, *ir.EnumType
//	seq                            a list or tuple of values
//	none                           None, and what statements give
//	dotted                         a name of pl or pld that is a namespace or an ignored hint
//	opName, special, builtin       what can be called
//	*decl, *classDecl, self        functions and classes of the program
//	annot                          a type
//	dtypeVar                       an element type variable without a binding
//	taskID                         what submit gives; ordering is by program order here
//	foreign                        a Python module or host-only value
//	missing                        a name that is not defined on every path
//	bad                            the result of an error that was reported
type value any

type (
	seq struct {
		elts []value
		list bool
	}
	none   struct{}
	dotted string
	opName struct {
		kind *ir.Kind
		sp   *ir.Spelling
		name string
	}
	special  string
	builtin  string
	self     struct{ class *classDecl }
	dtypeVar string
	taskID   struct{}
	foreign  string
	bad      struct{}
	missing  struct {
		why   string // completes "NAME is ..."
		notes []missingNote
	}
	missingNote struct {
		at   source.Span
		text string
	}
)

func isBad(v value) bool {
	_, ok := v.(bad)
	return ok
}

// anyBad looks into sequences too.
func anyBad(vs ...value) bool {
	for _, v := range vs {
		if isBad(v) {
			return true
		}
		if s, ok := v.(seq); ok && anyBad(s.elts...) {
			return true
		}
	}
	return false
}

// constant makes an IR constant of a compile-time value; nil if v is none.
func constant(v value) *ir.Value {
	switch v := v.(type) {
	case int64:
		return ir.Index(v)
	case ir.Dim:
		return ir.DimValue(v)
	case float64:
		return ir.FloatValue(v, ir.FP32)
	case bool:
		return ir.BoolValue(v)
	case *ir.Value:
		if v.IsConst() {
			return v
		}
	}
	return nil
}

// asInt is a constant integer without symbols.
func asInt(v value) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case ir.Dim:
		return v.Const()
	case *ir.Value:
		return v.ConstInt()
	}
	return 0, false
}

// asDim is a constant integer, symbols allowed.
func asDim(v value) (ir.Dim, bool) {
	switch v := v.(type) {
	case int64:
		return ir.ConstDim(v), true
	case ir.Dim:
		return v, true
	case *ir.Value:
		if v.IsConst() && ir.DTypeOf(v.Type) == ir.INDEX {
			return v.Const.Dim, true
		}
	}
	return ir.Dim{}, false
}

// dimConst is a dim as a compile-time value.
func dimConst(d ir.Dim) value {
	if n, ok := d.Const(); ok {
		return n
	}
	return d
}

// asBool is a constant truth value.
func asBool(v value) (b, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case *ir.Value:
		if v.IsConst() && ir.DTypeOf(v.Type) == ir.BOOL {
			return v.Const.B, true
		}
	}
	return false, false
}

// asFloat is a constant number.
func asFloat(v value) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case *ir.Value:
		if v.IsConst() && ir.DTypeOf(v.Type).IsFloat() {
			return v.Const.F, true
		}
	}
	return 0, false
}

// simplify turns IR constants of the default types back into Python constants, which adapt to what
// they meet. Others stay.
func simplify(v *ir.Value) value {
	if v == nil {
		return bad{}
	}
	if v.IsConst() {
		switch ir.DTypeOf(v.Type) {
		case ir.INDEX:
			return dimConst(v.Const.Dim)
		case ir.BOOL:
			return v.Const.B
		case ir.FP32:
			if !math.IsNaN(v.Const.F) && !math.IsInf(v.Const.F, 0) {
				return v.Const.F
			}
		}
	}
	return v
}

// memory is v's tensor type if v is memory.
func memory(v value) (*ir.Tensor, bool) {
	if x, ok := v.(*ir.Value); ok {
		t, ok := x.Type.(*ir.Tensor)
		return t, ok
	}
	return nil, false
}

// describe says in an error message what v is.
func describe(v value) string {
	switch v := v.(type) {
	case int64:
		return fmt.Sprintf("the number %d", v)
	case ir.Dim:
		return v.Text(valueName)
	case float64:
		return fmt.Sprintf("the number %s", floatText(v))
	case bool:
		return pyBool(v)
	case string:
		return fmt.Sprintf("the string %q", v)
	case ir.DType:
		return "the element type " + v.String()
	case ir.Enum:
		return v.String()
	case *ir.EnumType:
		return v.Name
	case seq:
		if v.list {
			return "a list"
		}
		return "a tuple"
	case none:
		return "None"
	case *decl:
		return "the function " + v.name
	case *classDecl:
		return "the class " + v.name
	case opName:
		return "the op " + v.name
	case special:
		return string(v)
	case dotted:
		return string(v)
	case builtin:
		return "Python's " + string(v)
	case foreign:
		return "Python's " + string(v)
	case annot:
		return "a type"
	case taskID:
		return "a task id"
	case *ir.Value:
		return typeText(v.Type)
	}
	return "this"
}

func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

func floatText(f float64) string {
	s := fmt.Sprint(f)
	if !strings.ContainsAny(s, ".eIN") {
		s += ".0"
	}
	return s
}

// typeText is a type in an error message.
func typeText(t ir.Type) string {
	s := ir.TypeText(t, valueName)
	if tile, ok := t.(*ir.Tile); ok && tile.Cap != nil {
		s += " stored as " + dimsText(tile.Cap)
	}
	return s
}

func valueName(v *ir.Value) string {
	if v.Name != "" {
		return v.Name
	}
	return "?"
}

// sameValue reports whether two meanings cannot be told apart.
func sameValue(a, b value) bool {
	switch a := a.(type) {
	case *ir.Value:
		b, ok := b.(*ir.Value)
		return ok && (a == b || a.IsConst() && b.IsConst() && ir.SameConst(a, b))
	case ir.Dim:
		b, ok := b.(ir.Dim)
		return ok && a.Equal(b)
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case seq:
		b, ok := b.(seq)
		if !ok || len(a.elts) != len(b.elts) || a.list != b.list {
			return false
		}
		for i := range a.elts {
			if !sameValue(a.elts[i], b.elts[i]) {
				return false
			}
		}
		return true
	case annot, missing:
		return false
	}
	switch b.(type) {
	case *ir.Value, ir.Dim, seq, annot, missing:
		return false
	}
	return a == b
}

// root is the memory that a chain of views looks at.
func root(v *ir.Value) *ir.Value {
	for v.Def != nil {
		switch v.Def.Kind {
		case ir.Slice, ir.Reshape:
			v = v.Def.Val("x")
		case ir.Peer:
			v = v.Def.Val("target")
		default:
			return v
		}
	}
	return v
}

// contiguous reports whether memory is one run of elements: a view is if, after its first extent
// that is not 1, it spans its source.
func contiguous(v *ir.Value) bool {
	if v.Def == nil {
		return true
	}
	switch v.Def.Kind {
	case ir.Reshape:
		return true // reshape takes contiguous memory only
	case ir.Peer:
		return contiguous(v.Def.Val("target"))
	case ir.Slice:
		x := v.Def.Val("x")
		return contiguous(x) && spansRun(ir.DimsOf(v.Def.Vals("shape")), ir.ShapeOf(x.Type))
	}
	return true
}

// spansRun reports whether a box of shape is one run of elements of an array of dims.
func spansRun(shape, dims []ir.Dim) bool {
	i := 0
	for i < len(shape) && shape[i].Is(1) {
		i++
	}
	for i++; i < len(shape); i++ {
		if !shape[i].Equal(dims[i]) {
			return false
		}
	}
	return true
}
